// SPDX-License-Identifier: Apache-2.0
// Who waits for jobs of the queue: the most time that anyone allows counts, and what nobody waits for is removed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/compiler/measure/fleet/fleet_queue.h"

namespace collage::measure::fleet {
namespace {

using QueueAskers = FleetQueue;

/// The failure of a measuring process that had so many seconds.
Measurement took_too_long(double seconds) {
  Measurement late = failed_measurement(fmt::format("it took more than {:g} s", seconds));
  late.timeout = Duration::seconds(seconds);
  return late;
}

TEST_F(QueueAskers, IsMeasuredWithTheMostTimeThatSomebodyAllows) {
  Asker patient = asker("patient");
  Wanted short_one = wanted("a", 10), long_one = wanted("a", 60);
  long_one.repeats = true;
  const int64_t id = put_one(short_one);
  const int64_t worker = announce(*queue_, "w", short_one);
  std::optional<Job> job = claim(worker, short_one);
  ASSERT_TRUE(job);
  // Between the claim and the measurement.
  EXPECT_EQ(put_one(long_one, patient), id);
  EXPECT_EQ(begin(*job, worker).kind, Begun::Kind::ToMeasure);
  EXPECT_EQ(job->wanted.timeout, Duration::seconds(60));
  EXPECT_TRUE(job->wanted.repeats);
  // Who asked for more is gone: less is asked for again.
  ASSERT_TRUE(queue_->withdraw(patient));
  EXPECT_EQ(begin(*job, worker).kind, Begun::Kind::ToMeasure);
  EXPECT_EQ(job->wanted.timeout, Duration::seconds(10));
  EXPECT_FALSE(job->wanted.repeats);
}

TEST_F(QueueAskers, AShortTimeoutIsAFailureOnlyForThoseWhoAskedForIt) {
  Asker patient = asker("patient");
  const Wanted short_one = wanted("a", 10), long_one = wanted("a", 60);
  const int64_t id = put_one(short_one);
  const int64_t worker = announce(*queue_, "w", short_one);
  std::optional<Job> job = claim(worker, short_one);
  ASSERT_TRUE(job);
  EXPECT_EQ(begin(*job, worker).kind, Begun::Kind::ToMeasure);
  EXPECT_EQ(job->wanted.timeout, Duration::seconds(10));
  // While it is measured.
  EXPECT_EQ(put_one(long_one, patient), id);
  EXPECT_EQ(finish(*job, worker, took_too_long(10)), Finished::StoredForSome);
  EXPECT_EQ(*queue_->ended({id}, asker_), std::vector<int64_t>{id});
  EXPECT_TRUE(queue_->ended({id}, patient)->empty());
  const JobState state = look(id, short_one);
  EXPECT_EQ(state.kind, JobState::Kind::Known);
  EXPECT_EQ(state.measurement.failure, "it took more than 10 s");
  EXPECT_EQ(look(id, long_one, patient).kind, JobState::Kind::Pending);
  job = claim(worker, long_one);
  ASSERT_TRUE(job);
  EXPECT_EQ(begin(*job, worker).kind, Begun::Kind::ToMeasure);
  EXPECT_EQ(job->wanted.timeout, Duration::seconds(60));
  EXPECT_EQ(finish(*job, worker, measured_as(77)), Finished::Stored);
  EXPECT_EQ(look(id, long_one, patient).measurement.cost, Duration::picoseconds(77));
  EXPECT_EQ(database_->find(long_one.environment, long_one.candidate)->cost, Duration::picoseconds(77));
  EXPECT_EQ(count("SELECT count(*) FROM collage.job"), 0);
}

TEST_F(QueueAskers, ATimeoutThatIsLongEnoughForAllEndsTheJob) {
  Asker other = asker("other");
  const int64_t id = put_one(wanted("a", 60));
  EXPECT_EQ(put_one(wanted("a", 10), other), id);
  const int64_t worker = announce(*queue_, "w", wanted("a"));
  std::optional<Job> job = claim(worker, wanted("a"));
  ASSERT_TRUE(job);
  EXPECT_EQ(begin(*job, worker).kind, Begun::Kind::ToMeasure);
  EXPECT_EQ(finish(*job, worker, took_too_long(60)), Finished::Stored);
  EXPECT_EQ(look(id, wanted("a", 60)).kind, JobState::Kind::Known);
  EXPECT_EQ(look(id, wanted("a", 10), other).kind, JobState::Kind::Known);
  EXPECT_EQ(count("SELECT count(*) FROM collage.job"), 0);
  EXPECT_EQ(count("SELECT count(*) FROM collage.asked_for"), 0);
}

/// A failure by less time, of somebody who measured without the queue, is no answer.
TEST_F(QueueAskers, WhatIsGoneIsPutAgain) {
  const Wanted one = wanted("a", 60);
  const int64_t id = put_one(one);
  ASSERT_EQ(PostgresCluster::run(address_, "DELETE FROM collage.job"), "");
  EXPECT_EQ(look(id, one).kind, JobState::Kind::Gone);
  database_->store(one.environment, one.candidate, took_too_long(10));
  EXPECT_EQ(look(id, one).kind, JobState::Kind::Gone);
  EXPECT_EQ(look(id, wanted("a", 10)).kind, JobState::Kind::Known);
}

TEST_F(QueueAskers, WhatNobodyWaitsForIsRemoved) {
  Asker dead = asker("dead", 0.1);
  const Wanted both = wanted("both"), own = wanted("own");
  const int64_t shared = put_one(both, dead);
  put_one(own, dead);
  EXPECT_EQ(put_one(both), shared);
  pause(0.15);
  ASSERT_TRUE(queue_->reap());
  EXPECT_EQ(count("SELECT count(*) FROM collage.asker"), 1);
  EXPECT_EQ(count("SELECT count(*) FROM collage.job"), 1);
  EXPECT_EQ(look(shared, both).kind, JobState::Kind::Pending);
  // It was only slow: it has to ask again, and gets another id.
  const auto is_known = queue_->renew(dead);
  ASSERT_TRUE(is_known);
  EXPECT_FALSE(*is_known);
  EXPECT_EQ(look(shared, both, dead).kind, JobState::Kind::Gone);
  const int64_t old = dead.id;
  EXPECT_EQ(put_one(both, dead), shared);
  EXPECT_NE(dead.id, old);
  EXPECT_EQ(look(shared, both, dead).kind, JobState::Kind::Pending);
}

TEST_F(QueueAskers, WhoRenewsIsNotGone) {
  asker_.lease_seconds = 0.2;
  put_one(wanted("a"));
  for (int i = 0; i < 4; ++i) {
    pause(0.1);
    const auto is_known = queue_->renew(asker_);
    ASSERT_TRUE(is_known && *is_known);
    ASSERT_TRUE(queue_->reap());
  }
  EXPECT_EQ(count("SELECT count(*) FROM collage.job"), 1);
}

TEST_F(QueueAskers, WhoWithdrawsTakesItsJobsWithIt) {
  Asker other = asker("other");
  put_one(wanted("a"));
  put_one(wanted("b"));
  put_one(wanted("b"), other);
  ASSERT_TRUE(queue_->withdraw(asker_));
  EXPECT_EQ(count("SELECT count(*) FROM collage.job"), 1);
  ASSERT_TRUE(queue_->withdraw(other));
  EXPECT_EQ(count("SELECT count(*) FROM collage.job"), 0);
  EXPECT_EQ(count("SELECT count(*) FROM collage.asker"), 0);
}

TEST_F(QueueAskers, WhatNobodyWaitsForIsNotMeasured) {
  Asker dead = asker("dead", 0.1);
  const Wanted one = wanted("a");
  put_one(one, dead);
  const int64_t worker = announce(*queue_, "w", one);
  std::optional<Job> job = claim(worker, one);
  ASSERT_TRUE(job);
  pause(0.15);
  EXPECT_EQ(begin(*job, worker).kind, Begun::Kind::Unwanted);
  EXPECT_EQ(count("SELECT count(*) FROM collage.job"), 0);
}

/// What is measured just now ends as ever, but is not tried again.
TEST_F(QueueAskers, WhatNobodyWaitsForIsNotTriedAgain) {
  Asker gone = asker("gone");
  for (const char* name : {"failed", "left", "lost"}) put_one(wanted(name), gone);
  const int64_t worker = announce(*queue_, "w", wanted("a")), other = announce(*queue_, "other", wanted("a"));
  const std::optional<Job> failed = claim(worker, wanted("a")), left = claim(other, wanted("a")),
                           lost = claim(worker, wanted("a"), 0.1);
  ASSERT_TRUE(failed && left && lost);
  ASSERT_TRUE(queue_->withdraw(gone));
  EXPECT_EQ(count("SELECT count(*) FROM collage.job"), 3);
  EXPECT_EQ(finish(*failed, worker, failed_measurement("no memory for it")), Finished::Waits);
  EXPECT_EQ(count("SELECT count(*) FROM collage.job"), 2);
  ASSERT_TRUE(queue_->leave(other));
  EXPECT_EQ(count("SELECT count(*) FROM collage.job"), 1);
  pause(0.15);
  ASSERT_TRUE(queue_->reap());
  EXPECT_EQ(count("SELECT count(*) FROM collage.job"), 0);
}

}  // namespace
}  // namespace collage::measure::fleet
