// SPDX-License-Identifier: Apache-2.0
// Which candidates are one measurement, and how a measurement is rounded, sent and asked for.
#include "compiler/measure/measured_costs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "compiler/ir/ops/op_def.h"
#include "compiler/measure/candidate_text.h"
#include "compiler/measure/environment.h"
#include "compiler/measure/machine_lock.h"
#include "compiler/sema/model/build_graph.h"
#include "runtime/libraries/library.h"

namespace collage::measure {
namespace {

ir::Graph graph_of(const std::string& ports, const std::string& body) {
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  support::FileId file = sources.add("m.ir", "model @m" + ports + " {\n" + body + "\n}\n");
  std::optional<sema::Model> model = sema::load_model_text(sources, file, "", diags);
  EXPECT_TRUE(model) << diags.render();
  return model ? std::move(model->graph) : ir::Graph();
}

ir::Partition partition_of(const ir::Graph& graph, const std::vector<std::string>& nodes,
                           const std::string& layout = "plain") {
  ir::Partition partition;
  partition.name = "p7";
  partition.backend = "host";
  partition.instance = "host";
  partition.cost = Duration::picoseconds(77);
  for (const std::string& node : nodes) partition.nodes.push_back(graph.find_node(node));
  for (ir::ValueId value : ir::boundary_inputs(graph, partition.nodes)) {
    partition.inputs.push_back({value, {"host", layout}});
  }
  for (ir::ValueId value : ir::boundary_outputs(graph, partition.nodes)) {
    partition.outputs.push_back({value, {"host", layout}});
  }
  return partition;
}

constexpr const char* kPorts = "(%x: f32[1, 32, 8, 8]) -> (%y: f32[1, 32, 8, 8])";
constexpr const char* kTwoLayers =
    "%w = const random seed 5 : f32[32, 32, 1, 1]\n%v = const random seed 6 : f32[32, 32, 1, 1]\n"
    "%a = Conv(%x, %w)\n%b = Relu(%a)\n%c = Conv(%b, %v)\n%y = Relu(%c)";

TEST(CandidateText, NamesWeightsAndPlaceInTheModelDoNotCount) {
  ir::Graph graph = graph_of(kPorts, kTwoLayers);
  std::string first = candidate_text(graph, partition_of(graph, {"a", "b"}));
  EXPECT_EQ(first, candidate_text(graph, partition_of(graph, {"c", "y"})));
  EXPECT_NE(first, candidate_text(graph, partition_of(graph, {"a"})));
}

TEST(CandidateText, IsAPlacedModelThatReadsBack) {
  ir::Graph graph = graph_of(kPorts, kTwoLayers);
  std::string text = candidate_text(graph, partition_of(graph, {"a", "b"}, "NHWC"));
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  std::optional<sema::Model> model = sema::load_model_text(sources, sources.add("t.ir", text), "", diags);
  ASSERT_TRUE(model) << text << diags.render();
  ASSERT_EQ(model->placement.partitions.size(), 1u);
  EXPECT_EQ(model->placement.partitions[0].inputs[0].format.layout, "NHWC");
  EXPECT_EQ(model->placement.conversions.size(), 2u);
}

TEST(CandidateText, WhatTimeDependsOnCounts) {
  auto text = [](const std::string& body, const std::vector<std::string>& nodes) {
    ir::Graph graph = graph_of(kPorts, body);
    return candidate_text(graph, partition_of(graph, nodes));
  };
  std::string plain = text("%lo = const 0.0 : f32[]\n%hi = const 6.0 : f32[]\n%y = Clip(%x, %lo, %hi)", {"y"});
  EXPECT_NE(plain, text("%lo = const 0.0 : f32[]\n%hi = const 1.0 : f32[]\n%y = Clip(%x, %lo, %hi)", {"y"}));
  std::string conv =
      text("%w = const random seed 5 : f32[32, 32, 3, 3]\n%y = Conv(%x, %w) {pads = [1, 1, 1, 1]}", {"y"});
  EXPECT_NE(conv, text("%w = const random seed 5 : f32[32, 32, 3, 3]\n"
                       "%y = Conv(%x, %w) {pads = [2, 2, 2, 2], dilations = [2, 2]}",
                       {"y"}));
  std::string square = text("%y = Mul(%x, %x)", {"y"});
  EXPECT_NE(square, text("%a = Relu(%x)\n%y = Mul(%x, %a)", {"y"}));
  EXPECT_NE(text("%y = Relu(%x)", {"y"}), text("%y = Tanh(%x)", {"y"}));
}

TEST(CandidateText, FormatsAndBackendCount) {
  ir::Graph graph = graph_of(kPorts, kTwoLayers);
  ir::Partition partition = partition_of(graph, {"a"});
  std::string plain = candidate_text(graph, partition);
  EXPECT_NE(plain, candidate_text(graph, partition_of(graph, {"a"}, "NHWC")));
  partition.backend = "lib";
  EXPECT_NE(plain, candidate_text(graph, partition));
}

TEST(CandidateText, ResultsThatNobodyReads) {
  ir::Graph graph = graph_of(kPorts, "%unread = Tanh(%x)\n%y = Relu(%x)");
  ir::Partition partition = partition_of(graph, {"unread"});
  ASSERT_TRUE(partition.outputs.empty());
  std::string text = candidate_text(graph, partition);
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  EXPECT_TRUE(sema::load_model_text(sources, sources.add("t.ir", text), "", diags)) << text << diags.render();
}

TEST(CandidateText, IntegersKeepTheirValues) {
  ir::Graph graph = graph_of("(%x: f32[4, 6]) -> (%y: f32[6, 4], %z: f32[3, 8])",
                             "%s = const dense i64[2] [6, 4]\n%t = const dense i64[2] [3, 8]\n"
                             "%y = Reshape(%x, %s)\n%z = Reshape(%x, %t)");
  EXPECT_NE(candidate_text(graph, partition_of(graph, {"y"})), candidate_text(graph, partition_of(graph, {"z"})));
}

Duration us(double microseconds) {
  return Duration::seconds(microseconds * 1e-6);
}

TEST(RoundToSpread, KeepsStepsOfOneTwoFive) {
  EXPECT_EQ(round_to_spread(us(1037), us(24)), us(1040));
  EXPECT_EQ(round_to_spread(us(1037), us(10)), us(1040));
  EXPECT_EQ(round_to_spread(us(1037), us(9)), us(1035));
  EXPECT_EQ(round_to_spread(us(1037.4), us(1)), us(1037));
  // Noise below the spread gives the same cost.
  EXPECT_EQ(round_to_spread(us(1036), us(24)), round_to_spread(us(1043), us(22)));
}

TEST(RoundToSpread, ANoisyMomentDoesNotErase) {
  // Never coarser than a sixteenth, whatever the spread.
  EXPECT_EQ(round_to_spread(us(1037), us(5000)), us(1050));
  EXPECT_EQ(round_to_spread(us(0.0004), us(0)), us(0.001));
  EXPECT_EQ(round_to_spread(us(3.0004), us(0)), us(3));
}

TEST(MeasurementLine, ReadsBack) {
  Measurement measured;
  measured.cost = us(12);
  measured.spread = us(1);
  measured.runs = 9;
  measured.compiled = 4;
  EXPECT_EQ(parse_line(to_line(measured)), measured);
  EXPECT_EQ(parse_line(to_line(failed_measurement("no\nroom"))), failed_measurement("no room"));
  EXPECT_EQ(parse_line(to_line(failed_measurement("no `l\x98\x91.so`"))), failed_measurement("no `l  .so`"));
  Measurement no_memory = failed_measurement("std::bad_alloc");
  EXPECT_FALSE(no_memory.lasting);
  EXPECT_EQ(parse_line(to_line(no_memory)), no_memory);
  EXPECT_FALSE(failed_measurement("no memory for 7 bytes of `npu`").lasting);
  EXPECT_FALSE(failed_measurement("needs 7 bytes of memory; this machine has 5").lasting);
  for (const char* bad : {"", "ok", "ok 1 2", "ok 1 2 3", "ok 1 2 0 4", "ok -1 2 3 4", "ok 1 2 3 -4", "maybe 1 2 3 4"})
    EXPECT_FALSE(parse_line(bad)) << bad;
}

/// A measuring process that ends at once: every measurement fails, which is enough to count them.
MeasuredCostsOptions with_dead_worker(CostDatabase* database) {
  MeasuredCostsOptions options;
  options.worker.program = "/bin/false";
  options.database = database;
  return options;
}

TEST(Environment, NamesTheLibrariesThatAreLoaded) {
  std::string text = describe_build("/bin/false");
  for (std::string_view library : runtime::library_names()) {
    std::string version = runtime::library_version(library);
    EXPECT_NE(version.find_first_of("0123456789"), std::string::npos) << library;
    EXPECT_NE(text.find(" " + std::string(library) + " " + version), std::string::npos) << text;
  }
  EXPECT_EQ(runtime::library_version("absent"), "");
}

TEST(MeasuredCosts, WhatIsKnownOfThisMachineIsNotFoundOutAgain) {
  MeasuredCostsOptions options;
  options.worker.program = "/bin/false";
  options.here = TargetMachine{"cpu here", "collage 1"};
  options.target = options.here;
  EXPECT_TRUE(MeasuredCosts(options, {}).is_for_here());
  options.target->build = "collage 2";
  EXPECT_FALSE(MeasuredCosts(options, {}).is_for_here());
}

TEST(MeasuredCosts, EqualCandidatesAreOneMeasurement) {
  ir::Graph graph = graph_of(kPorts, kTwoLayers);
  std::vector<ir::Partition> candidates = {partition_of(graph, {"a"}), partition_of(graph, {"c"}),
                                           partition_of(graph, {"b"}), partition_of(graph, {"a", "b"})};
  std::vector<std::string> progress;
  MeasuredCostsOptions options = with_dead_worker(nullptr);
  options.progress = [&](const MeasuringProgress& now) {
    progress.push_back(fmt::format("{} of {} {}", now.done, now.of, now.candidate));
  };
  MeasuredCosts costs(options, {});
  std::vector<place::MeasuredCost> answers = costs.measure(graph, candidates);
  ASSERT_EQ(answers.size(), 4u);
  EXPECT_EQ(costs.stats().measured, 3u);
  EXPECT_EQ(progress,
            (std::vector<std::string>{"0 of 3 host Conv", "1 of 3 host Relu", "2 of 3 host Conv, Relu", "3 of 3 "}));
  EXPECT_FALSE(answers[0].cost);
  EXPECT_EQ(answers[0].failure, "the measuring process ended with exit code 1");
  EXPECT_FALSE(answers[0].lasting);
  // In memory, so that nothing is measured twice in one compilation.
  costs.measure(graph, candidates);
  EXPECT_EQ(costs.stats().measured, 3u);
  // Counts go on in the next round.
  progress.clear();
  costs.measure(graph, {partition_of(graph, {"b", "c"})});
  EXPECT_EQ(progress, (std::vector<std::string>{"3 of 4 host Relu, Conv", "4 of 4 "}));
}

TEST(MeasuredCosts, WhatTheDatabaseHasIsNotMeasured) {
  ir::Graph graph = graph_of(kPorts, kTwoLayers);
  auto database = CostDatabase::open(":memory:");
  ASSERT_TRUE(database) << database.message();
  // A process that goes away says nothing of the candidate: it is not kept.
  for (int round = 0; round < 2; ++round) {
    MeasuredCosts costs(with_dead_worker(database->get()), {});
    costs.measure(graph, {partition_of(graph, {"a"})});
    EXPECT_EQ(costs.stats().measured, 1u);
  }
  // A crash does.
  MeasuredCostsOptions crashing = with_dead_worker(database->get());
  crashing.worker.program = "/bin/sh";
  crashing.worker.arguments = {"-c", "printf '\\0\\0\\0\\0' >&3; kill -SEGV $$"};
  for (size_t round = 0; round < 2; ++round) {
    MeasuredCosts costs(crashing, {});
    EXPECT_FALSE(costs.measure(graph, {partition_of(graph, {"a"})})[0].cost);
    EXPECT_EQ(costs.stats().measured, 1 - round);
    EXPECT_EQ(costs.stats().from_cache, round);
  }
  // Another number of threads is another measurement.
  crashing.threads = 7;
  MeasuredCosts other(crashing, {});
  other.measure(graph, {partition_of(graph, {"a"})});
  EXPECT_EQ(other.stats().measured, 1u);
}

TEST(MeasuredCosts, AFailureOfTheMomentIsTriedOnceMore) {
  ir::Graph graph = graph_of(kPorts, kTwoLayers);
  std::string mark = testing::TempDir() + "collage_once_" + std::to_string(::getpid());
  MeasuredCostsOptions flaky = with_dead_worker(nullptr);
  flaky.worker.program = "/bin/sh";
  // The first process is killed, the second answers.
  flaky.worker.arguments = {"-c", "printf '\\0\\0\\0\\0' >&3; [ -e " + mark + " ] || { : > " + mark +
                                      "; kill -KILL $$; }; printf '\\15\\0\\0\\0ok 7000 1 1 2' >&3; exec sleep 60"};
  MeasuredCosts costs(flaky, {});
  place::MeasuredCost answer = costs.measure(graph, {partition_of(graph, {"a"})})[0];
  EXPECT_EQ(answer.cost, Duration::picoseconds(7000)) << answer.failure;
  ::unlink(mark.c_str());
}

TEST(MeasuredCosts, WhatAbortsIsNotStoredButDoesNotRun) {
  ir::Graph graph = graph_of(kPorts, kTwoLayers);
  auto database = CostDatabase::open(":memory:");
  ASSERT_TRUE(database) << database.message();
  MeasuredCostsOptions aborting = with_dead_worker(database->get());
  aborting.worker.program = "/bin/sh";
  aborting.worker.arguments = {"-c", "printf '\\0\\0\\0\\0' >&3; kill -ABRT $$"};
  for (int round = 0; round < 2; ++round) {
    MeasuredCosts costs(aborting, {});
    EXPECT_TRUE(costs.measure(graph, {partition_of(graph, {"a"})})[0].lasting);
    EXPECT_EQ(costs.stats().measured, 1u);
  }
}

TEST(MeasuredCosts, WaitsForAnotherCompilerAndTakesItsCosts) {
  ir::Graph graph = graph_of(kPorts, kTwoLayers);
  std::string path = testing::TempDir() + "collage_lock_" + std::to_string(::getpid()) + ".sqlite";
  auto first = CostDatabase::open(path), second = CostDatabase::open(path);
  ASSERT_TRUE(first && second);
  auto options = [](CostDatabase* database) {
    MeasuredCostsOptions made = with_dead_worker(database);
    made.worker.program = "/bin/sh";
    made.worker.arguments = {"-c", "printf '\\0\\0\\0\\0\\15\\0\\0\\0ok 7000 1 1 2' >&3; exec sleep 60"};
    return made;
  };
  const std::string lock = "collage.test." + std::to_string(::getpid());
  std::optional<MachineLock> other(std::in_place, lock, nullptr);
  ASSERT_TRUE(other->is_held());
  // While this one waits the other one measures and lets go.
  MeasuredCostsOptions waits = options(second->get());
  waits.lock = lock;
  int waited = 0;
  waits.waiting = [&](const LockHolder& holder, double) {
    ++waited;
    EXPECT_EQ(holder.process, ::getpid());
    MeasuredCosts(options(first->get()), {}).measure(graph, {partition_of(graph, {"a"})});
    other.reset();
  };
  MeasuredCosts costs(waits, {});
  EXPECT_TRUE(costs.measure(graph, {partition_of(graph, {"a"})})[0].cost);
  EXPECT_EQ(waited, 1);
  EXPECT_EQ(costs.stats().measured, 0u);
  EXPECT_EQ(costs.stats().from_cache, 1u);
  // Nothing is left held, nor by the measuring process.
  EXPECT_TRUE(costs.measure(graph, {partition_of(graph, {"b"})})[0].cost);
  EXPECT_NE(MachineLock::try_lock(lock, MachineLock::Clock::now()), nullptr);
  for (const char* end : {"", "-wal", "-shm"}) ::unlink((path + end).c_str());
}

TEST(MeasuredCosts, MoreTimeMayEndWell) {
  ir::Graph graph = graph_of(kPorts, kTwoLayers);
  auto database = CostDatabase::open(":memory:");
  ASSERT_TRUE(database) << database.message();
  MeasuredCostsOptions slow = with_dead_worker(database->get());
  slow.worker.program = "/bin/sh";
  slow.worker.arguments = {"-c", "printf '\\0\\0\\0\\0' >&3; exec sleep 60"};
  auto measured_with = [&](double timeout) {
    slow.worker.timeout_seconds = timeout;
    MeasuredCosts costs(slow, {});
    costs.measure(graph, {partition_of(graph, {"a"})});
    return costs.stats().measured;
  };
  EXPECT_EQ(measured_with(0.05), 1u);
  EXPECT_EQ(measured_with(0.05), 0u);
  EXPECT_EQ(measured_with(0.1), 1u);
}

/// A process that says the same of every candidate: `ok 7000 1 1 2 busy`.
MeasuredCostsOptions with_answer(CostDatabase* database, const std::string& line) {
  MeasuredCostsOptions made = with_dead_worker(database);
  made.worker.program = "/bin/sh";
  const std::string message = fmt::format("\\{:o}\\0\\0\\0{}", line.size(), line);
  std::string script = "printf '\\0\\0\\0\\0";
  for (int answer = 0; answer < 8; ++answer) script += message;
  made.worker.arguments = {"-c", script + "' >&3; exec sleep 60"};
  return made;
}

/// Makes the rows of a database older.
void let_pass(CostDatabase& database, int64_t seconds) {
  auto rows = database.rows();
  ASSERT_TRUE(rows) << rows.message();
  ASSERT_TRUE(database.remove_if([](const CostRow&) { return true; }));
  for (CostRow& row : *rows) row.measurement.date -= seconds;
  ASSERT_TRUE(database.write(*rows));
}

TEST(MeasuredCosts, WhatWasDisturbedIsMeasuredAgain) {
  ir::Graph graph = graph_of(kPorts, kTwoLayers);
  auto database = CostDatabase::open(":memory:");
  ASSERT_TRUE(database) << database.message();
  const std::vector<ir::Partition> candidates = {partition_of(graph, {"a"})};
  size_t settled = 0;
  const auto cost_with = [&](const MeasuredCostsOptions& options, size_t measured, size_t repeated, size_t disturbed) {
    MeasuredCosts costs(options, {});
    const std::optional<Duration> cost = costs.measure(graph, candidates)[0].cost;
    EXPECT_EQ(costs.stats().measured, measured);
    EXPECT_EQ(costs.stats().repeated, repeated);
    EXPECT_EQ(costs.stats().disturbed, disturbed);
    settled = costs.stats().settled;
    return cost;
  };
  const MeasuredCostsOptions busy = with_answer(database->get(), "ok 9000 1 1 2 busy"),
                             busier = with_answer(database->get(), "ok 9500 1 1 2 busier");
  // It is repeated at once, and disturbed again: for a day the better cost stays.
  EXPECT_EQ(cost_with(busy, 1, 0, 1), Duration::picoseconds(9000));
  EXPECT_EQ(settled, 1u);
  EXPECT_EQ(cost_with(busier, 0, 0, 1), Duration::picoseconds(9000));
  EXPECT_EQ(settled, 1u);
  constexpr int64_t kDay = 24 * 3600;
  let_pass(**database, kDay + 1);
  MeasuredCostsOptions keeps = busier;
  keeps.repeats_disturbed = false;
  EXPECT_EQ(cost_with(keeps, 0, 0, 1), Duration::picoseconds(9000));
  // It is not taken from the database, but the new one is not better.
  EXPECT_EQ(cost_with(busier, 1, 1, 1), Duration::picoseconds(9000));
  EXPECT_EQ(settled, 1u);
  let_pass(**database, kDay + 1);
  const MeasuredCostsOptions idle = with_answer(database->get(), "ok 9200 1 1 2");
  EXPECT_EQ(cost_with(idle, 1, 1, 0), Duration::picoseconds(9200));
  EXPECT_EQ(cost_with(busy, 0, 0, 0), Duration::picoseconds(9200)) << "from the database";
}

TEST(MeasuredCosts, WhatWasDisturbedStaysOnlyWhereItIsKept) {
  ir::Graph graph = graph_of(kPorts, kTwoLayers);
  MeasuredCosts costs(with_answer(nullptr, "ok 9000 1 1 2 busy"), {});
  costs.measure(graph, {partition_of(graph, {"a"})});
  EXPECT_EQ(costs.stats().disturbed, 1u);
  EXPECT_EQ(costs.stats().settled, 0u);
}

TEST(MeasuredCosts, StopsWhereItIsAskedTo) {
  ir::Graph graph = graph_of(kPorts, kTwoLayers);
  auto database = CostDatabase::open(":memory:");
  ASSERT_TRUE(database) << database.message();
  // It answers once, and then never.
  MeasuredCostsOptions options = with_dead_worker(database->get());
  options.worker.program = "/bin/sh";
  options.worker.arguments = {"-c", "printf '\\0\\0\\0\\0\\15\\0\\0\\0ok 7000 1 1 2' >&3; exec sleep 60"};
  std::atomic<bool> stop = false;
  options.stop = &stop;
  std::thread user;
  options.progress = [&](const MeasuringProgress& now) {
    if (now.done != 1 || user.joinable()) return;
    user = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      stop = true;
    });
  };
  MeasuredCosts costs(options, {});
  const auto start = std::chrono::steady_clock::now();
  const std::vector<place::MeasuredCost> answers =
      costs.measure(graph, {partition_of(graph, {"a"}), partition_of(graph, {"b"}), partition_of(graph, {"a", "b"})});
  if (user.joinable()) user.join();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_TRUE(answers[0].cost);
  EXPECT_FALSE(answers[1].cost);
  EXPECT_FALSE(answers[2].cost);
  EXPECT_FALSE(answers[2].lasting);
  EXPECT_TRUE(costs.is_stopped());
  EXPECT_EQ(costs.kept(), 1u);
  auto rows = (*database)->rows();
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->size(), 1u);
}

