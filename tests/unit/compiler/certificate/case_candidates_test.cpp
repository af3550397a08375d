// SPDX-License-Identifier: Apache-2.0
#include "compiler/certificate/case_candidates.h"

#include <gtest/gtest.h>

#include "tests/unit/compiler/certificate/certificate_sketch.h"

namespace collage::certificate {
namespace {

using Outcome = CaseCandidates::Outcome;
using List = std::vector<CandidateId>;

/// A case with some candidates, reduced.
struct Reduced {
  Reduced(const place::Problem& problem, List left, int64_t demanded = 0)
      : limits(problem),
        cases(problem, limits),
        state{std::move(left), Table<Limits::InstanceId, int64_t>(limits.instances(), demanded)},
        outcome(cases.reduce(state)) {}

  Limits limits;
  CaseCandidates cases;
  CaseState state;
  Outcome outcome;
};

TEST(CaseCandidates, NothingIsTakenAwayWhereAllMayBeInAPlan) {
  const place::Problem problem = chain_problem();
  const Reduced reduced(problem, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(reduced.outcome, Outcome::Open);
  EXPECT_EQ(reduced.state.left, (List{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(reduced.cases.forced(), List());
}

TEST(CaseCandidates, TheOnlyOneOfANodeIsForced) {
  const place::Problem problem = chain_problem();
  const Reduced reduced(problem, {0, 2, 4, 5});
  EXPECT_EQ(reduced.outcome, Outcome::Open);
  EXPECT_EQ(reduced.cases.forced(), (List{0, 4}));
}

TEST(CaseCandidates, ANodeThatNothingCoversLeavesNoSolution) {
  const place::Problem problem = chain_problem();
  EXPECT_EQ(Reduced(problem, {0, 1, 3}).outcome, Outcome::Empty);
}

TEST(CaseCandidates, WhatOverlapsAForcedOneGoes) {
  place::Sketch sketch(3, {{0, 1}, {1, 2}});
  sketch.add({0}, 1);
  sketch.add({0, 1}, 1);
  sketch.add({1}, 1);
  sketch.add({1, 2}, 1);
  // {1, 2} is the only one of node 2; then {0} is that of 0.
  const Reduced reduced(sketch.problem, {0, 1, 2, 3});
  EXPECT_EQ(reduced.outcome, Outcome::Decided);
  EXPECT_EQ(reduced.state.left, (List{0, 3}));
  EXPECT_EQ(Reduced(sketch.problem, {1, 3}).outcome, Outcome::Empty);
}

TEST(CaseCandidates, WhatExceedsACountBesideForcedOnesGoes) {
  place::Problem problem = chain_problem();
  problem.owners[1].max_partitions = 1;
  const Reduced reduced(problem, {0, 2, 4, 5});
  EXPECT_EQ(reduced.outcome, Outcome::Decided);
  EXPECT_EQ(reduced.cases.forced(), (List{0, 2, 4}));
  EXPECT_EQ(Reduced(problem, {3, 4, 2, 5}).outcome, Outcome::Empty);
}

TEST(CaseCandidates, WhatConflictsWithForcedOnesGoes) {
  place::Problem problem = chain_problem();
  problem.owners[1].conflicts = {0};
  const Reduced reduced(problem, {0, 1, 2, 4, 5});
  EXPECT_EQ(reduced.outcome, Outcome::Decided);
  EXPECT_EQ(reduced.cases.forced(), (List{0, 1, 2}));
}

TEST(CaseCandidates, WhatNeedsMoreMemoryThanForcedOnesLeaveGoes) {
  place::Problem problem = chain_problem();
  problem.constant_bytes = {60, 50};
  problem.candidates[3].constants = {0};
  problem.candidates[4].constants = {1};
  problem.candidates[5].constants = {0};
  problem.owners[1].memory = 100;
  // 3 is forced: 60 of constants. 4 would be 110; 5 has the same constant.
  const Reduced reduced(problem, {1, 2, 3, 4, 5});
  EXPECT_EQ(reduced.outcome, Outcome::Open);
  EXPECT_EQ(reduced.state.left, (List{1, 2, 3, 5}));
  EXPECT_TRUE(reduced.cases.room_for_constants(reduced.state, reduced.limits.instance_of(OwnerId(1))) == 100);
}

TEST(CaseCandidates, BytesThatTheCaseDemandsAreNoRoomForConstants) {
  place::Problem problem = chain_problem();
  problem.constant_bytes = {60};
  problem.candidates[3].constants = {0};
  problem.owners[1].memory = 100;
  EXPECT_EQ(Reduced(problem, {1, 2, 3}, 40).outcome, Outcome::Decided);
  EXPECT_EQ(Reduced(problem, {1, 2, 3}, 41).outcome, Outcome::Empty);
}

TEST(CaseCandidates, ForcedOnesThatWaitForEachOtherLeaveNoSolution) {
  place::Sketch sketch(4, {{0, 2}, {1, 3}, {0, 3}, {1, 2}});
  sketch.add({0, 2}, 1);
  sketch.add({1, 3}, 1);
  EXPECT_EQ(Reduced(sketch.problem, {0, 1}).outcome, Outcome::Empty);
}

}  // namespace
}  // namespace collage::certificate
