// SPDX-License-Identifier: Apache-2.0
// Compilers whose costs come from a fleet: from workers, or measured here where there is none, each once.
#include "compiler/measure/fleet/fleet.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "compiler/measure/environment.h"
#include "compiler/measure/fleet/serve.h"
#include "compiler/measure/machine_lock.h"
#include "compiler/measure/measured_costs.h"
#include "compiler/measure/reference_kernel.h"
#include "compiler/sema/model/build_graph.h"
#include "tests/unit/compiler/measure/fleet/fleet_server.h"

namespace collage::measure::fleet {
namespace {

constexpr int kCandidates = 12;

/// A chain of additions of tensors of different sizes: each is another candidate.
ir::Graph graph_of_candidates() {
  std::string ports, body;
  for (int i = 1; i <= kCandidates; ++i) {
    ports += fmt::format("{}%x{}: f32[{}]", i == 1 ? "" : ", ", i, i);
    body += fmt::format("%y{0} = Relu(%x{0})\n", i);
  }
  std::string results;
  for (int i = 1; i <= kCandidates; ++i) results += fmt::format("{}%y{}: f32[{}]", i == 1 ? "" : ", ", i, i);
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  const support::FileId file = sources.add("m.ir", "model @m(" + ports + ") -> (" + results + ") {\n" + body + "}\n");
  std::optional<sema::Model> model = sema::load_model_text(sources, file, "", diags);
  EXPECT_TRUE(model) << diags.render();
  return model ? std::move(model->graph) : ir::Graph();
}

std::vector<ir::Partition> partitions_of(const ir::Graph& graph) {
  std::vector<ir::Partition> partitions;
  for (int i = 1; i <= kCandidates; ++i) {
    ir::Partition& one = partitions.emplace_back();
    one.name = "p";
    one.backend = one.instance = "host";
    one.nodes = {graph.find_node(fmt::format("y{}", i))};
    for (ir::ValueId value : ir::boundary_inputs(graph, one.nodes)) one.inputs.push_back({value, {"host", "plain"}});
    for (ir::ValueId value : ir::boundary_outputs(graph, one.nodes)) one.outputs.push_back({value, {"host", "plain"}});
  }
  return partitions;
}

/// A measuring process that takes some time for each answer: `ok 7000 1 3 0`.
std::vector<std::string> answering(const std::string& pause) {
  return {"-c",
          "printf '\\0\\0\\0\\0' >&3; while sleep " + pause + "; do printf '\\15\\0\\0\\0ok 7000 1 3 0' >&3; done"};
}

class FleetOfWorkers : public FleetServer {
 protected:
  void SetUp() override {
    FleetServer::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    graph_ = graph_of_candidates();
    here_ = {describe_machine(), describe_build("/bin/sh")};
  }
  void TearDown() override {
    for (int end : ends_) (void)!::write(end, "x", 1);
    for (std::thread& worker : workers_) worker.join();
    for (int end : ends_) ::close(end);
  }

