// SPDX-License-Identifier: Apache-2.0
// The judge of certificates against the search and brute force: it finds the bound that the search claims, never more
// than there is, and accepts what is right. COLLAGE_RANDOM_ROUNDS scales the number of problems (in percent).
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "compiler/place/evaluate/evaluate.h"
#include "tests/differential/brute_force.h"
#include "tests/differential/certificate_cases.h"
#include "tests/differential/multipliers.h"
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

TEST(CertificateRandom, AnyMultipliersProveWhatTheSearchSays) {
  uint64_t compared = 0;
  for (uint64_t seed = 0; seed < rounds(4'000); ++seed) {
    RandomSource random(9'000'000 + seed);
    const size_t nodes = 1 + random.below(12u);
    const Problem problem = seed % 3 == 0 ? device_problem(random, nodes) : random_problem(random, nodes);
    const Proof proof = place::random_proof(problem, random);
    if (!proof.exists()) continue;
    const runtime::Result<CertificateFile> file = read_certificate(text_of({problem, {}, proof}));
    ASSERT_TRUE(file.is_ok()) << seed << ": " << file.message();
    const runtime::Status status = check_problem(*file);
    ASSERT_TRUE(status.is_ok()) << seed << ": " << status.message();
    const runtime::Result<Wide> bound = bound_of_proof(*file);
    if (proof.bound >= Cost::max()) {
      ASSERT_FALSE(bound.is_ok()) << seed;
      continue;
    }
    ASSERT_TRUE(bound.is_ok()) << seed << ": " << bound.message();
    // With more than six formats the search gives up on prices. What limits leave no room for, only the checker sees.
    const int64_t difference = static_cast<int64_t>(*bound) - proof.bound.count();
    ASSERT_GE(difference, 0) << seed;
    compared += difference == 0 ? 1 : 0;
  }
  EXPECT_GT(compared, rounds(4'000) / 2);
}

/// Rounds of any multipliers, any prices of limits, any splits, and any claim: what follows from a claim above the
/// optimum is refused.
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
      const bool is_repeated = random.chance(30);
      if (is_repeated) round = {true, {}, {}, {}};
      std::set<std::string> priced;  // a limit has one price, whichever owner names it
      for (place::OwnerId o : file.problem.owners.ids()) {
        using Of = Proof::LimitPrice::Of;
        const place::Owner& owner = file.problem.owners[o];
        const Cost price = Cost::of(random.below(20) * (random.chance(50) ? 1 : 1'000'000), Cost::Unit::Seconds);
        if (owner.max_partitions && random.chance(30) && priced.insert("partitions of " + owner.backend).second) {
          round.limits.push_back({Of::Partitions, o, price});
        }
        if (owner.memory && random.chance(30) && priced.insert("memory of " + owner.instance).second) {
          round.limits.push_back({Of::Memory, o, price});
        }
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
      if (random.chance(30)) made.sweep = 1 + random.below(random.chance(50) ? 20 : 2'000);
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

/// A sweep alone, without multipliers, finds the optimum but for cycles, live values and regions, of which it knows
/// less.
TEST(CertificateRandom, SweepsShowWhatIsThere) {
  uint64_t exact = 0, all = 0;
  for (uint64_t seed = 0; seed < rounds(2'000); ++seed) {
    RandomSource random(19'000'000 + seed);
    CertificateFile file;
    file.problem = any_problem(random, seed, 1 + random.below(9u));
    file.names = names_of(file.problem);
    const Cost best = brute_force_cost(file.problem);
    file.proof = place::random_proof(file.problem, random);
    if (!file.proof.exists() || best >= Cost::max()) continue;
    file.proof.cases.front() = {{}, 1'000'000, {}};
    file.proof.bound = best + Cost::of(random.below(3), Cost::Unit::Seconds);
    const runtime::Result<Wide> bound = bound_of_proof(file);
    ASSERT_TRUE(bound.is_ok()) << seed << ": " << bound.message();
    ASSERT_LE(static_cast<int64_t>(*bound), best.count()) << seed;
    ++all;
    exact += *bound == best.count() ? 1 : 0;
  }
  EXPECT_GT(all, rounds(2'000) / 2);
  EXPECT_GT(exact, all * 3 / 4);
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
      const runtime::Result<Judgement> judgement = judge(text_of({problem, solution, {}}));
      ASSERT_EQ(judgement.is_ok(), is_valid)
          << seed << ": " << (is_valid ? judgement.message() : "accepted although " + std::get<std::string>(verdict));
      ++all;
      valid += is_valid ? 1 : 0;
    }
  }
  EXPECT_GT(valid, all / 10);
  EXPECT_GT(all - valid, all / 10);
}

}  // namespace
}  // namespace collage::certificate
