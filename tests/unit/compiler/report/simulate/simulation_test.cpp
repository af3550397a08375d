// SPDX-License-Identifier: Apache-2.0
// Plans on the clock of the event model alone: the times that simulated devices count when the same plan runs, what
// they keep in their memory, what the links carry, and what the run waits for.
#include "compiler/report/simulate/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/compilation/compilation.h"
#include "compiler/program/program.h"
#include "compiler/report/simulate/print_simulation.h"
#include "runtime/core/random.h"
#include "runtime/plan/plan_schedule.h"
#include "runtime/runner/trace.h"

namespace collage::report {
namespace {

constexpr const char* kFolder = "tests/filetests/objective/";

/// A model of the file tests on the two devices of acc.rules, placed for an objective.
class Simulating : public ::testing::Test {
 protected:
  void place(const std::string& model_name, const std::string& objective) {
    request::Settings settings;
    settings.costs.mode = request::CostMode::Estimate;
    settings.cache = "";
    settings.objective = place::parse_objective(objective, "--objective", diags_);
    settings.place = {"op:Conv=acc"};
    auto model = request::read_model_file({kFolder + model_name}, sources_, diags_);
    auto rules = request::read_rule_files({std::string(kFolder) + "Inputs/acc.rules"}, sources_, diags_);
    ASSERT_TRUE(model && rules != nullptr) << diags_.render();
    compilation_ = compilation::Compilation::open(std::move(*model), std::move(rules), settings, diags_);
    ASSERT_NE(compilation_, nullptr) << diags_.render();
    ASSERT_TRUE(compilation_->run_passes({}, diags_)) << diags_.render();
    auto candidates = compilation_->find_candidates({}, nullptr, diags_);
    ASSERT_TRUE(candidates) << diags_.render();
    found_ = compilation_->find_placement(*candidates, {}, diags_);
    ASSERT_TRUE(found_) << diags_.render();
  }

  runtime::Plan outline() {
    auto plan = plan::outline_plan(compilation_->graph(), found_->placement, compilation_->targets());
    EXPECT_TRUE(plan);
    return plan ? std::move(*plan) : runtime::Plan();
  }

  SimulateOptions options(bool is_stream = false, int in_flight = 0) const {
    return {compilation_->targets().devices.size(), is_stream, in_flight};
  }

  /// Compiles the placement and runs it. Returns what simulated devices and links took, one after another, and the end
  /// of the last step.
  std::pair<Duration, Duration> run() {
    auto program =
        program::build_program(compilation_->graph(), found_->placement, compilation_->targets(), {}, diags_);
    EXPECT_TRUE(program) << diags_.render();
    auto executor = program::load_program(*program, 1, diags_);
    EXPECT_NE(executor, nullptr) << diags_.render();
    std::vector<runtime::Tensor> inputs;
    for (ir::ValueId id : compilation_->graph().inputs()) {
      const ir::TensorType& type = compilation_->graph().value(id).type;
      inputs.push_back(runtime::random_tensor(type.dtype, type.shape, 1));
    }
    const Duration before = executor->device_time();
    EXPECT_TRUE(executor->run(inputs));
    return {executor->device_time() - before, executor->timeline().makespan()};
  }