  /// `pause` before each answer; empty: its measuring process is dead. What `backends` name outlives it.
  void start_worker(const std::string& name, const std::string& pause = "0.01", double lease = 15,
                    const std::string& lock = "", const place::ActiveBackends& backends = {}) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    ends_.push_back(ends[1]);
    workers_.emplace_back([=, this, stop = ends[0]] {
      JobMeter meter({"/bin/sh", pause.empty() ? std::vector<std::string>{"-c", "exit 1"} : answering(pause), here_},
                     backends, {});
      ServeOptions options;
      options.address = address_;
      options.announcement.name = name;
      options.announcement.host = "here";
      options.announcement.machine = here_.machine;
      options.announcement.build = here_.build;
      options.announcement.backends = "host";
      options.lease_seconds = lease;
      options.stop = stop;
      options.lock = lock;
      const runtime::Status served = serve(options, meter);
      EXPECT_TRUE(served) << (served ? "" : served.message());
      ::close(stop);
    });
  }
  void await_workers(size_t expected) {
    for (int tries = 0; tries < 200; ++tries) {
      const auto known = queue_->workers();
      ASSERT_TRUE(known) << known.message();
      if (known->size() >= expected) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    FAIL() << "workers do not announce themselves";
  }

  struct Compiler {
    std::unique_ptr<CostDatabase> database;
    std::unique_ptr<Fleet> fleet;
    std::unique_ptr<MeasuredCosts> costs;
  };
  /// `answers`: the arguments of its own measuring process, which is dead otherwise.
  Compiler compiler(const std::vector<std::string>& answers = {}, double timeout = 10) {
    Compiler made;
    const auto verdict = std::make_shared<postgres::Verdict>();
    auto database = CostDatabase::open(address_, verdict);
    EXPECT_TRUE(database) << database.message();
    made.database = std::move(*database);
    auto fleet = Fleet::open(
        {.address = address_, .target = here_, .worker_patience = 2, .tick_seconds = 1, .verdict = verdict});
    EXPECT_TRUE(fleet) << fleet.message();
    made.fleet = std::move(*fleet);
    MeasuredCostsOptions options;
    options.worker.program = "/bin/sh";
    options.worker.arguments = answers.empty() ? std::vector<std::string>{"-c", "exit 1"} : answers;
    options.worker.timeout_seconds = timeout;
    options.database = made.database.get();
    options.fleet = made.fleet.get();
    options.target = here_;
    made.costs = std::make_unique<MeasuredCosts>(std::move(options), place::ActiveBackends());
    return made;
  }
  void expect_costs(MeasuredCosts& costs, int64_t picoseconds = 7000) {
    for (const place::MeasuredCost& answer : costs.measure(graph_, partitions_of(graph_))) {
      EXPECT_EQ(answer.cost, Duration::picoseconds(picoseconds)) << answer.failure;
    }
  }
  /// No candidate was measured twice, and none is left.
  void expect_once() {
    EXPECT_EQ(count("SELECT count(*) FROM collage.job"), 0);
    EXPECT_EQ(count("SELECT count(*) FROM collage.measurement"), kCandidates);
    EXPECT_EQ(count("SELECT count(*) FROM collage.measured_by"), kCandidates);
  }

  ir::Graph graph_;
  TargetMachine here_;
  ir::Backend board_;  ///< of workers
  std::vector<std::thread> workers_;
  std::vector<int> ends_;
};

TEST_F(FleetOfWorkers, MeasureForACompilerThatCannot) {
  start_worker("a");
  start_worker("b");
  await_workers(2);
  Compiler one = compiler();
  expect_costs(*one.costs);
  EXPECT_EQ(one.costs->stats().by_workers, static_cast<size_t>(kCandidates));
  EXPECT_EQ(one.costs->stats().measured, 0u);
  expect_once();
  // The next one finds them.
  Compiler next = compiler();
  expect_costs(*next.costs);
  EXPECT_EQ(next.costs->stats().from_cache, static_cast<size_t>(kCandidates));
}

TEST_F(FleetOfWorkers, WithoutOneTheCompilerMeasures) {
  Compiler alone = compiler(answering("0.001"));
  expect_costs(*alone.costs);
  EXPECT_EQ(alone.costs->stats().measured, static_cast<size_t>(kCandidates));
  EXPECT_EQ(alone.costs->stats().by_workers, 0u);
  expect_once();
}

TEST_F(FleetOfWorkers, WhatACompilerGivesUpIsNoFailure) {
  const Wanted one = wanted("c");
  ASSERT_TRUE(queue_->put({one}, &asker_));  // another one waits for it, too
  std::atomic<bool> stop = false;
  {
    const auto fleet = Fleet::open({.address = address_, .target = here_, .stop = &stop});
    ASSERT_TRUE(fleet) << fleet.message();
    MeasureHere here;
    here.measure = [&](size_t) {
      stop = true;
      return stopped_measurement();
    };
    EXPECT_FALSE((*fleet)->measure({one}, here, [](size_t, size_t) {}).at(0));
  }
  EXPECT_EQ(count("SELECT state + failures + attempts FROM collage.job"), 0);
}

TEST_F(FleetOfWorkers, CompilersWithoutWorkersShareTheWork) {
  std::vector<std::thread> compilers;
  for (int i = 0; i < 5; ++i) {
    compilers.emplace_back([&] {
      Compiler one = compiler(answering("0.02"));
      expect_costs(*one.costs);
    });
  }
  for (std::thread& one : compilers) one.join();
  expect_once();
}

TEST_F(FleetOfWorkers, ManyCompilersGetEachCostOnce) {
  for (const char* name : {"a", "b", "c"}) start_worker(name);
  await_workers(3);
  std::vector<std::thread> compilers;
  for (int i = 0; i < 8; ++i) {
    compilers.emplace_back([&] {
      Compiler one = compiler();
      expect_costs(*one.costs);
    });
  }
  for (std::thread& one : compilers) one.join();
  expect_once();
}

TEST_F(FleetOfWorkers, ADeadWorkersJobIsMeasuredByAnother) {
  // One that claims and is not heard of again.
  Announcement dead;
  dead.name = "dead";
  dead.needs = {need_of(Environments({}, here_, 1, {}).of(""))};
  const auto worker = queue_->announce(dead, 1);
  ASSERT_TRUE(worker);
  std::thread claims([&] {
    const auto connection = connect();
    Queue queue(*connection);
    const auto needs = queue.need_ids(dead.needs);
    ASSERT_TRUE(needs);
    for (int tries = 0; tries < 500; ++tries) {
      const auto job = queue.claim(*needs, *worker, 0.5);
      ASSERT_TRUE(job) << job.message();
      if (*job) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    FAIL() << "nothing to claim";
  });
  Compiler one = compiler(answering("0.05"));
  std::thread measures([&] { expect_costs(*one.costs); });
  claims.join();
  start_worker("alive", "0.01", 1);
  measures.join();
  expect_once();
}

TEST_F(FleetOfWorkers, AServerThatCrashesLosesNothing) {
  start_worker("a", "0.2", 2);
  start_worker("b", "0.2", 2);
  await_workers(2);
  Compiler one = compiler();
  std::thread measures([&] { expect_costs(*one.costs); });
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  PostgresCluster::instance().stop();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  PostgresCluster::instance().start();
  measures.join();
  // The connection of the test was cut, too.
  ASSERT_TRUE(connection_->reconnect());
  EXPECT_EQ(count("SELECT count(*) FROM collage.job"), 0);
  EXPECT_EQ(count("SELECT count(*) FROM collage.measurement"), kCandidates);
  EXPECT_EQ(count("SELECT count(DISTINCT (environment, candidate_digest)) FROM collage.measured_by"), kCandidates);
}

/// It hangs before the first question, or in the middle of those of the queue: the database is asked first, or the
/// fleet.
TEST_F(FleetOfWorkers, AServerThatHangsIsWaitedForOnce) {
  PostgresCluster& cluster = PostgresCluster::instance();
  address_ += "&connect_timeout=1&tcp_user_timeout=5000";
  for (const int before_ms : {0, 700}) {
    Compiler one = compiler(answering("0.2"));
    std::thread hangs;
    if (before_ms == 0) {
      cluster.pause();
    } else {
      hangs = std::thread([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(before_ms));
        cluster.pause();
      });
    }
    const auto start = std::chrono::steady_clock::now();
    expect_costs(*one.costs);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (hangs.joinable()) hangs.join();
    // 5 s of silence and 1 s to connect again, once; and 2.4 s to measure. Twice is 14.4 s.
    EXPECT_LT(took.count(), 13) << before_ms;
    EXPECT_TRUE(one.database->is_lost());
    EXPECT_NE(one.database->take_lost(), "");
    EXPECT_EQ(one.fleet->take_warnings(), std::vector<std::string>());
    cluster.go_on();
  }
}

TEST_F(FleetOfWorkers, WhoMayOnlyReadIsToldOnce) {
  (void)PostgresCluster::run(address_, "CREATE ROLE guest LOGIN");
  ASSERT_EQ(
      PostgresCluster::run(
          address_, "GRANT USAGE ON SCHEMA collage TO guest; GRANT SELECT ON ALL TABLES IN SCHEMA collage TO guest"),
      "");
  const std::string owner = address_;
  for (const std::string& reader :
       {PostgresCluster::instance().address("fleet", "guest"),
        PostgresCluster::instance().address("fleet", "postgres", "&options=-cdefault_transaction_read_only%3Don")}) {
    address_ = reader;
    Compiler one = compiler(answering("0"));
    expect_costs(*one.costs);
    EXPECT_NE(one.database->take_unkept(), "");
    EXPECT_EQ(one.fleet->take_warnings(), std::vector<std::string>());
    // Who cannot measure keeps nothing: only the fleet says why there is no cost.
    Compiler other = compiler();
    (void)other.fleet->measure({wanted("a")}, {}, [](size_t, size_t) {});
    const std::vector<std::string> warnings = other.fleet->take_warnings();
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_TRUE(warnings[0].starts_with("the queue cannot be used: ")) << warnings[0];
  }
  // One that may store costs, but not ask.
  ASSERT_EQ(PostgresCluster::run(owner,
                                 "GRANT INSERT, UPDATE ON collage.environment, collage.measurement, collage.reference "
                                 "TO guest"),
            "");
  address_ = PostgresCluster::instance().address("fleet", "guest");
  Compiler one = compiler(answering("0"));
  expect_costs(*one.costs);
  EXPECT_EQ(one.database->take_unkept(), "");
  EXPECT_EQ(one.fleet->take_warnings().size(), 1u);
}

TEST_F(FleetOfWorkers, AnotherBuildIsSaidAndNotAsked) {
  Announcement other;
  other.name = "old";
  other.host = "there";
  other.machine = here_.machine;
  other.build = "collage 0 program 1";
  other.needs = {"another need"};
  ASSERT_TRUE(queue_->announce(other, 15));
  Compiler one = compiler(answering("0.001"));
  expect_costs(*one.costs);
  const std::vector<std::string> warnings = one.fleet->take_warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0],
            "worker `old` at there is not asked: another build, collage 0 program 1 instead of " + here_.build);
}

