// SPDX-License-Identifier: Apache-2.0
#include "compiler/certificate/compare_problems.h"

#include <gtest/gtest.h>

#include "tests/unit/compiler/certificate/certificate_sketch.h"

namespace collage::certificate {
namespace {

using place::CandidateId;

class CompareProblems : public ::testing::Test {
 protected:
  std::string difference() const { return compare_problems(stated_, made_, comparison_).difference; }

  CertificateFile made_ = chain_certificate();
  CertificateFile stated_ = made_;
  Comparison comparison_;
};

TEST_F(CompareProblems, EqualOnesHaveNoDifference) {
  EXPECT_EQ(difference(), "");
}

TEST_F(CompareProblems, TheOrderOfCandidatesDoesNotMatter) {
  std::swap(stated_.problem.candidates[0], stated_.problem.candidates[5]);
  EXPECT_EQ(difference(), "");
}

TEST_F(CompareProblems, AnotherModel) {
  stated_.names.model = "other";
  EXPECT_EQ(difference(), "the certificate is of a model `other`, this one is `sketch`");
}

TEST_F(CompareProblems, AnotherNode) {
  stated_.names.nodes[1] = "m";
  EXPECT_EQ(difference(), "node 1 is `%m` in the certificate and `%n1` in the model");
}

TEST_F(CompareProblems, AnotherLimit) {
  stated_.problem.owners[1].memory = 5;
  EXPECT_EQ(difference(), "the memory of `npu[0]` is not what rules and options say");
}

TEST_F(CompareProblems, AnotherReader) {
  stated_.problem.values[1].readers = {1, 2};
  EXPECT_EQ(difference(), "value `%v1` is read by other nodes");
}

TEST_F(CompareProblems, CostsOfConversionsAreTakenOnTrustWhereTheyWereMeasured) {
  stated_.problem.values[1].conversions.front().cost = place::ps(3);
  EXPECT_EQ(difference(), "the conversions of value `%v1` are not those that the rules give");
  comparison_.trusts_conversions = true;
  EXPECT_EQ(difference(), "");
}

TEST_F(CompareProblems, CostsOfCandidatesAreTakenOnTrustWhereTheyWereMeasured) {
  stated_.problem.candidates[3].cost = place::ps(2);
  EXPECT_EQ(difference(), "candidate 3 (r on npu[0]) for `%n0` costs 3ps, and the certificate says 2ps");
  comparison_.is_trusted = [](CandidateId c) { return c == 3; };
  EXPECT_EQ(difference(), "");
  EXPECT_EQ(compare_problems(stated_, made_, comparison_).trusted_costs, 1u);
}

TEST_F(CompareProblems, ACandidateThatIsLeftOut) {
  stated_.problem.candidates.pop_back();
  EXPECT_EQ(
      difference(),
      "the certificate lacks a candidate that model, rules and options give: candidate 5 (r on npu[0]) for `%n2`");
}

TEST_F(CompareProblems, ACandidateThatIsAdded) {
  place::Candidate added = stated_.problem.candidates[0];
  added.rule = "cheap";
  stated_.problem.candidates.push_back(added);
  EXPECT_EQ(
      difference(),
      "the certificate has a candidate that model, rules and options do not give: candidate 6 (cheap on host) for "
      "`%n0`");
  comparison_.may_add = true;
  EXPECT_EQ(difference(), "");
  EXPECT_EQ(compare_problems(stated_, made_, comparison_).added, 1u);
}

}  // namespace
}  // namespace collage::certificate
