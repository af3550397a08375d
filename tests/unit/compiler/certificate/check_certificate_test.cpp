// SPDX-License-Identifier: Apache-2.0
// What the judge of certificates finds, one change of a good certificate at a time.
#include "compiler/certificate/check_certificate.h"

#include <gtest/gtest.h>

#include "tests/unit/compiler/certificate/certificate_sketch.h"

namespace collage::certificate {
namespace {

using place::CandidateId;

class CheckCertificate : public ::testing::Test {
 protected:
  std::string judged() const { return fault(check_certificate(file_)); }
  place::Candidate& candidate(CandidateId c) { return file_.problem.candidates[c]; }

  CertificateFile file_ = chain_certificate();
};

TEST_F(CheckCertificate, AGoodOneHolds) {
  const runtime::Result<Judgement> judgement = check_certificate(file_);
  ASSERT_EQ(fault(judgement), "");
  EXPECT_TRUE(judgement->cost == 18);
  EXPECT_TRUE(judgement->bound == Wide{18});
  EXPECT_TRUE(judgement->shows_claim(file_));
}

TEST_F(CheckCertificate, WithoutAProofTheClaimIsNotShown) {
  file_.proof = {};
  const runtime::Result<Judgement> judgement = check_certificate(file_);
  ASSERT_EQ(fault(judgement), "");
  EXPECT_FALSE(judgement->bound.has_value());
  EXPECT_FALSE(judgement->shows_claim(file_));
}

TEST_F(CheckCertificate, AProblemThatWasChangedAfterwards) {
  file_.about.model = "11";
  file_.about.problem = problem_hash(file_);
  EXPECT_EQ(judged(), "");
  file_.problem.values[0].bytes = 1;
  EXPECT_EQ(judged(), "the problem was changed after the certificate was written: it has another hash");
}

TEST_F(CheckCertificate, APlanOfAnotherCost) {
  file_.solution.cost = file_.solution.bound = place::ps(17);
  EXPECT_EQ(judged(), "the plan costs 18ps, the file says 17ps");
}

TEST_F(CheckCertificate, ABoundAboveTheCost) {
  file_.solution.bound = place::ps(19);
  EXPECT_EQ(judged(), "the bound 19ps is above the cost 18ps");
}

TEST_F(CheckCertificate, OptimalIsWhereTheBoundMeetsTheCost) {
  file_.solution.optimal = false;
  EXPECT_EQ(judged(), "the bound meets the cost, and the plan is not called optimal");
  file_.solution.optimal = true;
  file_.solution.bound = place::ps(17);
  EXPECT_EQ(judged(), "the plan is called optimal, and its bound is below its cost");
}

TEST_F(CheckCertificate, AProofShowsNoMoreThanIsTrue) {
  // The plan on the host costs 30; the proof still shows 18.
  file_.solution.chosen = {0, 1, 2};
  file_.solution.cost = file_.solution.bound = file_.proof.bound = place::ps(30);
  EXPECT_EQ(judged().substr(0, 17), "the proof shows 1");
}

TEST_F(CheckCertificate, AProofAboutAnotherOrder) {
  file_.proof.order = {0, 2, 1};
  EXPECT_EQ(judged(), "in the order `%n2` stands before `%n1`, which it reads");
  file_.proof.order = {0, 1, 1};
  EXPECT_EQ(judged(), "`%n1` stands in the order twice");
  file_.proof.order = {0, 1};
  EXPECT_EQ(judged(), "the order does not hold every node");
  file_.proof.order = {0, 1, 2};
  file_.proof.cases.clear();
  EXPECT_EQ(judged(), "the proof has no case");
}

TEST_F(CheckCertificate, EveryNodeIsCoveredOnce) {
  file_.solution.chosen = {3, 4};
  EXPECT_EQ(judged(), "`%n2` is not covered");
  file_.solution.chosen = {3, 4, 5, 0};
  EXPECT_EQ(judged(), "`%n0` is covered twice");
}

TEST_F(CheckCertificate, ACandidateWithoutACostIsInNoPlan) {
  candidate(3).cost = place::Cost::max();
  EXPECT_EQ(judged(), "candidate 3 (r on npu[0]) is in the plan and has no cost");
}

TEST_F(CheckCertificate, PartitionsMustNotWaitForEachOther) {
  candidate(0).nodes = {0, 2};
  candidate(0).reads.push_back({2, 0});
  candidate(0).writes.push_back({3, 0});
  file_.solution.chosen = {0, 1};
  EXPECT_EQ(judged().substr(0, 27), "the partitions form a cycle");
}

TEST_F(CheckCertificate, PartitionsAreCounted) {
  file_.problem.owners[1].max_partitions = 3;
  EXPECT_EQ(judged(), "");
  file_.problem.owners[1].max_partitions = 2;
  EXPECT_EQ(judged(), "3 partitions on `npu`, at most 2 are allowed");
}

TEST_F(CheckCertificate, BackendsThatConflict) {
  file_.problem.owners[1].conflicts = {0};
  EXPECT_EQ(judged(), "");
  file_.solution.chosen = {0, 4, 5};
  EXPECT_EQ(judged(), "`npu` and `host` may not be in one plan");
}

TEST_F(CheckCertificate, MemoryIsWhatAnInstanceHoldsAtOnce) {
  // An operand and a result of 10 each beside 100 of constants.
  for (place::ProblemValue& value : file_.problem.values) value.bytes = 10;
  file_.problem.constant_bytes = {100};
  for (CandidateId c : file_.solution.chosen) candidate(c).constants = {0};
  file_.problem.owners[1].memory = 120;
  EXPECT_EQ(judged(), "");
  file_.problem.owners[1].memory = 119;
  EXPECT_EQ(judged(), "`npu[0]` has 119 bytes of memory, and candidate 3 (r on npu[0]) needs more");
}

TEST_F(CheckCertificate, AFormatThatNoConversionLeadsTo) {
  file_.problem.values[0].conversions.clear();
  EXPECT_EQ(judged(), "no conversions lead to all formats in which the plan reads a value");
}

TEST_F(CheckCertificate, ListsAscend) {
  file_.problem.values[0].readers = {0, 0};
  EXPECT_EQ(judged(), "the readers of value `%v0` are not in ascending order");
}

TEST_F(CheckCertificate, ReadersComeAfterTheWriter) {
  file_.problem.values[1].readers = {0, 1};
  EXPECT_EQ(judged(), "`%n0` reads value `%v1` before `%n0` writes it");
}

TEST_F(CheckCertificate, CandidatesSayWhatCrossesTheirBorder) {
  candidate(1).reads.clear();
  EXPECT_EQ(judged(), "candidate 1 (r on host) does not say in which format it reads value `%v1`");
  candidate(1) = chain_problem().candidates[1];
  candidate(1).writes.clear();
  EXPECT_EQ(judged(), "candidate 1 (r on host) does not say in which format it writes value `%v2`");
  candidate(1) = chain_problem().candidates[1];
  candidate(1).reads.push_back({0, 0});
  EXPECT_EQ(judged(), "candidate 1 (r on host) reads value `%v0` although nothing in it does so from outside");
  candidate(1) = chain_problem().candidates[1];
  candidate(1).writes.push_back({2, 1});
  EXPECT_EQ(judged(), "candidate 1 (r on host) writes value `%v2` twice or without its node");
  candidate(1) = chain_problem().candidates[1];
  candidate(1).kept = {2};
  EXPECT_EQ(judged(), "candidate 1 (r on host) keeps value `%v2` inside, which it does not write or which leaves it");
  candidate(1).kept.clear();
  candidate(1).nodes.clear();
  EXPECT_EQ(judged(), "candidate 1 (r on host) has no nodes");
}

TEST_F(CheckCertificate, ABackendHasOneLimitOfPartitions) {
  file_.problem.owners[1].max_partitions = 3;
  file_.problem.owners.push_back(file_.problem.owners[1]);
  EXPECT_EQ(judged(), "");
  file_.problem.owners[2].max_partitions = 4;
  EXPECT_EQ(judged(), "`npu` has two limits of partitions: 3 and 4");
}

/// The units of the device joined: each costs 3, and a join saves 2.
class CheckRegions : public CheckCertificate {
 protected:
  void SetUp() override {
    file_.proof = {};
    file_.problem.owners[1].joins = place::ps(2);
    for (CandidateId c : file_.solution.chosen) candidate(c).may_join = true;
    file_.solution.region = {0, 0, 0};
    file_.solution.cost = file_.solution.bound = place::ps(18 - 2 * 2);
  }
};

TEST_F(CheckRegions, EachJoinIsSaved) {
  EXPECT_EQ(judged(), "");
  EXPECT_TRUE(most_saved_by_regions(file_, file_.solution.chosen) == 4);
}

TEST_F(CheckRegions, EveryPartitionHasOne) {
  file_.solution.region = {0, 0};
  EXPECT_EQ(judged(), "not every partition has a region");
}

TEST_F(CheckRegions, OnlyUnitsAreJoined) {
  candidate(4).may_join = false;
  EXPECT_EQ(judged(), "candidate 4 (r on npu[0]) is in a region and is no unit of one");
}

TEST_F(CheckRegions, AreConnected) {
  file_.solution.region = {0, 1, 0};
  EXPECT_EQ(judged(), "the region of candidate 3 (r on npu[0]) is not connected");
}

TEST_F(CheckRegions, AUnitCostsNoLessThanAJoinSaves) {
  candidate(4).cost = place::ps(1);
  EXPECT_EQ(judged(), "candidate 4 (r on npu[0]) costs less than a join of it saves");
}

}  // namespace
}  // namespace collage::certificate