  support::SourceManager sources_;
  support::Diagnostics diags_{sources_};
  std::unique_ptr<compilation::Compilation> compilation_;
  std::optional<search::FoundPlacement> found_;
};

TEST_F(Simulating, StepsInTurnTakeWhatTheDevicesCount) {
  place("pinned_branches.ir", "latency");
  const Simulation simulation = simulate(outline(), options());
  EXPECT_EQ(to_string(simulation.time), "85.6384us");
  EXPECT_EQ(simulation.time, run().first);
  EXPECT_EQ(simulation.path.of(PathKind::Compute), Duration::picoseconds(80'000'000));
  EXPECT_EQ(simulation.path.of(PathKind::Queued), Duration());
}

TEST_F(Simulating, StepsSideBySideTakeWhatTheExecutorsClockSays) {
  place("pinned_branches.ir", "makespan");
  const Simulation simulation = simulate(outline(), options());
  EXPECT_EQ(to_string(simulation.time), "42.8192us");
  EXPECT_EQ(simulation.time, run().second);
}

TEST_F(Simulating, CountsMemoryLinksAndTheWayOfTheRun) {
  place("pinned_branches.ir", "makespan");
  const Simulation simulation = simulate(outline(), options());
  EXPECT_EQ(simulation.devices, 2U);
  EXPECT_EQ(simulation.copies, 4);
  EXPECT_EQ(simulation.copied_bytes, 4U * 4096);
  ASSERT_EQ(simulation.memories.size(), 3U);
  for (const MemoryUse& memory : simulation.memories) {
    EXPECT_EQ(memory.is_host, memory.space == "host");
    if (memory.is_host) continue;
    EXPECT_EQ(memory.constants, 64U);  // 4 x 4 weights
    EXPECT_EQ(memory.arena, 2U * 4096);
    EXPECT_EQ(to_string(memory.busy), "40us");
  }
  ASSERT_EQ(simulation.links.size(), 4U);  // both directions of two
  for (const LinkUse& link : simulation.links) {
    EXPECT_EQ(link.kind, "acc - host");
    EXPECT_EQ(link.bytes, 4096U);
    EXPECT_EQ(to_string(link.busy), "1.4096us");
  }
  ASSERT_EQ(simulation.kinds.size(), 1U);
  EXPECT_EQ(simulation.kinds[0].links, 4);
  EXPECT_EQ(simulation.kinds[0].bytes, 4U * 4096);
  // In, work, out.
  ASSERT_EQ(simulation.path.steps.size(), 3U);
  EXPECT_EQ(simulation.path.steps[0].kind, PathKind::Copy);
  EXPECT_EQ(simulation.path.steps[0].what, "%x");
  EXPECT_EQ(simulation.path.steps[1].kind, PathKind::Compute);
  EXPECT_EQ(simulation.path.steps[2].kind, PathKind::Copy);
  Duration sum;
  for (const PathStep& step : simulation.path.steps) sum += step.length;
  EXPECT_EQ(sum, simulation.time);
}

TEST_F(Simulating, AStreamHasAPeriodAndAFirstResult) {
  place("throughput.ir", "throughput");
  const Simulation simulation = simulate(outline(), options(true));
  ASSERT_TRUE(simulation.stream);
  EXPECT_EQ(to_string(simulation.stream->period), "80us");
  EXPECT_EQ(simulation.stream->period, found_->predicted.time());
  EXPECT_GE(simulation.stream->first, simulation.time);
  EXPECT_EQ(simulation.stream->bubbles, 0);
  EXPECT_EQ(simulation.stream->in_flight, simulation.stream->stages);
  EXPECT_EQ(simulation.stream->limited_by, "");
  // One at a time: nothing overlaps with the next.
  const Simulation alone = simulate(outline(), options(true, 1));
  EXPECT_EQ(alone.stream->first, simulation.time);
  EXPECT_EQ(alone.stream->period, simulation.time);
  EXPECT_GT(alone.stream->bubbles, 0.4);
}

const MemoryUse& memory_of(const Simulation& simulation, const std::string& space) {
  return *std::find_if(simulation.memories.begin(), simulation.memories.end(),
                       [&](const MemoryUse& memory) { return memory.space == space; });
}

TEST_F(Simulating, AMemoryHoldsTheRequestsThatAreThere) {
  place("throughput.ir", "throughput");
  runtime::Plan plan = outline();
  const Simulation roomy = simulate(plan, options(true));
  ASSERT_TRUE(roomy.stream);
  ASSERT_GT(roomy.stream->stages, 2);
  EXPECT_GT(memory_of(roomy, "acc[1]").requests, 1);
  EXPECT_LE(memory_of(roomy, "acc[1]").requests, roomy.stream->stages);
  for (runtime::MemorySpace& space : plan.spaces) {
    if (space.name == "acc[1]") space.capacity = space.constant_bytes + space.arena_bytes + 100;
  }
  const Simulation tight = simulate(plan, options(true));
  ASSERT_TRUE(tight.stream);
  EXPECT_EQ(tight.stream->limited_by, "acc[1]");
  const MemoryUse& memory = memory_of(tight, "acc[1]");
  EXPECT_EQ(memory.requests, 1);
  EXPECT_LE(memory.bytes(), memory.capacity);
  // The next one arrives when this one has left: what else the device could do meanwhile is lost.
  EXPECT_GT(tight.stream->period, roomy.stream->period);
  for (const MemoryUse& used : tight.memories) EXPECT_GE(tight.stream->period, used.busy);
  EXPECT_LE(tight.stream->period, tight.time);
}

TEST_F(Simulating, CopiesDoNotRunAheadOfSlowDevices) {
  place("pinned_branches.ir", "throughput");
  const runtime::Plan plan = outline();
  for (int in_flight : {0, 100}) {
    const Simulation simulation = simulate(plan, options(true, in_flight));
    ASSERT_TRUE(simulation.stream);
    EXPECT_EQ(to_string(simulation.stream->period), "40us");
    for (const MemoryUse& memory : simulation.memories) EXPECT_LE(memory.requests, simulation.stream->stages);
  }
}

TEST_F(Simulating, ThePathSaysWhatWaitsForAQueue) {
  // Two launches on one device, of which the second needs nothing of the first.
  runtime::Plan plan;
  plan.is_concurrent = true;
  plan.spaces = {{"host", 0, 0, 0}, {"npu[0]", 0, 0, 0}};
  plan.devices = {{"npu[0]", "sim", {}, {}}};
  const Duration length = Duration::picoseconds(7);
  plan.partitions = {{"a", "npu", "npu[0]", {}, length}, {"b", "npu", "npu[0]", {}, length}};
  plan.steps = {runtime::DeviceStep{0, 0, {}, length}, runtime::DeviceStep{1, 0, {}, length}};
  runtime::Machine machine = runtime::machine_of(plan.devices);
  const std::vector<runtime::Task> tasks = runtime::tasks_of(plan, machine);
  const CriticalPath path = critical_path(plan, tasks, runtime::predicted_timeline(plan, tasks));
  ASSERT_EQ(path.steps.size(), 2U);
  EXPECT_EQ(path.steps[0].kind, PathKind::Queued);
  EXPECT_EQ(path.steps[1].kind, PathKind::Compute);
  EXPECT_EQ(path.of(PathKind::Queued), length);
}

TEST_F(Simulating, TheTraceHasTheSimulatedTimes) {
  place("pinned_branches.ir", "makespan");
  const runtime::Plan plan = outline();
  const runner::Trace trace = runner::predicted_trace(plan);
  EXPECT_EQ(trace.predicted, simulate(plan, options()).time);
  EXPECT_FALSE(trace.has_run);
  EXPECT_EQ(runner::to_trace_json(trace).find("actual"), std::string::npos);
}

}  // namespace
}  // namespace collage::report
