// SPDX-License-Identifier: Apache-2.0
// Certificates with damaged text are refused, or still true. COLLAGE_RANDOM_ROUNDS scales the number of problems (in
// percent).
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/place/evaluate/evaluate.h"
#include "tests/differential/brute_force.h"
#include "tests/differential/certificate_cases.h"
#include "tests/unit/rounds.h"

namespace collage::certificate {
namespace {

using place::Cost;
using place::Problem;
using place::RandomSource;
using testing::rounds;

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

TEST(CertificateDamage, DamagedFilesAreRefusedOrStillRight) {
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
