// SPDX-License-Identifier: Apache-2.0
// The judge of certificates against the search and brute force: it finds the bound that the search claims, accepts what
// is right, refuses every kind of tampering, and survives any damaged file. COLLAGE_RANDOM_ROUNDS scales the number of
// problems (in percent).
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "compiler/certificate/check_certificate.h"
#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/exact/optimal_search.h"
#include "tests/differential/brute_force.h"
#include "tests/differential/multipliers.h"
#include "tests/differential/random_problem.h"
#include "tests/unit/rounds.h"

namespace collage::certificate {
namespace {

using place::Certificate;
using place::Cost;
using place::Problem;
using place::RandomSource;
using place::Solution;
using testing::rounds;

Names names_of(const Problem& problem) {
  Names names{"random", {}, {}};
  for (place::NodeId node : problem.nodes()) names.nodes.push_back("n" + std::to_string(node.index));
  for (place::ProblemValueId v : problem.values.ids()) names.values.push_back("v" + std::to_string(v.index));
  return names;
}

std::string text_of(const Problem& problem, const Solution& solution) {
  return to_json(names_of(problem), problem, solution);
}

runtime::Result<Judgement> judge(const std::string& text) {
  const runtime::Result<CertificateFile> file = read_certificate(text);
  if (!file) return file.status();
  return check_certificate(*file);
}

/// Some problem with its best plan and a certificate.
struct Case {
  Problem problem;
  Solution solution;
};

std::optional<Case> random_case(RandomSource& random, uint64_t seed, size_t most_nodes) {
  const size_t nodes = 1 + random.below(most_nodes);
  Case made{seed % 3 == 0 ? device_problem(random, nodes) : random_problem(random, nodes), {}};
  std::optional<Solution> solution = search_optimal(made.problem);
  if (!solution) return std::nullopt;
  made.solution = std::move(*solution);
  if (made.solution.certificate.order.empty()) return std::nullopt;
  return made;
}

TEST(CertificateRandom, AnyMultipliersProveWhatTheSearchSays) {
  uint64_t compared = 0;
  for (uint64_t seed = 0; seed < rounds(4'000); ++seed) {
    RandomSource random(9'000'000 + seed);
    const size_t nodes = 1 + random.below(12u);
    const Problem problem = seed % 3 == 0 ? device_problem(random, nodes) : random_problem(random, nodes);
    Solution solution;
    solution.certificate = place::random_certificate(problem, random);
    if (solution.certificate.order.empty()) continue;
    const runtime::Result<CertificateFile> file = read_certificate(text_of(problem, solution));
    ASSERT_TRUE(file.is_ok()) << seed << ": " << file.message();
    const runtime::Status status = check_problem(*file);
    ASSERT_TRUE(status.is_ok()) << seed << ": " << status.message();
    const runtime::Result<Wide> bound = bound_of_multipliers(*file);
    if (solution.certificate.bound >= Cost::max()) {
      ASSERT_FALSE(bound.is_ok()) << seed;
      continue;
    }
    ASSERT_TRUE(bound.is_ok()) << seed << ": " << bound.message();
    // Of more than six formats the search gives up on prices, and the judge does better.
    const int64_t difference = static_cast<int64_t>(*bound) - solution.certificate.bound.count();
    ASSERT_GE(difference, 0) << seed;
    if (problem.formats.size() <= 6) {
      ASSERT_EQ(difference, 0) << seed;
      ++compared;
    }
  }
  EXPECT_GT(compared, rounds(4'000) / 2);
}

/// Rounds of any multipliers, and any claim: what follows from a claim above the optimum is refused.
TEST(CertificateRandom, RoundsNeverProveTooMuch) {
  uint64_t tight = 0, all = 0;
  for (uint64_t seed = 0; seed < rounds(2'000); ++seed) {
    RandomSource random(18'000'000 + seed);
    const size_t nodes = 2 + random.below(8u);
    CertificateFile file;
    file.problem = seed % 3 == 0 ? device_problem(random, nodes) : random_problem(random, nodes);
    if (random.chance(30)) add_memory(random, file.problem);
    file.names = names_of(file.problem);
    Certificate& certificate = file.solution.certificate;
    certificate = place::random_certificate(file.problem, random);
    const Cost best = brute_force_cost(file.problem);
    if (certificate.order.empty() || best >= Cost::max()) continue;
    for (int round = 1 + random.below(3); round > 0; --round) {
      certificate.rounds.push_back(place::random_certificate(file.problem, random).rounds.front());
    }
    certificate.bound = best + Cost::of(random.below(9) - 5, Cost::Unit::Seconds);
    const runtime::Result<Wide> bound = bound_of_multipliers(file);
    ASSERT_TRUE(bound.is_ok()) << seed << ": " << bound.message();
    ASSERT_LE(static_cast<int64_t>(*bound), best.count()) << seed;
    ++all;
    tight += *bound + 2 >= best.count() ? 1 : 0;
  }
  EXPECT_GT(tight, all / 10);
}

TEST(CertificateRandom, WhatTheSearchFindsIsAccepted) {
  uint64_t proven = 0, all = 0;
  for (uint64_t seed = 0; seed < rounds(1'000); ++seed) {
    RandomSource random(10'000'000 + seed);
    const std::optional<Case> made = random_case(random, seed, 9);
    if (!made) continue;
    const runtime::Result<Judgement> judgement = judge(text_of(made->problem, made->solution));
    ASSERT_TRUE(judgement.is_ok()) << seed << ": " << judgement.message();
    const Cost best = brute_force_cost(made->problem);
    ASSERT_EQ(static_cast<int64_t>(judgement->cost), best.count()) << seed;
    ASSERT_TRUE(judgement->bound.has_value()) << seed;
    ASSERT_GE(static_cast<int64_t>(*judgement->bound), made->solution.certificate.bound.count()) << seed;
    ASSERT_LE(static_cast<int64_t>(*judgement->bound), best.count()) << seed;
    ++all;
    proven += *judgement->bound == judgement->cost ? 1 : 0;
  }
  EXPECT_GT(proven, all / 3);  // by multipliers alone
}

TEST(CertificateRandom, JudgesOfAPlanAgree) {
  uint64_t valid = 0, all = 0;
  for (uint64_t seed = 0; seed < rounds(1'500); ++seed) {
    RandomSource random(11'000'000 + seed);
    const size_t nodes = 1 + random.below(9u);
    Problem problem = seed % 2 == 0 ? device_problem(random, nodes) : random_problem(random, nodes);
    add_memory(random, problem);
    for (int plan = 0; plan < 8; ++plan) {
      Solution solution = place::random_cover(problem, random);
      if (solution.chosen.empty()) continue;
      const place::Verdict verdict = evaluate(problem, solution);
      const bool is_valid = std::holds_alternative<Cost>(verdict) && std::get<Cost>(verdict) < Cost::max();
      if (is_valid) solution.cost = std::get<Cost>(verdict);
      solution.optimal = solution.cost == solution.bound;
      const runtime::Result<Judgement> judgement = judge(text_of(problem, solution));
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
       Cost& cost = c.problem.candidates[random.pick(c.solution.chosen)].cost;
       cost -= kTick;
       return cost >= Cost();
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
       c.solution.certificate.bound = std::min(c.solution.certificate.bound, c.solution.bound);
       return c.solution.bound >= Cost() && c.solution.optimal;
     }},
    {"the multipliers are said to prove more", "the multipliers prove",
     [](RandomSource&, Case& c) {
       c.solution.certificate.bound = c.solution.cost + kTick;
       return true;
     }},
    {"shares add up to more", "add up to",
     [](RandomSource& random, Case& c) {
       if (c.solution.certificate.rounds.front().shares.empty()) return false;
       random.pick(random.pick(c.solution.certificate.rounds.front().shares).runs) += kTick;
       return true;
     }},
    {"a share too many", "shares and",
     [](RandomSource& random, Case& c) {
       if (c.solution.certificate.rounds.front().shares.empty()) return false;
       random.pick(c.solution.certificate.rounds.front().shares).runs.push_back(Cost());
       return true;
     }},
    {"shares twice", "has shares twice",
     [](RandomSource& random, Case& c) {
       if (c.solution.certificate.rounds.front().shares.empty()) return false;
       c.solution.certificate.rounds.front().shares.push_back(
           random.pick(c.solution.certificate.rounds.front().shares));
       return true;
     }},
    {"a node is missing in the order", "does not hold every node",
     [](RandomSource&, Case& c) {
       c.solution.certificate.order.pop_back();
       return !c.solution.certificate.order.empty();
     }},
    {"a node stands twice in the order", "in the order twice",
     [](RandomSource& random, Case& c) {
       c.solution.certificate.order.push_back(random.pick(c.solution.certificate.order));
       return true;
     }},
    {"the order runs backwards", "stands before",
     [](RandomSource&, Case& c) {
       std::reverse(c.solution.certificate.order.begin(), c.solution.certificate.order.end());
       return std::any_of(c.problem.values.begin(), c.problem.values.end(), [](const place::ProblemValue& value) {
         return value.writer.is_valid() && !value.readers.empty();
       });
     }},
    {"a price for who does not read", "it does not read it",
     [](RandomSource& random, Case& c) {
       const place::ProblemValueId v = random.pick(c.problem.values.ids());
       const std::vector<place::NodeId>& readers = c.problem.values[v].readers;
       const place::NodeId node = random.pick(c.problem.nodes());
       if (std::count(readers.begin(), readers.end(), node) > 0) return false;
       c.solution.certificate.rounds.front().prices.push_back({v, node, 0, kTick});
       return true;
     }},
    {"a price right after the writer", "pays nothing",
     [](RandomSource&, Case& c) {
       const std::vector<place::NodeId>& order = c.solution.certificate.order;
       for (place::ProblemValueId v : c.problem.values.ids()) {
         const place::ProblemValue& value = c.problem.values[v];
         const auto at = std::find(order.begin(), order.end(), value.writer);
         if (!value.writer.is_valid() || at + 1 == order.end()) continue;
         if (std::count(value.readers.begin(), value.readers.end(), *(at + 1)) == 0) continue;
         c.solution.certificate.rounds.front().prices.push_back({v, *(at + 1), 0, kTick});
         return true;
       }
       return false;
     }},
    {"a price for a model input", "model inputs pay nothing",
     [](RandomSource&, Case& c) {
       for (place::ProblemValueId v : c.problem.values.ids()) {
         const place::ProblemValue& value = c.problem.values[v];
         if (value.writer.is_valid() || value.readers.empty()) continue;
         c.solution.certificate.rounds.front().prices.push_back({v, value.readers.back(), 0, kTick});
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
       c.problem.owners[c.problem.candidates[chosen].owner].max_partitions = 0;
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

TEST(CertificateRandom, EveryTamperingIsRefused) {
  for (const Tampering& tampering : kTamperings) {
    uint64_t done = 0;
    for (uint64_t seed = 0; done < rounds(60); ++seed) {
      ASSERT_LT(seed, rounds(4'000)) << tampering.what;
      RandomSource random(12'000'000 + seed);
      std::optional<Case> made = random_case(random, seed, 9);
      if (!made || !tampering.act(random, *made)) continue;
      const runtime::Result<Judgement> judgement = judge(text_of(made->problem, made->solution));
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
  const runtime::Result<Judgement> judgement = judge(text_of(problem, solution));
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
    std::string text = text_of(made->problem, made->solution);
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
