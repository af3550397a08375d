// SPDX-License-Identifier: Apache-2.0
// The judge of certificates refuses every kind of tampering, each with its reason. COLLAGE_RANDOM_ROUNDS scales the
// number of problems (in percent).
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "compiler/place/exact/optimal_search.h"
#include "tests/differential/certificate_cases.h"
#include "tests/unit/rounds.h"

namespace collage::certificate {
namespace {

using place::Cost;
using place::Problem;
using place::Proof;
using place::RandomSource;
using place::Solution;
using testing::rounds;

struct Tampering {
  const char* what;
  const char* message;                            ///< a part of it
  std::function<bool(RandomSource&, Case&)> act;  ///< false: this case has nothing to tamper with
};

const Cost kTick = Cost::of(1, Cost::Unit::Seconds);

Proof::Round& first_round(Case& c) {
  return c.proof.cases.front().rounds.front();
}
/// Whether the first round is examined: the candidates alone show less than is claimed.
bool has_rounds(const Case& c) {
  if (c.proof.cases.front().rounds.empty()) return false;
  CertificateFile file{names_of(c.problem), c.problem, c.solution, c.proof};
  file.proof.cases.front() = {};
  const runtime::Result<Wide> alone = bound_of_proof(file);
  return alone && *alone < c.proof.bound.count();
}
bool has_shares(Case& c) {
  return has_rounds(c) && !first_round(c).shares.empty();
}

/// Whether the first case alone shows less than is claimed.
bool needs_split(const Case& c) {
  CertificateFile file{names_of(c.problem), c.problem, c.solution, c.proof};
  if (c.proof.cases.front().split.kind == Proof::Split::Kind::None) return false;
  file.proof.cases.front().split = {};
  const runtime::Result<Wide> alone = bound_of_proof(file);
  return alone && *alone < c.proof.bound.count();
}

/// The cheapest plan without one of its candidates, called optimal by the proof of the best one.
bool more_expensive_plan(RandomSource& random, Case& c) {
  Problem without = c.problem;
  without.candidates[random.pick(c.solution.chosen)].cost = Cost::max();
  const std::optional<Solution> other = search_optimal(without);
  if (!other || other->cost <= c.solution.cost) return false;
  c.solution = *other;
  c.solution.bound = c.solution.cost;
  c.solution.optimal = true;
  c.proof.bound = c.solution.cost;
  return true;
}

bool with_limit(Case& c, int64_t price) {
  if (!has_rounds(c) || first_round(c).is_repeated) return false;
  for (place::OwnerId o : c.problem.owners.ids()) {
    if (!c.problem.owners[o].max_partitions) continue;
    first_round(c).limits = {{Proof::LimitPrice::Of::Partitions, o, Cost::of(price, Cost::Unit::Seconds)}};
    return true;
  }
  return false;
}

const Tampering kTamperings[] = {
    {"a partition is left out", "is not covered",
     [](RandomSource& random, Case& c) {
       c.solution.chosen.erase(c.solution.chosen.begin() + random.below(std::ssize(c.solution.chosen)));
       return true;
     }},
    {"a partition stands twice", "is covered twice",
     [](RandomSource& random, Case& c) {
       c.solution.chosen.push_back(random.pick(c.solution.chosen));
       return true;
     }},
    {"the cost is too low", "the plan costs",
     [](RandomSource&, Case& c) {
       c.solution.cost -= kTick;
       return c.solution.cost >= Cost();
     }},
    {"the cost is too high", "the plan costs",
     [](RandomSource&, Case& c) {
       c.solution.cost += kTick;
       return true;
     }},
    {"a chosen candidate costs less", "the plan costs",
     [](RandomSource& random, Case& c) {
       place::Candidate& chosen = c.problem.candidates[random.pick(c.solution.chosen)];
       chosen.cost -= kTick;
       return chosen.cost >= Cost() && !chosen.may_join;
     }},
    {"a chosen candidate has no cost", "has no cost",
     [](RandomSource& random, Case& c) {
       c.problem.candidates[random.pick(c.solution.chosen)].cost = Cost::max();
       return true;
     }},
    {"the bound is above the cost", "is above the cost",
     [](RandomSource&, Case& c) {
       c.solution.bound = c.solution.cost + kTick;
       return true;
     }},
    {"not optimal, although bound and cost meet", "is not called optimal",
     [](RandomSource&, Case& c) { return std::exchange(c.solution.optimal, false); }},
    {"optimal, although there is a gap", "is called optimal",
     [](RandomSource&, Case& c) {
       c.solution.bound = c.solution.cost - kTick;
       c.proof.bound = std::min(c.proof.bound, c.solution.bound);
       return c.solution.bound >= Cost() && c.solution.optimal;
     }},
    {"the proof is said to show more", "the proof shows",
     [](RandomSource&, Case& c) {
       c.proof.bound = c.solution.cost + kTick;
       return true;
     }},
    {"a more expensive plan is said to be proven", "the proof shows", more_expensive_plan},
    {"a case is split into itself", "stands before",
     [](RandomSource&, Case& c) {
       c.proof.cases.front().split.second = 0;
       return needs_split(c);
     }},
    {"one case stands for two", "is looked at twice",
     [](RandomSource&, Case& c) {
       Proof::Split& split = c.proof.cases.front().split;
       split.second = split.first;
       return needs_split(c);
     }},
    {"a split is left out", "the proof shows",
     [](RandomSource&, Case& c) {
       const bool is_needed = needs_split(c);
       c.proof.cases.front().split = {};
       return is_needed;
     }},
    {"a case loses its rounds", "the proof shows",
     [](RandomSource&, Case& c) {
       const bool is_needed = has_rounds(c) && c.proof.cases.size() == 1;
       c.proof.cases.front() = {};
       return is_needed;
     }},
    {"there is no case", "has no case",
     [](RandomSource&, Case& c) {
       c.proof.cases.clear();
       return true;
     }},
    {"a price of a limit is negative", "`price` has -1", [](RandomSource&, Case& c) { return with_limit(c, -1); }},
    {"a price of a limit that there is not", "that there is not",
     [](RandomSource& random, Case& c) {
       std::vector<Proof::Round>& rounds = c.proof.cases.front().rounds;
       if (!has_rounds(c) || rounds.front().is_repeated) return false;
       const place::OwnerId owner = random.pick(c.problem.owners.ids());
       if (c.problem.owners[owner].max_partitions) return false;
       rounds.front().limits.push_back({Proof::LimitPrice::Of::Partitions, owner, kTick});
       return true;
     }},
    {"shares add up to more", "do not add up",
     [](RandomSource& random, Case& c) {
       if (!has_shares(c)) return false;
       random.pick(random.pick(first_round(c).shares).runs) += kTick;
       return true;
     }},
    {"a share too many", "shares and",
     [](RandomSource& random, Case& c) {
       if (!has_shares(c)) return false;
       random.pick(first_round(c).shares).runs.push_back(Cost());
       return true;
     }},
    {"shares twice", "has shares twice",
     [](RandomSource& random, Case& c) {
       if (!has_shares(c)) return false;
       first_round(c).shares.push_back(random.pick(first_round(c).shares));
       return true;
     }},
    {"a node is missing in the order", "does not hold every node",
     [](RandomSource&, Case& c) {
       c.proof.order.pop_back();
       return !c.proof.order.empty();
     }},
    {"a node stands twice in the order", "in the order twice",
     [](RandomSource& random, Case& c) {
       c.proof.order.push_back(random.pick(c.proof.order));
       return true;
     }},
    {"the order runs backwards", "stands before",
     [](RandomSource&, Case& c) {
       std::reverse(c.proof.order.begin(), c.proof.order.end());
       return std::any_of(c.problem.values.begin(), c.problem.values.end(), [](const place::ProblemValue& value) {
         return value.writer.is_valid() && !value.readers.empty();
       });
     }},
    {"a price for who does not read", "it does not read it",
     [](RandomSource& random, Case& c) {
       if (!has_rounds(c)) return false;
       const place::ProblemValueId v = random.pick(c.problem.values.ids());
       const std::vector<place::NodeId>& readers = c.problem.values[v].readers;
       const place::NodeId node = random.pick(c.problem.nodes());
       if (std::count(readers.begin(), readers.end(), node) > 0) return false;
       first_round(c).prices.push_back({v, node, 0, kTick});
       return true;
     }},
    {"a price right after the writer", "pays nothing",
     [](RandomSource&, Case& c) {
       if (!has_rounds(c)) return false;
       const std::vector<place::NodeId>& order = c.proof.order;
       for (place::ProblemValueId v : c.problem.values.ids()) {
         const place::ProblemValue& value = c.problem.values[v];
         const auto at = std::find(order.begin(), order.end(), value.writer);
         if (!value.writer.is_valid() || at + 1 == order.end()) continue;
         if (std::count(value.readers.begin(), value.readers.end(), *(at + 1)) == 0) continue;
         first_round(c).prices.push_back({v, *(at + 1), 0, kTick});
         return true;
       }
       return false;
     }},
    {"a price for a model input", "model inputs pay nothing",
     [](RandomSource&, Case& c) {
       if (!has_rounds(c)) return false;
       for (place::ProblemValueId v : c.problem.values.ids()) {
         const place::ProblemValue& value = c.problem.values[v];
         if (value.writer.is_valid() || value.readers.empty()) continue;
         first_round(c).prices.push_back({v, value.readers.back(), 0, kTick});
         return true;
       }
       return false;
     }},
    {"a candidate does not say how it reads", "does not say in which format it reads",
     [](RandomSource& random, Case& c) {
       place::Candidate& candidate = random.pick(c.problem.candidates);
       if (candidate.reads.empty()) return false;
       const place::ProblemValueId v = random.pick(candidate.reads).value;
       std::erase_if(candidate.reads, [v](const place::ValueFormat& read) { return read.value == v; });
       return true;
     }},
    {"a candidate reads what it does not touch", "although nothing in it does so",
     [](RandomSource& random, Case& c) {
       place::Candidate& candidate = random.pick(c.problem.candidates);
       const place::ProblemValueId v = random.pick(c.problem.values.ids());
       for (const place::ValueFormat& read : candidate.reads) {
         if (read.value == v) return false;
       }
       candidate.reads.push_back({v, 0});
       return true;
     }},
    {"a value that leaves a candidate is kept inside", "which it does not write or which leaves it",
     [](RandomSource& random, Case& c) {
       place::Candidate& candidate = random.pick(c.problem.candidates);
       if (candidate.writes.empty()) return false;
       candidate.kept = {candidate.writes.front().value};
       return true;
     }},
    {"a candidate does not say how it writes", "does not say in which format it writes",
     [](RandomSource& random, Case& c) {
       place::Candidate& candidate = random.pick(c.problem.candidates);
       if (candidate.writes.empty()) return false;
       candidate.writes.pop_back();
       return true;
     }},
    {"a reader before the writer", "before",
     [](RandomSource& random, Case& c) {
       place::ProblemValue& value = random.pick(c.problem.values);
       if (value.writer < place::NodeId(1)) return false;
       value.readers = {advance(value.writer, -1)};
       return true;
     }},
    {"no partition is allowed", "are allowed",
     [](RandomSource& random, Case& c) {
       const place::CandidateId chosen = random.pick(c.solution.chosen);
       const place::Owner& owner = c.problem.owners[c.problem.candidates[chosen].owner];
       for (place::Owner& other : c.problem.owners) {
         if (other.max_partitions && other.backend == owner.backend) other.max_partitions = 0;
       }
       c.problem.owners[c.problem.candidates[chosen].owner].max_partitions = 0;
       return !owner.joins;
     }},
    {"a backend has two limits of partitions", "has two limits of partitions",
     [](RandomSource& random, Case& c) {
       place::Owner& owner = random.pick(c.problem.owners);
       if (owner.joins) return false;
       if (!owner.max_partitions) owner.max_partitions = 5;
       place::Owner other = owner;
       other.max_partitions = *owner.max_partitions + 1;
       c.problem.owners.push_back(std::move(other));
       return true;
     }},
    {"a limit has two prices", "has two prices",
     [](RandomSource&, Case& c) {
       if (!with_limit(c, 7)) return false;
       std::vector<Proof::LimitPrice>& limits = first_round(c).limits;
       limits.push_back(limits.front());
       return true;
     }},
    {"two owners may not meet", "may not be in one plan",
     [](RandomSource& random, Case& c) {
       const auto owner_of = [&](place::CandidateId chosen) { return c.problem.candidates[chosen].owner; };
       const place::OwnerId a = owner_of(random.pick(c.solution.chosen)), b = owner_of(random.pick(c.solution.chosen));
       c.problem.owners[a].conflicts = {b};
       return a != b;
     }},
    {"memory is too small", "bytes of memory",
     [](RandomSource& random, Case& c) {
       place::Candidate& chosen = c.problem.candidates[random.pick(c.solution.chosen)];
       chosen.constants.push_back(c.problem.constant_bytes.add(100));
       c.problem.owners[chosen.owner].memory = 99;
       return true;
     }},
};

/// Each case is made once, for all kinds of tampering that still want one.
TEST(CertificateTampering, EveryTamperingIsRefused) {
  std::vector<const Tampering*> waiting;
  std::map<const Tampering*, uint64_t> done;
  for (const Tampering& tampering : kTamperings) waiting.push_back(&tampering);
  for (uint64_t seed = 0; !waiting.empty(); ++seed) {
    ASSERT_LT(seed, rounds(4'000)) << waiting.front()->what;
    RandomSource made_with(12'000'000 + seed);
    const std::optional<Case> made = random_case(made_with, seed, 9);
    if (!made) continue;
    for (const Tampering* tampering : waiting) {
      RandomSource random = made_with;
      Case tampered = *made;
      if (!tampering->act(random, tampered)) continue;
      const runtime::Result<Judgement> judgement = judge(text_of(tampered));
      ASSERT_FALSE(judgement.is_ok()) << tampering->what << ", seed " << seed;
      ASSERT_NE(judgement.message().find(tampering->message), std::string::npos)
          << tampering->what << ", seed " << seed << ": " << judgement.message();
      ++done[tampering];
    }
    std::erase_if(waiting, [&](const Tampering* tampering) { return done[tampering] == rounds(60); });
  }
}

/// Cycles cannot come from a search: two pairs that each wait for the other.
TEST(CertificateTampering, ACycleIsRefused) {
  Problem problem;
  problem.formats = {{"host", "plain"}};
  problem.owners = {{"host", "host", {}, {}}};
  problem.node_count = 4;  // 0 -> 2, 1 -> 3, with 0 and 3, 1 and 2 together
  problem.values = {{0, {2}, false, {}}, {1, {3}, false, {}}, {2, {}, true, {}}, {3, {}, true, {}}};
  place::Candidate a, b;
  a.nodes = {0, 3};
  a.reads = {{1, 0}};
  a.writes = {{0, 0}, {3, 0}};
  a.rule = "a";
  b.nodes = {1, 2};
  b.reads = {{0, 0}};
  b.writes = {{1, 0}, {2, 0}};
  b.rule = "b";
  problem.candidates = {a, b};
  Solution solution;
  solution.chosen = {0, 1};
  solution.optimal = true;
  const runtime::Result<Judgement> judgement = judge(text_of({problem, solution, {}}));
  ASSERT_FALSE(judgement.is_ok());
  EXPECT_NE(judgement.message().find("form a cycle"), std::string::npos) << judgement.message();
}

}  // namespace
}  // namespace collage::certificate
