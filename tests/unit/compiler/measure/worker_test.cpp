// SPDX-License-Identifier: Apache-2.0
// What the compiler makes of measuring processes that die, hang, talk nonsense or are not there; and of a good one.
#include "compiler/measure/worker.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "compiler/measure/channel.h"
#include "compiler/measure/plan_text.h"
#include "compiler/measure/time_candidate.h"
#include "compiler/measure/time_plans.h"
#include "runtime/pool/pool.h"

namespace collage::measure {
namespace {

/// A process that says that it is ready and then does this.
WorkerOptions ready_then(const std::string& command, double timeout = 10) {
  return {"/bin/sh", {"-c", "printf '\\0\\0\\0\\0' >&3; " + command}, timeout};
}

Measurement measure_with(WorkerOptions options) {
  Worker worker(std::move(options));
  return worker.measure("candidate");
}

TEST(Worker, DeathIsTheCandidatesFailure) {
  Measurement dead = measure_with(ready_then("kill -SEGV $$"));
  EXPECT_TRUE(dead.failed());
  EXPECT_TRUE(dead.lasting);
  EXPECT_NE(dead.failure.find("died of signal 11"), std::string::npos) << dead.failure;
  // Killed from outside, or by a machine without memory: says nothing of the candidate.
  for (const char* command : {"kill -KILL $$", "kill -ABRT $$", "kill -BUS $$", "exit 1"}) {
    EXPECT_TRUE(measure_with(ready_then(command)).failed()) << command;
    EXPECT_FALSE(measure_with(ready_then(command)).lasting) << command;
  }
}

TEST(Worker, NonsenseDoesNotLast) {
  Measurement nonsense = measure_with(ready_then("printf '\\1\\0\\0\\0x' >&3; exec sleep 60"));
  EXPECT_EQ(nonsense.failure, "the measuring process sent an invalid answer");
  EXPECT_FALSE(nonsense.lasting);
}

TEST(Worker, TimeRunsOut) {
  Measurement late = measure_with(ready_then("exec sleep 60", 0.05));
  EXPECT_EQ(late.failure, "it took more than 0.05 s");
  EXPECT_EQ(late.timeout, Duration::seconds(0.05));
}

TEST(Worker, StartingDoesNotCountAgainstTheCandidate) {
  WorkerOptions slow = {
      "/bin/sh", {"-c", "sleep 0.3; printf '\\0\\0\\0\\0\\12\\0\\0\\0ok 7 1 1 0' >&3; exec sleep 60"}, 0.2};
  Measurement measured = measure_with(slow);
  EXPECT_FALSE(measured.failed()) << measured.failure;
  slow.start_seconds = 0.05;
  Measurement late = measure_with(slow);
  EXPECT_EQ(late.failure, "the measuring process was not ready after 0.05 s");
  EXPECT_FALSE(late.lasting);
  EXPECT_EQ(late.timeout, Duration());
}

TEST(Worker, PlansAreTimedTogether) {
  Worker worker(ready_then("printf '\\22\\0\\0\\0ok 7 1 1 0\\nno bad\\n' >&3; exec sleep 60"));
  const std::vector<Measurement> times = worker.time_plans({"one", "two"});
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].cost, Duration::picoseconds(7));
  EXPECT_EQ(times[1].failure, "bad");
  // An answer for another number of plans, a death, and no answer are one failure.
  Worker other(ready_then("printf '\\22\\0\\0\\0ok 7 1 1 0\\nno bad\\n' >&3; exec sleep 60"));
  EXPECT_EQ(other.time_plans({"one", "two", "three"}).at(0).failure, "the measuring process sent an invalid answer");
  Worker dead(ready_then("kill -KILL $$"));
  EXPECT_NE(dead.time_plans({"one"}).at(0).failure.find("signal 9"), std::string::npos);
  Worker late(ready_then("exec sleep 60", 0.05));
  EXPECT_EQ(late.time_plans({"one"}).at(0).failure, "it took more than 0.3 s");
}

TEST(PlansMessage, ReadsBack) {
  const std::vector<std::string> plans = {"one\n", "", "12\nabc"};
  EXPECT_EQ(parse_plans_message(plans_message(plans)), plans);
  EXPECT_FALSE(parse_plans_message("model @candidate() -> () {}"));
  EXPECT_FALSE(parse_plans_message("plans\n5\nabc"));
  EXPECT_FALSE(parse_plans_message("plans\nx"));
  EXPECT_FALSE(parse_plans_message("plans\n99999999999999999999999\nx"));
}

TEST(Worker, AbsentPrograms) {
  Measurement absent = measure_with({"/no/such/program", {}});
  EXPECT_NE(absent.failure.find("cannot be started"), std::string::npos) << absent.failure;
  EXPECT_FALSE(absent.lasting);
}

TEST(Worker, ANewProcessAfterEachDeath) {
  Worker worker(ready_then("kill -SEGV $$"));
  for (int i = 0; i < 5; ++i) {
    EXPECT_NE(worker.measure("candidate").failure.find("signal 11"), std::string::npos);
  }
}

