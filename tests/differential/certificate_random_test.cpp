// SPDX-License-Identifier: Apache-2.0
// The judge of certificates against the search and brute force: it finds the bound that the search claims, accepts what
// is right, refuses every kind of tampering, and survives any damaged file. COLLAGE_RANDOM_ROUNDS scales the number of
// problems (in percent).
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "compiler/certificate/check_certificate.h"
#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/exact/bound/prove.h"
#include "compiler/place/exact/optimal_search.h"
#include "tests/differential/brute_force.h"
#include "tests/differential/multipliers.h"
#include "tests/differential/random_problem.h"
#include "tests/unit/rounds.h"

namespace collage::certificate {
namespace {

using place::Cost;
using place::Problem;
using place::Proof;
using place::RandomSource;
using place::Solution;
using support::Table;
using testing::rounds;

Names names_of(const Problem& problem) {
  Names names{"random", {}, {}};
  for (place::NodeId node : problem.nodes()) names.nodes.push_back("n" + std::to_string(node.index));
  for (place::ProblemValueId v : problem.values.ids()) names.values.push_back("v" + std::to_string(v.index));
  return names;
}

std::string text_of(const Problem& problem, const Solution& solution, const Proof& proof) {
  return to_json({names_of(problem), problem, solution, proof});
}

runtime::Result<Judgement> judge(const std::string& text) {
  const runtime::Result<CertificateFile> file = read_certificate(text);
  if (!file) return file.status();
  return check_certificate(*file);
}

/// Some problem with its best plan and a proof.
struct Case {
  Problem problem;
  Solution solution;
  Proof proof;
};

std::string text_of(const Case& one) {
  return text_of(one.problem, one.solution, one.proof);
}

Problem any_problem(RandomSource& random, uint64_t seed, size_t nodes) {
  switch (seed % 5) {
    case 0: return device_problem(random, nodes);
    case 1: {
      Problem problem = seed % 2 == 0 ? device_problem(random, nodes) : random_problem(random, nodes);
      add_memory(random, problem);
      return problem;
    }
    case 2: return joining_problem(random, nodes);
    default: return random_problem(random, nodes);
  }
}

std::optional<Case> random_case(RandomSource& random, uint64_t seed, size_t most_nodes) {
  const size_t nodes = 1 + random.below(most_nodes);
  Case made{any_problem(random, seed, nodes), {}, {}};
  std::optional<Solution> solution = search_optimal(made.problem);
  if (!solution) return std::nullopt;
  made.solution = std::move(*solution);
  made.proof = prove_bound(made.problem, made.solution.cost);
  if (!made.proof.exists()) return std::nullopt;
  return made;
}

TEST(CertificateRandom, AnyMultipliersProveWhatTheSearchSays) {
  uint64_t compared = 0;
  for (uint64_t seed = 0; seed < rounds(4'000); ++seed) {
    RandomSource random(9'000'000 + seed);
    const size_t nodes = 1 + random.below(12u);
    const Problem problem = seed % 3 == 0 ? device_problem(random, nodes) : random_problem(random, nodes);
    const Proof proof = place::random_proof(problem, random);
    if (!proof.exists()) continue;
    const runtime::Result<CertificateFile> file = read_certificate(text_of(problem, {}, proof));
    ASSERT_TRUE(file.is_ok()) << seed << ": " << file.message();
    const runtime::Status status = check_problem(*file);
    ASSERT_TRUE(status.is_ok()) << seed << ": " << status.message();
    const runtime::Result<Wide> bound = bound_of_proof(*file);
    if (proof.bound >= Cost::max()) {
      ASSERT_FALSE(bound.is_ok()) << seed;
      continue;
    }
    ASSERT_TRUE(bound.is_ok()) << seed << ": " << bound.message();
    // Of more than six formats the search gives up on prices. What limits leave no room for, only the judge sees.
    const int64_t difference = static_cast<int64_t>(*bound) - proof.bound.count();
    ASSERT_GE(difference, 0) << seed;
    compared += difference == 0 ? 1 : 0;
  }
  EXPECT_GT(compared, rounds(4'000) / 2);
}

/// Rounds of any multipliers, any prices of limits, any splits, and any claim: what follows from a claim above the optimum is
/// refused.
TEST(CertificateRandom, ProofsNeverShowTooMuch) {
  uint64_t tight = 0, all = 0;
  for (uint64_t seed = 0; seed < rounds(3'000); ++seed) {
    RandomSource random(18'000'000 + seed);
    const size_t nodes = 2 + random.below(8u);
    CertificateFile file;
    file.problem = any_problem(random, seed, nodes);
    file.names = names_of(file.problem);
    Proof& proof = file.proof;
    proof = place::random_proof(file.problem, random);
    const Cost best = brute_force_cost(file.problem);
    if (!proof.exists() || best >= Cost::max()) continue;
    const auto any_round = [&] {
      Proof::Round round = place::random_proof(file.problem, random).cases.front().rounds.front();
      if (random.chance(30)) round = {true, {}, {}, {}};
      for (place::OwnerId o : file.problem.owners.ids()) {
        using Of = Proof::LimitPrice::Of;
        const place::Owner& owner = file.problem.owners[o];
        const Cost price = Cost::of(random.below(20) * (random.chance(50) ? 1 : 1'000'000), Cost::Unit::Seconds);
        if (owner.max_partitions && random.chance(30)) round.limits.push_back({Of::Partitions, o, price});
        if (owner.memory && random.chance(30)) round.limits.push_back({Of::Memory, o, price});
      }
      if (!round.limits.empty()) round.shares.clear();  // they would have to add up to other costs
      for (Proof::Share& share : round.shares) {
        for (Cost& run : share.runs) run = Cost::of(run.count() * proof.scale, Cost::Unit::Seconds);
      }
      return round;
    };
    proof.scale = 1 + random.below(3);
    proof.cases = Table<Proof::CaseId, Proof::Case>(size_t{1});
    for (Proof::CaseId at = 0; at < proof.cases.next_id(); at = advance(at, 1)) {
      Proof::Case made;
      for (int round = 1 + random.below(3); round > 0; --round) made.rounds.push_back(any_round());
      if (proof.cases.size() < 9 && random.chance(60)) {
        Proof::Split& split = made.split;
        split.kind = Proof::Split::Kind::Cover;
        split.node = random.pick(file.problem.nodes());
        for (place::CandidateId c : file.problem.candidates.ids()) {
          if (random.chance(40)) split.candidates.push_back(c);
        }
        for (place::OwnerId o : file.problem.owners.ids()) {
          const place::Owner& owner = file.problem.owners[o];
          if (owner.memory && random.chance(20)) {
            split = {Proof::Split::Kind::Working, {}, {}, {o}, random.below(300), {}, {}};
          }
          if (!owner.conflicts.empty() && random.chance(20)) {
            split = {Proof::Split::Kind::Conflict, {}, {}, {o, random.pick(owner.conflicts)}, 0, {}, {}};
          }
        }
        split.first = proof.cases.add({});
        split.second = proof.cases.add({});
      }
      proof.cases[at] = std::move(made);
    }
    proof.bound = best + Cost::of(random.below(9) - 5, Cost::Unit::Seconds);
    const runtime::Result<Wide> bound = bound_of_proof(file);
    ASSERT_TRUE(bound.is_ok()) << seed << ": " << bound.message();
    ASSERT_LE(static_cast<int64_t>(*bound), best.count()) << seed;
    ++all;
    tight += *bound + 2 >= best.count() ? 1 : 0;
  }
  EXPECT_GT(all, rounds(3'000) / 2);
  EXPECT_GT(tight, all / 20);
}

/// Every optimum that the search finds is proven outside, with counts, conflicts, memory and regions, too.
TEST(CertificateRandom, WhatTheSearchFindsIsProven) {
  uint64_t proven = 0, all = 0, split = 0;
  for (uint64_t seed = 0; seed < rounds(1'500); ++seed) {
    RandomSource random(10'000'000 + seed);
    const std::optional<Case> made = random_case(random, seed, 9);
    if (!made) continue;
    const runtime::Result<Judgement> judgement = judge(text_of(*made));
    ASSERT_TRUE(judgement.is_ok()) << seed << ": " << judgement.message();
    const Cost best = brute_force_cost(made->problem);
    ASSERT_EQ(static_cast<int64_t>(judgement->cost), best.count()) << seed;
    ASSERT_TRUE(judgement->bound.has_value()) << seed;
    ASSERT_GE(static_cast<int64_t>(*judgement->bound), made->proof.bound.count()) << seed;
    ASSERT_LE(static_cast<int64_t>(*judgement->bound), best.count()) << seed;
    ++all;
    split += made->proof.cases.size() > 1 ? 1 : 0;
    if (*judgement->bound == judgement->cost) {
      ++proven;
    } else {
      ADD_FAILURE() << seed << ": proven " << static_cast<int64_t>(*judgement->bound) << " of " << best.count() << ", "
                    << made->proof.cases.size() << " cases";
    }
  }
  EXPECT_EQ(proven, all);
  EXPECT_GT(split, all / 50);
}

TEST(CertificateRandom, JudgesOfAPlanAgree) {
  uint64_t valid = 0, all = 0;
  for (uint64_t seed = 0; seed < rounds(1'500); ++seed) {
    RandomSource random(11'000'000 + seed);
    const size_t nodes = 1 + random.below(9u);
    Problem problem = seed % 2 == 0 ? device_problem(random, nodes) : random_problem(random, nodes);
    if (seed % 3 == 0) problem = joining_problem(random, nodes);
    add_memory(random, problem);
    for (int plan = 0; plan < 8; ++plan) {
      Solution solution = place::random_cover(problem, random);
      if (solution.chosen.empty()) continue;
      for (size_t i = 0; seed % 3 == 0 && i < solution.chosen.size(); ++i) {
        solution.region.emplace_back(random.below(solution.chosen.size()));
      }
      const place::Verdict verdict = evaluate(problem, solution);
      const bool is_valid = std::holds_alternative<Cost>(verdict) && std::get<Cost>(verdict) < Cost::max();
      if (is_valid) solution.cost = std::get<Cost>(verdict);
      solution.optimal = solution.cost == solution.bound;
      const runtime::Result<Judgement> judgement = judge(text_of(problem, solution, {}));
      ASSERT_EQ(judgement.is_ok(), is_valid)
          << seed << ": " << (is_valid ? judgement.message() : "accepted although " + std::get<std::string>(verdict));
      ++all;
      valid += is_valid ? 1 : 0;
    }
  }
  EXPECT_GT(valid, all / 10);
  EXPECT_GT(all - valid, all / 10);
}

struct Tampering {
  const char* what;
  const char* message;                            ///< a part of it
  std::function<bool(RandomSource&, Case&)> act;  ///< false: this case has nothing to tamper with
};

const Cost kTick = Cost::of(1, Cost::Unit::Seconds);

Proof::Round& first_round(Case& c) {
  return c.proof.cases.front().rounds.front();
}
/// Whether the first round is looked at: the candidates alone show less than is claimed.
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
       c.proof.cases.front().rounds.clear();
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
       place::Owner& owner = c.problem.owners[c.problem.candidates[chosen].owner];
       owner.max_partitions = 0;
       return !owner.joins;
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

TEST(CertificateRandom, EveryTamperingIsRefused) {
  for (const Tampering& tampering : kTamperings) {
    uint64_t done = 0;
    for (uint64_t seed = 0; done < rounds(60); ++seed) {
      ASSERT_LT(seed, rounds(4'000)) << tampering.what;
      RandomSource random(12'000'000 + seed);
      std::optional<Case> made = random_case(random, seed, 9);
      if (!made || !tampering.act(random, *made)) continue;
      const runtime::Result<Judgement> judgement = judge(text_of(*made));
      ASSERT_FALSE(judgement.is_ok()) << tampering.what << ", seed " << seed;
      ASSERT_NE(judgement.message().find(tampering.message), std::string::npos)
          << tampering.what << ", seed " << seed << ": " << judgement.message();
      ++done;
    }
  }
}

/// Cycles cannot come from a search: two pairs that each wait for the other.
TEST(CertificateRandom, ACycleIsRefused) {
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
  const runtime::Result<Judgement> judgement = judge(text_of(problem, solution, {}));
  ASSERT_FALSE(judgement.is_ok());
  EXPECT_NE(judgement.message().find("form a cycle"), std::string::npos) << judgement.message();
}

/// One change of the text: bytes changed, taken out, put in or moved, numbers replaced, the end cut off.
void damage(RandomSource& random, std::string& text) {
  const auto somewhere = [&] { return random.below(text.size()); };
  const size_t at = somewhere();
  switch (random.below(14)) {
    case 0: text[at] = static_cast<char>(random.below(256)); break;
    case 1: text.erase(at, 1 + random.below(30u)); break;
    case 2: text.insert(at, text.substr(somewhere(), 1 + random.below(30u))); break;
    case 3: text.resize(at + 1); break;
    default: {
      size_t begin = text.find_first_of("0123456789", at);
      if (begin == std::string::npos) break;
      const size_t end = text.find_first_not_of("0123456789", begin);
      static const char* const kNumbers[] = {"0",  "1",    "2",   "3",   "-1", "-5",   "1152921504606846976",
                                             "7",  "null", "1e9", "2.5", "[]", "\"\"", "18446744073709551615",
                                             "{}", "true"};
      const size_t length = end == std::string::npos ? end : end - begin;
      if (random.chance(70)) {
        text.replace(begin, length, std::to_string(random.below(12)));
      } else {
        text.replace(begin, length, kNumbers[random.below(std::size(kNumbers))]);
      }
    }
  }
  if (text.empty()) text = "x";
}

bool is_small(const Problem& problem) {
  const auto small = [](Cost cost) { return cost >= Cost::max() || cost.count() < int64_t{1} << 40; };
  return problem.node_count <= 9 && problem.formats.size() <= 8 &&
         std::all_of(problem.candidates.begin(), problem.candidates.end(),
                     [&](const place::Candidate& candidate) { return small(candidate.cost); }) &&
         std::all_of(problem.values.begin(), problem.values.end(), [&](const place::ProblemValue& value) {
           return std::all_of(value.conversions.begin(), value.conversions.end(),
                              [&](const place::ConversionEdge& edge) { return small(edge.cost); });
         });
}

TEST(CertificateRandom, DamagedFilesAreRefusedOrStillRight) {
  uint64_t read = 0, accepted = 0;
  for (uint64_t seed = 0; seed < rounds(6'000); ++seed) {
    RandomSource random(13'000'000 + seed);
    const std::optional<Case> made = random_case(random, seed, 6);
    if (!made) continue;
    std::string text = text_of(*made);
    for (int i = random.chance(70) ? 1 : 4; i > 0; --i) damage(random, text);
    const runtime::Result<CertificateFile> file = read_certificate(text);
    if (!file) {
      ASSERT_FALSE(file.message().empty());
      continue;
    }
    ++read;
    const runtime::Result<Judgement> judgement = check_certificate(*file);
    if (!judgement) continue;
    ++accepted;
    // What is still accepted must still be true.
    if (!is_small(file->problem)) continue;
    const place::Verdict verdict = evaluate(file->problem, file->solution);
    ASSERT_TRUE(std::holds_alternative<Cost>(verdict)) << seed << ": " << std::get<std::string>(verdict);
    ASSERT_EQ(std::get<Cost>(verdict).count(), static_cast<int64_t>(judgement->cost)) << seed;
    if (judgement->bound) {
      ASSERT_LE(static_cast<int64_t>(*judgement->bound), brute_force_cost(file->problem).count()) << seed;
    }
  }
  EXPECT_GT(read, rounds(6'000) / 10);
  EXPECT_GT(accepted, rounds(6'000) / 50);
}

}  // namespace
}  // namespace collage::certificate
