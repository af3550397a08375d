// SPDX-License-Identifier: Apache-2.0
// Who failed a job of the queue: another worker tries next, and attempts are bounded.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/compiler/measure/fleet/fleet_queue.h"

namespace collage::measure::fleet {
namespace {

using QueueFailures = FleetQueue;

TEST_F(QueueFailures, AttemptsAreBounded) {
  const Wanted one = wanted("a");
  const int64_t id = put_one(one);
  const int64_t worker = announce(*queue_, "frail", one);
  for (int attempt = 1; attempt <= kMostAttempts; ++attempt) {
    const std::optional<Job> job = claim(worker, one, 0.01);
    ASSERT_TRUE(job) << attempt;
    EXPECT_EQ(job->attempt, attempt);
    pause(0.03);
    ASSERT_TRUE(queue_->reap());
  }
  EXPECT_FALSE(claim(worker, one));
  const JobState state = look(id, one);
  EXPECT_EQ(state.kind, JobState::Kind::GivenUp);
  EXPECT_EQ(state.measurement.failure,
            fmt::format("its lease ended {} times, the last time at worker `frail`", kMostAttempts));
  EXPECT_FALSE(state.measurement.lasting);
  // Nothing is said of the candidate, and who asks again has it tried again.
  EXPECT_FALSE(database_->find(one.environment, one.candidate));
  EXPECT_EQ(put_one(one), id);
  const std::optional<Job> again = claim(worker, one);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->attempt, 1);
}

TEST_F(QueueFailures, AFailureThatDoesNotLastIsTriedOnceMore) {
  const Wanted one = wanted("a");
  const int64_t id = put_one(one);
  const int64_t worker = announce(*queue_, "w", one);
  Measurement failed = failed_measurement("no memory for it");
  ASSERT_FALSE(failed.lasting);
  std::optional<Job> job = claim(worker, one);
  ASSERT_TRUE(job);
  EXPECT_EQ(finish(*job, worker, failed), Finished::Waits);
  job = claim(worker, one);
  ASSERT_TRUE(job);
  failed.crashed = true;
  EXPECT_EQ(finish(*job, worker, failed), Finished::GivenUp);
  const JobState state = look(id, one);
  EXPECT_EQ(state.kind, JobState::Kind::GivenUp);
  EXPECT_EQ(state.measurement.failure, "no memory for it");
  EXPECT_TRUE(state.measurement.crashed);
  EXPECT_EQ(count("SELECT count(*) FROM collage.measurement"), 0);
}

/// A worker where everything fails does not get the same job again while others wait.
TEST_F(QueueFailures, WhatFailedForNowWaitsBehindTheOthers) {
  const Wanted one = wanted("a"), other = wanted("b");
  put_one(one);
  put_one(other);
  const int64_t worker = announce(*queue_, "w", one);
  Measurement failed = failed_measurement("no memory for it");
  failed.lasting = false;
  std::optional<Job> job = claim(worker, one);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->wanted.candidate, one.candidate);
  EXPECT_EQ(finish(*job, worker, failed), Finished::Waits);
  job = claim(worker, one);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->wanted.candidate, other.candidate);
}

TEST_F(QueueFailures, AFailureOfTheCandidateIsItsResult) {
  const Wanted one = wanted("a");
  const int64_t id = put_one(one);
  const int64_t worker = announce(*queue_, "w", one);
  const std::optional<Job> job = claim(worker, one);
  ASSERT_TRUE(job);
  EXPECT_EQ(finish(*job, worker, failed_measurement("rank 7")), Finished::Stored);
  EXPECT_EQ(look(id, one).measurement.failure, "rank 7");
}