TEST(MeasuredCosts, StopsWithoutADatabase) {
  ir::Graph graph = graph_of(kPorts, kTwoLayers);
  MeasuredCostsOptions options = with_dead_worker(nullptr);
  options.worker.program = "/bin/sh";
  options.worker.arguments = {"-c", "printf '\\0\\0\\0\\0' >&3; exec sleep 60"};
  std::atomic<bool> stop = false;
  options.stop = &stop;
  MeasuredCosts costs(options, {});
  std::thread user([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    stop = true;
  });
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(costs.measure(graph, {partition_of(graph, {"a"})})[0].cost);
  user.join();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_EQ(costs.kept(), 0u);
}

TEST(MeasuredCosts, RowsThatDoNotCountAreNamed) {
  ir::Graph graph = graph_of(kPorts, kTwoLayers);
  auto database = CostDatabase::open(":memory:");
  ASSERT_TRUE(database) << database.message();
  const MeasuredCostsOptions options = with_answer(database->get(), "ok 7000 1 1 2");
  const std::vector<ir::Partition> candidates = {partition_of(graph, {"a"})};
  MeasuredCosts(options, {}).measure(graph, candidates);
  auto rows = (*database)->rows();
  ASSERT_TRUE(rows && rows->size() == 1);
  ASSERT_TRUE((*database)->remove_if([](const CostRow&) { return true; }));
  (*rows)[0].measurement.cost = Duration::picoseconds(-7);
  ASSERT_TRUE((*database)->write(*rows));
  MeasuredCosts costs(options, {});
  EXPECT_EQ(costs.measure(graph, candidates)[0].cost, Duration::picoseconds(7000));
  EXPECT_EQ(costs.take_refused(), std::vector<std::string>{(*rows)[0].id() + ": impossible cost -7ps"});
  EXPECT_TRUE(costs.take_refused().empty());
}

}  // namespace
}  // namespace collage::measure
