// SPDX-License-Identifier: Apache-2.0
// The search against brute force on random problems: same cost, and the evaluator agrees. COLLAGE_RANDOM_ROUNDS scales
// the number of problems (in percent).
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/exact/bound/relaxation_bound.h"
#include "compiler/place/exact/bound/tune_bound.h"
#include "compiler/place/exact/held_at_node.h"
#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/exact/search_limits.h"
#include "compiler/place/solve.h"
#include "tests/differential/brute_force.h"
#include "tests/differential/random_problem.h"
#include "tests/unit/rounds.h"

namespace collage::place {
namespace {

using testing::rounds;
void check(const Problem& problem, const std::string& name, const SearchOptions& options = {}) {
  const Cost expected = brute_force_cost(problem);
  const std::optional<Solution> found = search_optimal(problem, options);
  const bool exact = options.max_states >= SearchOptions().max_states;
  if (found || exact) {
    ASSERT_EQ(found.has_value(), expected < Cost::max()) << name;
  }
  if (!found) return;
  const Verdict verdict = evaluate(problem, *found);
  ASSERT_TRUE(std::holds_alternative<Cost>(verdict)) << name << ": " << std::get<std::string>(verdict);
  ASSERT_EQ(std::get<Cost>(verdict).count(), found->cost.count()) << name;
  ASSERT_LE(found->bound.count(), expected.count()) << name;
  if (exact) {
    ASSERT_EQ(found->cost.count(), expected.count()) << name;
    ASSERT_TRUE(found->optimal) << name;
  } else {
    ASSERT_GE(found->cost.count(), expected.count()) << name;
    ASSERT_EQ(found->optimal, found->cost == found->bound) << name;
  }
  std::multiset<NodeId> covered;
  for (CandidateId c : found->chosen) {
    const std::vector<NodeId>& nodes = problem.candidates[c].nodes;
    covered.insert(nodes.begin(), nodes.end());
  }
  for (NodeId node : problem.nodes()) ASSERT_EQ(covered.count(node), 1u) << name;
}

TEST(PlacementRandom, UpToNineNodes) {
  for (uint64_t seed = 0; seed < rounds(10'000); ++seed) {
    RandomSource random(seed);
    check(random_problem(random, 1 + random.below(9u)), "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
  }
}

TEST(PlacementRandom, UpToFourteenNodes) {
  for (uint64_t seed = 0; seed < rounds(500); ++seed) {
    RandomSource random(1'000'000 + seed);
    check(random_problem(random, 10 + random.below(5u)), "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
  }
}

TEST(PlacementRandom, WithoutHostForEveryNode) {
  for (uint64_t seed = 0; seed < rounds(1'500); ++seed) {
    RandomSource random(2'000'000 + seed);
    check(random_problem(random, 2 + random.below(6u), false), "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
  }
}

TEST(PlacementRandom, CrossingPairs) {
  for (uint64_t seed = 0; seed < rounds(1'000); ++seed) {
    RandomSource random(3'000'000 + seed);
    check(crossing_problem(random, seed % 4 == 3 ? 2 : 1), "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
  }
}

TEST(PlacementRandom, RingsOfPairs) {
  for (uint64_t seed = 0; seed < rounds(500); ++seed) {
    RandomSource random(6'000'000 + seed);
    check(ring_problem(random, 3 + random.below(4u)), "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
  }
}

TEST(PlacementRandom, DevicesWithLinks) {
  for (uint64_t seed = 0; seed < rounds(1'500); ++seed) {
    RandomSource random(14'000'000 + seed);
    check(device_problem(random, 1 + random.below(9u)), "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
  }
}

TEST(PlacementRandom, WithinMemory) {
  for (uint64_t seed = 0; seed < rounds(10'000); ++seed) {
    RandomSource random(16'000'000 + seed);
    const size_t nodes = 1 + random.below(9u);
    Problem problem = seed % 2 == 0 ? device_problem(random, nodes) : random_problem(random, nodes, seed % 16 != 1);
    add_memory(random, problem);
    check(problem, "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
  }
}

TEST(PlacementRandom, WithinMemoryUpToFourteenNodes) {
  for (uint64_t seed = 0; seed < rounds(500); ++seed) {
    RandomSource random(17'000'000 + seed);
    const size_t nodes = 10 + random.below(5u);
    Problem problem = problem_with_memory(random, seed, nodes);
    check(problem, "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
  }
}

/// The least cost of all covers, each judged by the evaluator.
Cost least_verdict(const Problem& problem, Solution& partial, Table<NodeId, bool>& covered) {
  const NodeId first(std::find(covered.begin(), covered.end(), false) - covered.begin());
  if (first == covered.next_id()) {
    const Verdict verdict = evaluate(problem, partial);
    const Cost* cost = std::get_if<Cost>(&verdict);
    return cost != nullptr ? std::min(*cost, Cost::max()) : Cost::max();
  }
  Cost least = Cost::max();
  for (CandidateId c : problem.candidates.ids()) {
    const std::vector<NodeId>& nodes = problem.candidates[c].nodes;
    const bool fits =
        nodes.front() == first && std::none_of(nodes.begin(), nodes.end(), [&](NodeId n) { return covered[n]; });
    if (!fits || problem.candidates[c].cost >= Cost::max()) continue;
    for (NodeId node : nodes) covered[node] = true;
    partial.chosen.push_back(c);
    least = std::min(least, least_verdict(problem, partial, covered));
    partial.chosen.pop_back();
    for (NodeId node : nodes) covered[node] = false;
  }
  return least;
}

TEST(PlacementRandom, EvaluatorAndBruteForceAgreeOnMemory) {
  uint64_t binding = 0;
  for (uint64_t seed = 0; seed < rounds(2'000); ++seed) {
    RandomSource random(15'000'000 + seed);
    const size_t nodes = 1 + random.below(6u);
    Problem problem = seed % 2 == 0 ? device_problem(random, nodes) : random_problem(random, nodes);
    const Cost free = brute_force_cost(problem);
    add_memory(random, problem);
    const Cost limited = brute_force_cost(problem);
    binding += limited > free ? 1 : 0;
    Solution partial;
    Table<NodeId, bool> covered(nodes, false);
    ASSERT_EQ(least_verdict(problem, partial, covered).count(), limited.count()) << seed;
  }
  EXPECT_GT(binding, rounds(2'000) / 10);  // a memory that is never too small would test nothing
}

/// A cover that keeps all but memory limits; empty: chance found none.
std::vector<CandidateId> cover_of(RandomSource& random, Problem problem) {
  for (Owner& owner : problem.owners) owner.memory.reset();
  Solution cover = random_cover(problem, random);
  if (cover.chosen.empty() || !std::holds_alternative<Cost>(evaluate(problem, cover))) return {};
  return std::move(cover.chosen);
}

TEST(PlacementRandom, ValuesAcrossANodeAreInMemoryTogether) {
  uint64_t looked_at = 0, tight = 0;
  for (uint64_t seed = 0; seed < rounds(3'000); ++seed) {
    RandomSource random(18'000'000 + seed);
    const size_t nodes = 2 + random.below(10u);
    Problem problem = problem_with_memory(random, seed, nodes);
    const std::vector<CandidateId> cover = cover_of(random, problem);
    const MemoryLimits memory(problem);
    const IndexedProblem search(problem);
    SearchLimits limits(problem, search, &memory);
    for (MemoryLimits::InstanceId i : memory.instances().ids()) limits.watch_nodes(i, cover);
    for (LimitId limit : limits.limits().ids()) {
      const SearchLimits::Limit& at = limits.limits()[limit];
      if (!at.node.is_valid()) continue;
      // The capacity has bytes of early readers once more.
      int64_t used = limits.limits()[at.within].capacity - at.capacity;
      for (CandidateId c : cover) used += limits.own_uses(limit, c) + limits.own_uses(at.within, c);
      const int64_t peak = memory.peak(at.instance, cover);
      ASSERT_LE(used, peak) << seed;
      ++looked_at;
      tight += used == peak ? 1 : 0;
    }
  }
  EXPECT_GT(looked_at, rounds(3'000) / 4);
  EXPECT_GT(tight, looked_at / 10);
}

/// What is said to be held while a node runs, by paths or by the run itself, is no more than what there is beside the
/// constants; also while only some candidates are chosen.
TEST(PlacementRandom, NoMoreIsHeldAtANodeThanThereIs) {
  uint64_t looked_at = 0, tight = 0;
  for (uint64_t seed = 0; seed < rounds(1'500); ++seed) {
    RandomSource random(19'000'000 + seed);
    const size_t nodes = 2 + random.below(10u);
    Problem problem = problem_with_memory(random, seed, nodes);
    const std::vector<CandidateId> model = cover_of(random, problem), cover = cover_of(random, problem);
    if (model.empty() || cover.empty()) continue;
    const MemoryLimits memory(problem);
    const IndexedProblem search(problem);
    const NodeGraph graph = node_graph(problem);
    Table<NodeId, Position> position_of(problem.node_count);
    for (Position p : search.order.ids()) position_of[search.order[p]] = p;
    const auto first_of = [&](CandidateId c) {
      Position first = search.order.next_id();
      for (NodeId node : problem.candidates[c].nodes) first = std::min(first, position_of[node]);
      return first;
    };
    std::vector<std::pair<Position, CandidateId>> chosen;
    for (CandidateId c : cover) chosen.emplace_back(first_of(c), c);
    std::sort(chosen.begin(), chosen.end());
    for (MemoryLimits::InstanceId i : memory.instances().ids()) {
      std::set<ConstantId> constants;
      int64_t most = 0;
      for (CandidateId c : cover) {
        if (memory.instance_of(c) != i) continue;
        for (ConstantId k : problem.candidates[c].constants) constants.insert(k);
      }
      for (const MemoryLimits::AtNode& at : memory.profile(i, cover)) most = std::max(most, at.bytes);
      for (ConstantId k : constants) most -= problem.constant_bytes[k];
      std::vector<NodeId> earlier;
      for (const MemoryLimits::AtNode& at : memory.profile(i, model)) {
        for (const HeldAtNode& held : {HeldAtNode(problem, graph, memory, i, at.node, position_of),
                                       HeldAtNode(problem, graph, memory, i, at.node, position_of, earlier)}) {
          HeldBits bits = held.begin();
          for (size_t n = 0; n < chosen.size(); ++n) {
            held.choose(chosen[n].second, bits);
            const Position next = n + 1 < chosen.size() ? chosen[n + 1].first : search.order.next_id();
            held.pass(next, bits);
            ASSERT_LE(held.surely(bits, next), most) << seed << " node " << at.node.index;
          }
          ++looked_at;
          tight += held.surely(bits, search.order.next_id()) == most ? 1 : 0;
        }
        earlier.push_back(at.node);
      }
    }
  }
  EXPECT_GT(looked_at, rounds(1'500));
  EXPECT_GT(tight, looked_at / 10);
}

TEST(PlacementRandom, JoinedIntoRegions) {
  uint64_t joined = 0;
  for (uint64_t seed = 0; seed < rounds(6'000); ++seed) {
    RandomSource random(20'000'000 + seed);
    const Problem problem = joining_problem(random, 1 + random.below(8u));
    check(problem, "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
    const std::optional<Solution> found = search_optimal(problem);
    if (!found) continue;
    joined += std::set<RegionId>(found->region.begin(), found->region.end()).size() < found->region.size() ? 1 : 0;
  }
  EXPECT_GT(joined, rounds(6'000) / 5);
}

TEST(PlacementRandom, JoinedIntoRegionsUnderATinyBudget) {
  for (uint64_t seed = 0; seed < rounds(1'000); ++seed) {
    RandomSource random(21'000'000 + seed);
    SearchOptions options;
    options.max_states = 1 + random.below(40u);
    options.tie_states = 0;
    check(joining_problem(random, 4 + random.below(5u)), "seed " + std::to_string(seed), options);
    if (HasFatalFailure()) return;
  }
}

TEST(PlacementRandom, BoundsHoldUnderATinyBudget) {
  for (uint64_t seed = 0; seed < rounds(1'000); ++seed) {
    RandomSource random(4'000'000 + seed);
    SearchOptions options;
    options.max_states = 1 + random.below(40u);
    options.tie_states = 0;
    check(random_problem(random, 4 + random.below(6u)), "seed " + std::to_string(seed), options);
    if (HasFatalFailure()) return;
  }
}

TEST(PlacementRandom, AnyMultipliersMakeABound) {
  for (uint64_t seed = 0; seed < rounds(1'500); ++seed) {
    RandomSource random(8'000'000 + seed);
    const Problem problem = random_problem(random, 2 + random.below(7u));
    const Cost expected = brute_force_cost(problem);
    IndexedProblem prepared(problem);
    ChainBound bound(prepared);
    if (!prepared.complete) continue;
    ASSERT_LE(bound.lower(), expected) << seed;
    Multipliers multipliers = bound.multipliers();
    const auto some = [&] { return random.below(2'000'001) - 1'000'000; };
    for (int64_t& price : multipliers.prices) price = some();
    for (MoveId m : prepared.moves.ids()) {
      for (RunId r : bound.runs_of(m)) {
        if (r == bound.runs_of(m).front()) continue;
        const int64_t moved = some();
        multipliers.shares[r] += moved;
        multipliers.shares[advance(r, -1)] -= moved;
      }
    }
    bound.set(multipliers);
    ASSERT_LE(bound.lower(), expected) << seed;
  }
}

TEST(PlacementRandom, BoundsHoldWithinMemoryUnderATinyBudget) {
  for (uint64_t seed = 0; seed < rounds(3'000); ++seed) {
    RandomSource random(22'000'000 + seed);
    SearchOptions options;
    options.max_states = 1 + random.below(60u);
    options.tie_states = 0;
    const size_t nodes = 4 + random.below(7u);
    Problem problem = problem_with_memory(random, seed, nodes);
    check(problem, "seed " + std::to_string(seed), options);
    if (HasFatalFailure()) return;
  }
}

/// What `lower_with_moves` says of a candidate against the cheapest solution that has it.
TEST(PlacementRandom, NoSolutionWithAMoveCostsLess) {
  for (uint64_t seed = 0; seed < rounds(150); ++seed) {
    RandomSource random(9'000'000 + seed);
    const Problem problem = random_problem(random, 3 + random.below(5u));
    IndexedProblem prepared(problem);
    ChainBound bound(prepared);
    if (!prepared.complete || bound.lower() >= Cost::max()) continue;
    BoundTuner tuner(prepared, bound);
    tuner.ascend(bound.lower() + bound.lower(), 25 * random.below(4));
    const Table<MoveId, Cost> lower = bound.lower_with_moves();
    for (MoveId m : prepared.moves.ids()) {
      // Nothing else may touch its nodes.
      Problem forced = problem;
      const std::vector<NodeId>& nodes = problem.candidates[prepared.moves[m].source].nodes;
      Table<CandidateId, Candidate> kept = {problem.candidates[prepared.moves[m].source]};
      for (const Candidate& other : problem.candidates) {
        const bool meets = std::any_of(other.nodes.begin(), other.nodes.end(), [&](NodeId node) {
          return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
        });
        if (!meets) kept.push_back(other);
      }
      forced.candidates = kept;
      const Cost best = brute_force_cost(forced);
      if (best < Cost::max()) {
        ASSERT_LE(lower[m], best) << seed << " move " << m.index;
      }
    }
  }
}

TEST(PlacementRandom, StrategiesGiveValidPlansNoneBetterThanOptimal) {
  uint64_t tvm_plans = 0;
  for (uint64_t seed = 0; seed < rounds(1'000); ++seed) {
    RandomSource random(7'000'000 + seed);
    const Problem problem = random_problem(random, 3 + random.below(8u), seed % 4 != 0);
    const std::optional<Solution> best = search_optimal(problem);
    for (const Strategy& strategy :
         {Strategy{Strategy::Kind::Greedy, {}}, Strategy{Strategy::Kind::Priority, {"npu", "lib"}},
          Strategy{Strategy::Kind::Eager, {}}, Strategy{Strategy::Kind::Tvm, {}},
          Strategy{Strategy::Kind::Single, {"npu"}}}) {
      const runtime::Result<Solution> found = solve(problem, strategy);
      // Giving up choices finds a plan wherever there is one; `single` may lack the candidates, and the walk of `tvm`
      // may end where nothing goes on.
      if (strategy.kind == Strategy::Kind::Tvm) {
        const std::string why = found ? "" : found.message();
        ASSERT_EQ(found.is_ok(), why.empty()) << seed;
        ASSERT_FALSE(best && why.find("no plan") != std::string::npos) << seed << ": " << why;
        tvm_plans += found ? 1 : 0;
      } else if (strategy.kind != Strategy::Kind::Single) {
        ASSERT_EQ(found.is_ok(), best.has_value()) << to_string(strategy) << " seed " << seed;
      }
      if (!found) continue;
      const Verdict verdict = evaluate(problem, *found);
      ASSERT_TRUE(std::holds_alternative<Cost>(verdict)) << seed << ": " << std::get<std::string>(verdict);
      ASSERT_EQ(std::get<Cost>(verdict).count(), found->cost.count()) << seed;
      ASSERT_GE(found->cost, best->cost) << seed;
    }
  }
  EXPECT_GT(tvm_plans, rounds(1'000) / 3);
}

TEST(PlacementRandom, OrderOfCandidatesDoesNotMatter) {
  for (uint64_t seed = 0; seed < rounds(500); ++seed) {
    RandomSource random(5'000'000 + seed);
    Problem problem = random_problem(random, 3 + random.below(6u));
    const auto chosen = [&] {
      const std::optional<Solution> found = search_optimal(problem);
      std::vector<std::tuple<std::vector<NodeId>, OwnerId, std::string>> result;
      for (CandidateId c : found->chosen) {
        const Candidate& candidate = problem.candidates[c];
        result.emplace_back(candidate.nodes, candidate.owner, candidate.rule);
      }
      return result;
    };
    const auto first = chosen();
    std::reverse(problem.candidates.begin(), problem.candidates.end());
    ASSERT_EQ(chosen(), first) << seed;
  }
}

}  // namespace
}  // namespace collage::place
