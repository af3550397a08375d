// SPDX-License-Identifier: Apache-2.0
// A certificate says whether its costs are times or energies.
#include <gtest/gtest.h>

#include "compiler/certificate/check_certificate.h"
#include "compiler/place/exact/optimal_search.h"
#include "tests/unit/compiler/place/problem_sketch.h"

namespace collage::certificate {
namespace {

using place::Cost;
using Unit = Cost::Unit;

/// Two nodes in a row, on the host.
std::string certificate_in(Unit unit) {
  place::Sketch sketch(2, {{0, 1}});
  sketch.add_singletons(5);
  sketch.add({0, 1}, 7);
  place::Problem& problem = sketch.problem;
  problem.unit = unit;
  for (place::Candidate& candidate : problem.candidates) candidate.cost = problem.cost_of(candidate.cost.count());
  Names names{"two", {}, {}};
  names.nodes.resize(problem.node_count);
  names.values.resize(problem.values.size());
  return to_json(names, problem, place::search_optimal(problem).value());
}

TEST(Certificate, OfEnergiesNamesItsUnit) {
  const std::string text = certificate_in(Unit::Joules);
  EXPECT_NE(text.find("\"model\": \"two\",\n\"unit\": \"J\""), std::string::npos) << text;
  const runtime::Result<CertificateFile> file = read_certificate(text);
  ASSERT_TRUE(file) << file.message();
  EXPECT_EQ(file->problem.unit, Unit::Joules);
  EXPECT_EQ(human(file->solution.cost), "7 pJ");
  const runtime::Result<Judgement> judgement = check_certificate(*file);
  ASSERT_TRUE(judgement) << judgement.message();
  EXPECT_EQ(cost_text(*file, judgement->cost), "7pJ");
  EXPECT_EQ(to_json(file->names, file->problem, file->solution), text);
}

TEST(Certificate, OfTimesNamesNone) {
  const std::string text = certificate_in(Unit::Seconds);
  EXPECT_EQ(text.find("unit"), std::string::npos) << text;
  const runtime::Result<CertificateFile> file = read_certificate(text);
  ASSERT_TRUE(file) << file.message();
  EXPECT_EQ(human(file->solution.cost), "7 ps");
}

TEST(Certificate, OfAnotherUnitIsRefused) {
  std::string text = certificate_in(Unit::Joules);
  text.replace(text.find("\"J\""), 3, "\"W\"");
  const runtime::Result<CertificateFile> file = read_certificate(text);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.message(), "the file: `unit` is one of `s` and `J`");
}

}  // namespace
}  // namespace collage::certificate