TEST(Worker, GivesUpAfterThreeFailedStarts) {
  std::string log = testing::TempDir() + "collage_starts_" + std::to_string(::getpid());
  Worker worker({"/bin/sh", {"-c", "echo started >> " + log + "; kill -SEGV $$"}, 10});
  for (int i = 0; i < 6; ++i) {
    Measurement failed = worker.measure("candidate");
    EXPECT_NE(failed.failure.find("signal 11"), std::string::npos) << failed.failure;
    EXPECT_FALSE(failed.lasting);
  }
  std::ifstream lines(log);
  EXPECT_EQ(std::count(std::istreambuf_iterator<char>(lines), {}, '\n'), 3);
  ::unlink(log.c_str());
}

TEST(Channel, MessagesArriveWhole) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  std::string text;
  EXPECT_EQ(receive_message(ends[1], std::chrono::steady_clock::now(), &text), Received::TimedOut);
  ASSERT_TRUE(send_message(ends[0], ""));
  ASSERT_TRUE(send_message(ends[0], std::string("a\0b", 3)));
  EXPECT_EQ(receive_message(ends[1], {}, &text), Received::Message);
  EXPECT_EQ(text, "");
  EXPECT_EQ(receive_message(ends[1], {}, &text), Received::Message);
  EXPECT_EQ(text, std::string("a\0b", 3));
  ::close(ends[0]);
  EXPECT_EQ(receive_message(ends[1], {}, &text), Received::Closed);
  EXPECT_FALSE(send_message(ends[1], "nobody is there"));
  ::close(ends[1]);
}

constexpr const char* kCandidate = R"(model @candidate(%v0: f32[1, 16, 8, 8]) -> (%v2: f32[1, 16, 8, 8]) {
  %v1 = const random seed 1 : f32[16, 16, 1, 1]
  %v2 = partition @p0 on BACKEND(host) (%v0) -> (host) {
    %v2 = Conv(%v0, %v1) : f32[1, 16, 8, 8]
  }
}
)";

std::string candidate_on(const std::string& backend) {
  std::string text = kCandidate;
  return text.replace(text.find("BACKEND"), 7, backend);
}

TEST(TimeCandidate, RunsOnTheHost) {
  plan::PlanTargets targets;
  targets.backends.push_back({"host", ir::RuntimeKind::HostJit});
  TimingOptions options;
  options.budget_seconds = 0.01;
  Measurement measured = time_candidate(candidate_on("host"), targets, options);
  ASSERT_FALSE(measured.failed()) << measured.failure;
  EXPECT_GE(measured.runs, 1);
  EXPECT_GT(measured.cost, Duration());
}

TEST(TimePlans, GivesEachItsReason) {
  plan::PlanTargets targets;
  targets.backends.push_back({"host", ir::RuntimeKind::HostJit});
  const std::vector<Measurement> times =
      time_plans({candidate_on("host"), "model", candidate_on("host"), candidate_on("nowhere")}, targets, {});
  ASSERT_EQ(times.size(), 4u);
  EXPECT_GT(times[0].runs, 0) << times[0].failure;
  EXPECT_GT(times[0].cost, Duration());
  EXPECT_NE(times[1].failure, "");
  EXPECT_EQ(times[2].runs, times[0].runs);
  EXPECT_NE(times[3].failure, "");
  EXPECT_TRUE(time_plans({"model", candidate_on("host")}, targets, {}).at(1).failed());
  EXPECT_TRUE(time_plans({}, targets, {}).empty());
}

ptrdiff_t threads_of_process() {
  using Tasks = std::filesystem::directory_iterator;
  return std::distance(Tasks("/proc/self/task"), Tasks());
}

TEST(TimePlans, EndsThreadsThatSpinAfterAnotherPlan) {
  plan::PlanTargets targets;
  targets.backends.push_back({"host", ir::RuntimeKind::HostJit});
  const ptrdiff_t before = threads_of_process();
  ASSERT_TRUE(runtime::parallel_for(4, 1, 4, [](int64_t, int64_t, int) {}));
  ASSERT_GT(threads_of_process(), before);
  const std::vector<Measurement> times = time_plans({candidate_on("host"), candidate_on("host")}, targets, {});
  EXPECT_FALSE(times.at(0).failed()) << times.at(0).failure;
  EXPECT_LE(threads_of_process(), before);
}

TEST(TimeCandidate, AFallBackIsAFailureOfItsBackend) {
  plan::PlanTargets targets;
  targets.backends.push_back({"host", ir::RuntimeKind::HostJit});
  targets.backends.push_back({"absent", ir::RuntimeKind::Library});
  Measurement measured = time_candidate(candidate_on("absent"), targets, {});
  EXPECT_TRUE(measured.failed());
  EXPECT_NE(measured.failure.find("library"), std::string::npos) << measured.failure;
}

TEST(TimeCandidate, TextThatIsNoCandidate) {
  EXPECT_TRUE(time_candidate("model", {}, {}).failed());
  EXPECT_TRUE(time_candidate(candidate_on("nowhere"), {}, {}).failed());
}

}  // namespace
}  // namespace collage::measure
