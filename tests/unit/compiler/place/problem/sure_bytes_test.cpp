// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/problem/sure_bytes.h"

#include <gtest/gtest.h>

namespace collage::place {
namespace {

Candidate holder(std::vector<NodeId> nodes, std::vector<ConstantId> constants, OwnerId owner = 1) {
  Candidate candidate;
  candidate.nodes = std::move(nodes);
  candidate.cost = Cost::of(10, Cost::Unit::Seconds);
  candidate.owner = owner;
  candidate.constants = std::move(constants);
  return candidate;
}

Problem limited_problem(std::initializer_list<Candidate> candidates) {
  Problem problem;
  problem.node_count = 3;
  problem.formats = {{"host", "plain"}};
  problem.owners = {{"host", "host", {}, {}}, {"npu", "npu[0]", {}, {}, 150}};
  problem.constant_bytes = {100, 7};
  problem.candidates = candidates;
  return problem;
}

Table<CandidateId, SureBytes> sure_bytes_of(const Problem& problem) {
  return sure_bytes(problem, MemoryLimits(problem));
}

TEST(SureBytes, CandidatesThatMeetInANodeAreNeverChosenTogether) {
  const auto sure = sure_bytes_of(limited_problem({holder({0, 1}, {0}), holder({1, 2}, {0, 1}), holder({0}, {})}));
  EXPECT_EQ(sure[0].all, 100);
  EXPECT_EQ(sure[1].all, 107);
  EXPECT_EQ(sure[2].all, 0);
  ASSERT_EQ(sure[1].at.size(), 2u);
  EXPECT_EQ(sure[1].at[0].first, NodeId(1));
  EXPECT_EQ(sure[1].at[0].second, 100);
  EXPECT_EQ(sure[1].at[1].second, 7);
}

TEST(SureBytes, AConstantOfCandidatesThatCanBothBeChosenMayBeHeldOnce) {
  const auto sure = sure_bytes_of(limited_problem({holder({0}, {0}), holder({1}, {0}), holder({1}, {1})}));
  EXPECT_EQ(sure[0].all, 0);
  EXPECT_EQ(sure[1].all, 0);
  EXPECT_EQ(sure[2].all, 7);
}

TEST(SureBytes, OnlyLimitedInstancesAndCandidatesWithACostCount) {
  Candidate never = holder({1}, {0});
  never.cost = Cost::max();
  const auto sure = sure_bytes_of(limited_problem({holder({0}, {0}), never, holder({2}, {0}, 0)}));
  EXPECT_EQ(sure[0].all, 100);
  EXPECT_EQ(sure[1].all, 0);
  EXPECT_EQ(sure[2].all, 0);
}

}  // namespace
}  // namespace collage::place
