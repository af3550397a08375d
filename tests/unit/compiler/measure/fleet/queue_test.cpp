// SPDX-License-Identifier: Apache-2.0
// The queue of candidates: each is claimed and measured once, whoever dies when.
#include "compiler/measure/fleet/queue.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "tests/unit/compiler/measure/fleet/fleet_server.h"

namespace collage::measure::fleet {
namespace {

void pause(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

TEST(Need, IsTheEnvironmentWithoutWhatTheJobSays) {
  EXPECT_EQ(need_of("cpu A features b\ncollage 1 program 0\nthreads 4\nnumerics f32\ncode for x\nhost"),
            "cpu A features b\ncollage 1 program 0\nhost");
  EXPECT_EQ(need_of("exec sh costs.sh 0123\nboard version 1"), "exec sh costs.sh 0123\nboard version 1");
}

class FleetQueue : public FleetServer {
 protected:
  int64_t put_one(const Wanted& one) { return put_one(one, asker_); }
  int64_t put_one(const Wanted& one, Asker& asker) {
    const auto ids = queue_->put({one}, &asker);
    EXPECT_TRUE(ids) << ids.message();
    return ids ? ids->at(0) : 0;
  }
  std::optional<Job> claim(int64_t worker, const Wanted& one, double lease = 15) {
    const auto needs = queue_->need_ids({need_of(one.environment)});
    EXPECT_TRUE(needs) << needs.message();
    const auto job = queue_->claim(*needs, worker, lease);
    EXPECT_TRUE(job) << job.message();
    return job ? *job : std::nullopt;
  }
  JobState look(int64_t job, const Wanted& one) { return look(job, one, asker_); }
  JobState look(int64_t job, const Wanted& one, const Asker& asker) {
    const auto state = queue_->look(job, one, asker);
    EXPECT_TRUE(state) << state.message();
    return state ? *state : JobState();
  }
  Begun begin(Job& job, int64_t worker) {
    const auto begun = queue_->begin(&job, worker);
    EXPECT_TRUE(begun) << begun.message();
    return begun ? *begun : Begun{Begun::Kind::LeaseLost};
  }
  Finished finish(const Job& job, int64_t worker, Measurement measured) {
    const auto finished = queue_->finish(job, worker, 0.1, &measured);
    EXPECT_TRUE(finished) << finished.message();
    return finished ? *finished : Finished::Stored;
  }
};

TEST_F(FleetQueue, EachJobIsMeasuredOnceByManyWorkers) {
  constexpr size_t kJobs = 2000, kThreads = 8;
  std::vector<Wanted> all;
  for (size_t i = 0; i < kJobs; ++i) all.push_back(wanted(fmt::format("candidate {}", i)));
  for (size_t first = 0; first < kJobs; first += 250) {
    const auto begin = all.begin() + static_cast<ptrdiff_t>(first);
    ASSERT_TRUE(queue_->put({begin, begin + 250}, &asker_));
  }
  std::vector<std::vector<int64_t>> claimed(kThreads);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const auto connection = connect();
      Queue queue(*connection);
      const int64_t worker = announce(queue, fmt::format("w{}", t), all[0]);
      const auto needs = queue.need_ids({need_of(all[0].environment)});
      ASSERT_TRUE(needs);
      while (true) {
        const auto job = queue.claim(*needs, worker, 15);
        ASSERT_TRUE(job) << job.message();
        if (!*job) return;
        claimed[t].push_back((*job)->id);
        Measurement measured = measured_as(1000 + (*job)->id);
        const auto finished = queue.finish(**job, worker, 0.01, &measured);
        ASSERT_TRUE(finished) << finished.message();
        EXPECT_EQ(*finished, Finished::Stored);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<int64_t> distinct;
  size_t sum = 0;
  for (const auto& one : claimed) {
    sum += one.size();
    distinct.insert(one.begin(), one.end());
  }
  EXPECT_EQ(sum, kJobs);
  EXPECT_EQ(distinct.size(), kJobs);
  EXPECT_EQ(count("SELECT count(*) FROM collage.job"), 0);
  EXPECT_EQ(count("SELECT count(*) FROM collage.measurement"), static_cast<int64_t>(kJobs));
  EXPECT_EQ(count("SELECT count(*) FROM collage.measured_by"), static_cast<int64_t>(kJobs));
}

TEST_F(FleetQueue, CompilersThatPutTheSameShareTheJobs) {
  constexpr size_t kThreads = 6, kJobs = 100;
  std::vector<std::vector<int64_t>> ids(kThreads);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::vector<Wanted> all;  // each in an order of its own
      for (size_t i = 0; i < kJobs; ++i) all.push_back(wanted(fmt::format("candidate {}", (i * 7 + t * 13) % kJobs)));
      const auto connection = connect();
      Asker own = asker(fmt::format("compiler {}", t));
      const auto put = Queue(*connection).put(all, &own);
      ASSERT_TRUE(put) << put.message();
      ids[t] = *put;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (auto& one : ids) {
    std::sort(one.begin(), one.end());
    EXPECT_EQ(one, ids[0]);
  }
  EXPECT_EQ(count("SELECT count(*) FROM collage.job"), static_cast<int64_t>(kJobs));
}

TEST_F(FleetQueue, WorkersAreNotified) {
  ASSERT_TRUE(connection_->listen(kJobsChannel));
  ASSERT_TRUE(connection_->listen(kResultsChannel));
  const Wanted one = wanted("a");
  const int64_t id = put_one(one);
  auto came = connection_->wait(5);
  ASSERT_TRUE(came && *came);
  EXPECT_EQ((*came)->channel, kJobsChannel);
  // Who puts it again tells nobody.
  EXPECT_EQ(put_one(one), id);
  const int64_t worker = announce(*queue_, "w", one);
  const std::optional<Job> job = claim(worker, one);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->wanted.candidate, "a");
  EXPECT_EQ(job->wanted.environment, one.environment);
  EXPECT_EQ(finish(*job, worker, measured_as(77)), Finished::Stored);
  came = connection_->wait(5);
  ASSERT_TRUE(came && *came);
  EXPECT_EQ((*came)->channel, kResultsChannel);
  EXPECT_EQ((*came)->payload, std::to_string(id));
  const JobState state = look(id, one);
  EXPECT_EQ(state.kind, JobState::Kind::Known);
  EXPECT_EQ(state.measurement.cost, Duration::picoseconds(77));
  EXPECT_GT(state.measurement.date, 0);
}

TEST_F(FleetQueue, OnlyTheirNeedsAreClaimed) {
  const Wanted one = wanted("a");
  put_one(one);
  Wanted other = one;
  other.environment = "cpu B features c\ncollage 1 program 0 llvm 19\nthreads 1\nhost";
  const int64_t worker = announce(*queue_, "w", other);
  EXPECT_FALSE(claim(worker, other));
  EXPECT_TRUE(claim(worker, one));
}

TEST_F(FleetQueue, TheLeaseOfADeadWorkerEnds) {
  const Wanted one = wanted("a");
  const int64_t id = put_one(one);
  const int64_t dead = announce(*queue_, "dead", one), other = announce(*queue_, "other", one);
  const std::optional<Job> first = claim(dead, one, 0.1);
  ASSERT_TRUE(first);
  EXPECT_FALSE(claim(other, one));
  auto next = queue_->reap();
  ASSERT_TRUE(next && *next);
  EXPECT_LE(**next, 0.1);
  pause(0.15);
  next = queue_->reap();
  ASSERT_TRUE(next);
  EXPECT_FALSE(*next);
  const std::optional<Job> second = claim(other, one);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->id, id);
  EXPECT_EQ(second->attempt, 2);
  // The dead one was only slow: it is too late.
  const auto extended = queue_->extend(*first, dead, 15);
  ASSERT_TRUE(extended);
  EXPECT_FALSE(*extended);
  EXPECT_EQ(finish(*first, dead, measured_as(5)), Finished::LeaseLost);
  EXPECT_EQ(look(id, one).kind, JobState::Kind::Pending);
  EXPECT_EQ(finish(*second, other, measured_as(6)), Finished::Stored);
  EXPECT_EQ(look(id, one).measurement.cost, Duration::picoseconds(6));
  EXPECT_EQ(count("SELECT count(*) FROM collage.measured_by"), 1);
}

TEST_F(FleetQueue, ALeaseThatIsExtendedDoesNotEnd) {
  const Wanted one = wanted("a");
  put_one(one);
  const int64_t worker = announce(*queue_, "w", one);
  const std::optional<Job> job = claim(worker, one, 0.1);
  ASSERT_TRUE(job);
  const auto extended = queue_->extend(*job, worker, 15);
  ASSERT_TRUE(extended && *extended);
  pause(0.15);
  ASSERT_TRUE(queue_->reap());
  EXPECT_EQ(finish(*job, worker, measured_as(5)), Finished::Stored);
}

TEST_F(FleetQueue, AttemptsAreBounded) {
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

TEST_F(FleetQueue, AFailureThatDoesNotLastIsTriedOnceMore) {
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
TEST_F(FleetQueue, WhatFailedForNowWaitsBehindTheOthers) {
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

TEST_F(FleetQueue, AFailureOfTheCandidateIsItsResult) {
  const Wanted one = wanted("a");
  const int64_t id = put_one(one);
  const int64_t worker = announce(*queue_, "w", one);
  const std::optional<Job> job = claim(worker, one);
  ASSERT_TRUE(job);
  EXPECT_EQ(finish(*job, worker, failed_measurement("rank 7")), Finished::Stored);
  EXPECT_EQ(look(id, one).measurement.failure, "rank 7");
}

TEST_F(FleetQueue, WhatBecameKnownIsNotMeasured) {
  const Wanted one = wanted("a");
  const int64_t id = put_one(one);
  const int64_t worker = announce(*queue_, "w", one);
  database_->store(one.environment, one.candidate, measured_as(9));
  std::optional<Job> job = claim(worker, one);
  ASSERT_TRUE(job);
  const Begun begun = begin(*job, worker);
  EXPECT_EQ(begun.kind, Begun::Kind::Known);
  EXPECT_EQ(begun.measurement.cost, Duration::picoseconds(9));
  EXPECT_EQ(look(id, one).kind, JobState::Kind::Known);
  EXPECT_EQ(count("SELECT count(*) FROM collage.job"), 0);
}

TEST_F(FleetQueue, WhatSaysTooLittleIsMeasuredAgain) {
  Wanted late = wanted("late", 20), disturbed = wanted("disturbed");
  disturbed.repeats = true;
  Measurement too_late = failed_measurement("it took more than 10 s");
  too_late.timeout = Duration::seconds(10);
  Measurement noisy = measured_as(9);
  noisy.disturbance = "noise";
  noisy.date = 1000;  // long ago
  database_->store(late.environment, late.candidate, too_late);
  database_->store(disturbed.environment, disturbed.candidate, noisy);
  const int64_t worker = announce(*queue_, "w", late);
  for (const Wanted& one : {late, disturbed}) {
    put_one(one);
    std::optional<Job> job = claim(worker, one);
    ASSERT_TRUE(job);
    EXPECT_EQ(begin(*job, worker).kind, Begun::Kind::ToMeasure) << one.candidate;
    EXPECT_EQ(finish(*job, worker, measured_as(8)), Finished::Stored);
    EXPECT_EQ(database_->find(one.environment, one.candidate)->cost, Duration::picoseconds(8));
  }
}

TEST_F(FleetQueue, AWorkerThatLeavesGivesItsLeaseBack) {
  const Wanted one = wanted("a");
  put_one(one);
  const int64_t first = announce(*queue_, "first", one), second = announce(*queue_, "second", one);
  ASSERT_TRUE(claim(first, one));
  const auto needs = queue_->need_ids({need_of(one.environment)});
  auto live = queue_->live_workers(*needs);
  ASSERT_TRUE(live);
  EXPECT_EQ(live->at(needs->at(0)), 2u);
  ASSERT_TRUE(queue_->leave(first));
  live = queue_->live_workers(*needs);
  ASSERT_TRUE(live);
  EXPECT_EQ(live->at(needs->at(0)), 1u);
  const std::optional<Job> job = claim(second, one);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->attempt, 1);
}

// --- who waits ---

/// The one of a measuring process that had so many seconds.
Measurement took_too_long(double seconds) {
  Measurement late = failed_measurement(fmt::format("it took more than {:g} s", seconds));
  late.timeout = Duration::seconds(seconds);
  return late;
}

TEST_F(FleetQueue, IsMeasuredWithTheMostTimeThatSomebodyAllows) {
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

TEST_F(FleetQueue, AShortTimeoutIsAFailureOnlyForThoseWhoAskedForIt) {
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

TEST_F(FleetQueue, ATimeoutThatIsLongEnoughForAllEndsTheJob) {
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
TEST_F(FleetQueue, WhatIsGoneIsPutAgain) {
  const Wanted one = wanted("a", 60);
  const int64_t id = put_one(one);
  ASSERT_EQ(PostgresCluster::run(address_, "DELETE FROM collage.job"), "");
  EXPECT_EQ(look(id, one).kind, JobState::Kind::Gone);
  database_->store(one.environment, one.candidate, took_too_long(10));
  EXPECT_EQ(look(id, one).kind, JobState::Kind::Gone);
  EXPECT_EQ(look(id, wanted("a", 10)).kind, JobState::Kind::Known);
}

TEST_F(FleetQueue, WhatNobodyWaitsForIsRemoved) {
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

TEST_F(FleetQueue, WhoRenewsIsNotGone) {
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

TEST_F(FleetQueue, WhoWithdrawsTakesItsJobsWithIt) {
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

TEST_F(FleetQueue, WhatNobodyWaitsForIsNotMeasured) {
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
TEST_F(FleetQueue, WhatNobodyWaitsForIsNotTriedAgain) {
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

// --- who failed ---

TEST_F(FleetQueue, ABrokenWorkerLeavesTheJobToAnother) {
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

TEST_F(FleetQueue, TwoWorkersThatFailGiveAJobUp) {
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

TEST_F(FleetQueue, ALostLeaseIsTheWorkersAsLongAsAnotherIsThere) {
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

/// A compiler that can measure tries what the workers have failed, and is one of two that have to fail.
TEST_F(FleetQueue, ACompilerThatMeasuresTriesWhatWorkersFailed) {
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

TEST_F(FleetQueue, AClaimReadsAnIndexAndNotTheTable) {
  const auto needs = queue_->need_ids({need_of(wanted("a").environment)});
  put_one(wanted("a"));
  ASSERT_EQ(PostgresCluster::run(address_,
                                 "INSERT INTO collage.job(need, environment, candidate, timeout_ps, repeats, asked) "
                                 "SELECT need, environment, 'more ' || n, timeout_ps, repeats, asked "
                                 "FROM collage.job, generate_series(1, 20000) AS n; ANALYZE collage.job"),
            "");
  std::string statement = Queue::claim_statement();
  for (const auto& [parameter, value] :
       {std::pair<std::string, std::string>{"$1", fmt::format("'{{{}}}'", needs->at(0))}, {"$2", "1"}, {"$3", "15"}}) {
    for (size_t at = statement.find(parameter); at != std::string::npos; at = statement.find(parameter)) {
      statement.replace(at, parameter.size(), value);
    }
  }
  const auto plan = connection_->execute("EXPLAIN " + statement);
  ASSERT_TRUE(plan) << plan.message();
  std::string text;
  for (size_t row = 0; row < (*plan)->size(); ++row) text += std::string((*plan)->text(row, 0)) + "\n";
  EXPECT_NE(text.find("Index Scan using job_waiting"), std::string::npos) << text;
  EXPECT_EQ(text.find("Seq Scan on job"), std::string::npos) << text;
  EXPECT_EQ(text.find("Sort"), std::string::npos) << text;
}

}  // namespace
}  // namespace collage::measure::fleet
