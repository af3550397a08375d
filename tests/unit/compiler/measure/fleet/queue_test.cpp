// SPDX-License-Identifier: Apache-2.0
// The queue of candidates: each is claimed and measured once, whoever dies when.
#include "compiler/measure/fleet/queue.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

#include "tests/unit/compiler/measure/fleet/fleet_queue.h"

namespace collage::measure::fleet {
namespace {

TEST(Need, IsTheEnvironmentWithoutWhatTheJobSays) {
  EXPECT_EQ(need_of("cpu A features b\ncollage 1 program 0\nthreads 4\nnumerics f32\ncode for x\nhost"),
            "cpu A features b\ncollage 1 program 0\nhost");
  EXPECT_EQ(need_of("exec sh costs.sh 0123\nboard version 1"), "exec sh costs.sh 0123\nboard version 1");
}

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

TEST_F(FleetQueue, ProgramsOfOtherVersionsEnd) {
  put_one(wanted("a"));
  const int64_t worker = announce(*queue_, "old", wanted("a"));
  ASSERT_TRUE(queue_->beat(worker, ""));
  ASSERT_EQ(PostgresCluster::run(address_, "INSERT INTO collage.version(version) VALUES (99)"), "");
  const auto beats = queue_->beat(worker, "");
  ASSERT_FALSE(beats);
  EXPECT_NE(beats.message().find("they have version 99, this program needs"), std::string::npos) << beats.message();
  EXPECT_EQ(connection_->failure(), postgres::Failure::Lasting);
  EXPECT_FALSE(queue_->renew(asker_));
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