TEST_F(QueueFailures, ABrokenWorkerLeavesTheJobToAnother) {
  const Wanted one = wanted("a");
  const int64_t id = put_one(one);
  const int64_t broken = announce(*queue_, "broken", one), good = announce(*queue_, "good", one);
  const Measurement failed = failed_measurement("no memory for it");
  std::optional<Job> job = claim(broken, one);
  ASSERT_TRUE(job);
  EXPECT_EQ(finish(*job, broken, failed), Finished::Waits);
  // Nor does it get it by a start under the same name.
  const int64_t restarted = announce(*queue_, "broken", one);
  const auto needs = queue_->need_ids({need_of(one.environment)});
  for (const int64_t worker : {broken, restarted}) {
    EXPECT_FALSE(claim(worker, one));
    EXPECT_FALSE(*queue_->has_waiting(*needs, worker));
  }
  EXPECT_TRUE(*queue_->has_waiting(*needs, good));
  job = claim(good, one);
  ASSERT_TRUE(job);
  EXPECT_EQ(finish(*job, good, measured_as(5)), Finished::Stored);
  EXPECT_EQ(look(id, one).measurement.cost, Duration::picoseconds(5));
  EXPECT_EQ(count("SELECT count(*) FROM collage.failed_by"), 0);
}

TEST_F(QueueFailures, TwoWorkersThatFailGiveAJobUp) {
  const Wanted one = wanted("a");
  const int64_t id = put_one(one);
  const int64_t first = announce(*queue_, "first", one), second = announce(*queue_, "second", one);
  announce(*queue_, "third", one);
  std::optional<Job> job = claim(first, one);
  ASSERT_TRUE(job);
  EXPECT_EQ(finish(*job, first, failed_measurement("no memory for it")), Finished::Waits);
  job = claim(second, one);
  ASSERT_TRUE(job);
  EXPECT_EQ(finish(*job, second, failed_measurement("out of memory")), Finished::GivenUp);
  EXPECT_EQ(look(id, one).measurement.failure, "out of memory");
  // Who asks again has all of them try again.
  EXPECT_EQ(put_one(one), id);
  EXPECT_TRUE(claim(first, one));
}

TEST_F(QueueFailures, ALostLeaseIsTheWorkersAsLongAsAnotherIsThere) {
  const Wanted one = wanted("a");
  put_one(one);
  const int64_t frail = announce(*queue_, "frail", one), good = announce(*queue_, "good", one);
  ASSERT_TRUE(claim(frail, one, 0.05));
  pause(0.1);
  ASSERT_TRUE(queue_->reap());
  EXPECT_FALSE(claim(frail, one));
  ASSERT_TRUE(queue_->leave(good));
  EXPECT_TRUE(claim(frail, one)) << "it is the only one now";
}

TEST_F(QueueFailures, AWithheldNeedHasNoWorkerButIsKnown) {
  const Wanted one = wanted("a");
  const int64_t worker = announce(*queue_, "failing", one);
  const auto needs = queue_->need_ids({need_of(one.environment)});
  ASSERT_TRUE(needs);
  EXPECT_FALSE(*queue_->is_withheld(needs->front()));
  ASSERT_TRUE(queue_->withhold(worker, *needs, true));
  EXPECT_TRUE(*queue_->is_withheld(needs->front()));
  EXPECT_EQ(queue_->live_workers(*needs)->at(needs->front()), 0u);
  ASSERT_TRUE(queue_->leave(worker));
  EXPECT_FALSE(*queue_->is_withheld(needs->front())) << "it is gone";
}

/// A compiler that can measure tries what the workers have failed, and is one of two that have to fail.
TEST_F(QueueFailures, ACompilerThatMeasuresTriesWhatWorkersFailed) {
  const Wanted one = wanted("a");
  asker_.measures = true;
  const int64_t id = put_one(one);
  const int64_t broken = announce(*queue_, "broken", one);
  std::optional<Job> job = claim(broken, one);
  ASSERT_TRUE(job);
  EXPECT_TRUE(queue_->left_by_workers({id}, asker_)->empty());
  EXPECT_EQ(finish(*job, broken, failed_measurement("no memory for it")), Finished::Waits);
  EXPECT_FALSE(claim(broken, one));
  EXPECT_EQ(*queue_->left_by_workers({id}, asker_), std::vector<int64_t>{id});
  Announcement own;
  own.name = asker_.name;
  own.host = asker_.host;
  const auto here = queue_->announce(own, 15);
  ASSERT_TRUE(here);
  const auto claimed = queue_->claim_of({id}, *here, 15);
  ASSERT_TRUE(claimed && *claimed);
  EXPECT_EQ(finish(**claimed, *here, failed_measurement("no memory here either")), Finished::GivenUp);
}

}  // namespace
}  // namespace collage::measure::fleet