TEST_F(FleetOfWorkers, ForAnotherMachineNothingIsMeasuredHere) {
  here_.machine = "cpu Elsewhere features";
  Compiler one = compiler(answering("0.001"));
  for (const place::MeasuredCost& answer : one.costs->measure(graph_, partitions_of(graph_))) {
    EXPECT_FALSE(answer.cost);
    EXPECT_FALSE(answer.lasting);
    EXPECT_EQ(answer.failure, "no worker that can measure it is there");
  }
  EXPECT_EQ(one.fleet->take_warnings(), std::vector<std::string>{"no worker is there"});
  EXPECT_EQ(count("SELECT count(*) FROM collage.job"), 0) << "nobody waits for them";
  EXPECT_EQ(one.costs->stats().measured, 0u);
  EXPECT_EQ(one.costs->time_plans({"plan"}).at(0).failure, "costs are those of another machine");
  // Its worker, wherever that is.
  start_worker("there");
  await_workers(1);
  Compiler two = compiler();
  expect_costs(*two.costs);
  // It may have begun with what the first compiler left in the queue.
  EXPECT_EQ(two.costs->stats().by_workers + two.costs->stats().from_cache, static_cast<size_t>(kCandidates));
}

TEST_F(FleetOfWorkers, AShortTimeoutIsNoFailureForWhoAllowsMore) {
  start_worker("slow", "1.2");
  await_workers(1);
  const std::vector<ir::Partition> one = {partitions_of(graph_)[0]};
  Compiler hasty = compiler({}, 0.5), patient = compiler({}, 30);
  std::thread hurries([&] {
    const place::MeasuredCost answer = hasty.costs->measure(graph_, one)[0];
    EXPECT_TRUE(answer.cost || answer.failure == "it took more than 0.5 s") << answer.failure;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const place::MeasuredCost answer = patient.costs->measure(graph_, one)[0];
  EXPECT_EQ(answer.cost, Duration::picoseconds(7000)) << answer.failure;
  hurries.join();
  EXPECT_EQ(count("SELECT count(*) FROM collage.job"), 0);
}

TEST_F(FleetOfWorkers, ABrokenOneUsesUpNoTries) {
  start_worker("broken", "");
  start_worker("good");
  await_workers(2);
  Compiler one = compiler();
  expect_costs(*one.costs);
  EXPECT_EQ(one.costs->stats().by_workers, static_cast<size_t>(kCandidates));
  expect_once();
}

TEST_F(FleetOfWorkers, TheCompilerTriesWhatTheOnlyWorkerFailed) {
  start_worker("broken", "");
  await_workers(1);
  Compiler one = compiler(answering("0.001"));
  const place::MeasuredCost answer = one.costs->measure(graph_, {partitions_of(graph_)[0]})[0];
  EXPECT_EQ(answer.cost, Duration::picoseconds(7000)) << answer.failure;
  EXPECT_EQ(one.costs->stats().measured, 1u);
}

TEST_F(FleetOfWorkers, OneThatAlwaysFailsIsNotWaitedFor) {
  start_worker("broken", "");
  await_workers(1);
  Compiler one = compiler(answering("0.001"));
  const auto start = std::chrono::steady_clock::now();
  expect_costs(*one.costs);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  EXPECT_EQ(one.costs->stats().measured, static_cast<size_t>(kCandidates));
  const std::vector<std::string> warnings = one.fleet->take_warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("worker `broken` at here is not asked for `host`: it failed "), std::string::npos)
      << warnings[0];
}

TEST_F(FleetOfWorkers, WhatACompilerLeftIsNotMeasured) {
  Asker dead = asker("dead", 0.1);
  const std::string environment = Environments({}, here_, 1, {}).of("");
  ASSERT_TRUE(queue_->put({{environment, "a", Duration::seconds(1)}, {environment, "b", Duration::seconds(1)}}, &dead));
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  start_worker("a");
  await_workers(1);
  for (int tries = 0; tries < 200 && count("SELECT count(*) FROM collage.job") > 0; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(count("SELECT count(*) FROM collage.job"), 0);
  EXPECT_EQ(count("SELECT count(*) FROM collage.measured_by"), 0);
}

TEST_F(FleetOfWorkers, WhileAnotherProgramHasTheMachineJobsThatNeedItWait) {
  const std::string lock = fmt::format("collage.test.fleet.{}", ::getpid());
  auto other = MachineLock::try_lock(lock, MachineLock::Clock::now());
  ASSERT_TRUE(other != nullptr && other->is_held());
  board_.name = "board";
  board_.cost_program = "board";
  place::ActiveBackends backends;
  backends.push_back({&board_, {}});
  start_worker("a", "0.01", 3, lock, backends);
  await_workers(1);
  const Environments environments(backends, here_, 1, {});
  const Wanted alone{environments.of(""), "a", Duration::seconds(10)};
  const Wanted beside{environments.of("board"), "no model", Duration::seconds(10)};
  ASSERT_TRUE(queue_->put({alone}, &asker_));
  const auto comes = [&](const std::string& statement, int64_t expected) {
    for (int tries = 0; tries < 500; ++tries) {
      if (count(statement) == expected) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  };
  EXPECT_TRUE(comes("SELECT count(*) FROM collage.worker WHERE note LIKE 'waits: %'", 1));
  // The board is asked meanwhile; that this text is no model shows that it was claimed.
  ASSERT_TRUE(queue_->put({beside}, &asker_));
  EXPECT_TRUE(comes("SELECT count(*) FROM collage.job WHERE failures > 0", 1));
  EXPECT_EQ(count("SELECT attempts FROM collage.job WHERE candidate = 'a'"), 0);
  other.reset();
  EXPECT_TRUE(comes("SELECT count(*) FROM collage.job WHERE candidate = 'a'", 0));
  EXPECT_TRUE(database_->find(alone.environment, "a"));
}

TEST_F(FleetOfWorkers, AMachineThatIsSlowerMarksItsCosts) {
  // The reference kernel is known to take a tenth.
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  database_->store_reference(reference_key(here_.machine), Duration::picoseconds(usual_reference_time().ps() / 10),
                             std::chrono::duration_cast<std::chrono::seconds>(now).count(), 0);
  start_worker("slow");
  await_workers(1);
  Compiler one = compiler();
  expect_costs(*one.costs);
  EXPECT_EQ(one.costs->stats().disturbed, static_cast<size_t>(kCandidates));
  EXPECT_NE(one.costs->stats().disturbance.find("the reference kernel takes"), std::string::npos)
      << one.costs->stats().disturbance;
}

}  // namespace
}  // namespace collage::measure::fleet
