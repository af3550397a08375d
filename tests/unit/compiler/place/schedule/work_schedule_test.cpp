// SPDX-License-Identifier: Apache-2.0
// Solutions and written placements as tasks, by SolutionScheduler and by FlatScheduler.
#include "compiler/place/schedule/work_schedule.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "compiler/place/schedule/flat_scheduler.h"
#include "tests/unit/compiler/place/schedule/two_devices.h"
#include "tests/unit/compiler/sema/fixture.h"

namespace collage::place {
namespace {

/// `4 on host - npu[0], npu[0] after 0`, a line for each task.
std::string text_of(const std::vector<runtime::Task>& tasks, const std::vector<std::string>& resources) {
  std::string text;
  for (const runtime::Task& task : tasks) {
    std::set<std::string> held;
    for (int r : task.resources) held.insert(resources[static_cast<size_t>(r)]);
    text += fmt::format("{} on {}", task.length.ps(), fmt::join(held, ", "));
    if (!task.after.empty()) text += fmt::format(" after {}", fmt::join(task.after, ", "));
    text += "\n";
  }
  return text;
}

std::string tasks_text(const Sketch& sketch, const std::vector<CandidateId>& chosen) {
  SolutionScheduler scheduler(sketch.problem, WithDevice::machine());
  FlatScheduler flat(sketch.problem, scheduler);
  const auto tasks = scheduler.tasks(chosen);
  FlatTasks* same = flat.tasks(chosen);
  EXPECT_EQ(tasks.has_value(), same != nullptr);
  if (!tasks || same == nullptr) return "none";
  EXPECT_EQ(same->size(), tasks->size());
  EXPECT_EQ(same->makespan(), makespan(reordered(*tasks, good_order(*tasks))));
  return text_of(*tasks, scheduler.resources());
}

TEST(WorkSchedule, ACopyStandsBeforeThePartitionThatNeedsItAndHoldsLinkAndQueue) {
  WithDevice sketch(3, {{0, 1}, {1, 2}});
  sketch.add_singletons(10);
  const CandidateId on_device = sketch.add({1}, 3, sketch.npu, sketch.device);
  EXPECT_EQ(tasks_text(sketch, {0, on_device, 2}),
            "10 on host\n"
            "4 on host - npu[0], npu[0] after 0\n"
            "3 on npu[0] after 1\n"
            "5 on host - npu[0], npu[0] after 2\n"
            "10 on host after 3\n");
}

TEST(WorkSchedule, TwoReadersShareACopy) {
  // The input goes over once; both results come back for themselves.
  WithDevice sketch(2, {});
  sketch.add({0}, 2, sketch.npu, sketch.device);
  sketch.add({1}, 3, sketch.npu, sketch.device);
  EXPECT_EQ(tasks_text(sketch, {0, 1}),
            "4 on host - npu[0], npu[0]\n"
            "2 on npu[0] after 0\n"
            "3 on npu[0] after 0\n"
            "5 on host - npu[0], npu[0] after 1\n"
            "5 on host - npu[0], npu[0] after 2\n");
}

TEST(WorkSchedule, PartitionsThatCanRunGoByTheirSmallestNode) {
  // 0 -> 3, and 1, 2 apart: {0, 3} goes first although it has the largest node; 1 and 2 follow.
  WithDevice sketch(4, {{0, 3}});
  sketch.add({1}, 11);
  sketch.add({2}, 12);
  sketch.add({0, 3}, 13);
  EXPECT_EQ(tasks_text(sketch, {0, 1, 2}), "13 on host\n11 on host\n12 on host\n");
}

TEST(WorkSchedule, AnOutputThatIsReadOnTheDeviceTooComesBackAtTheEnd) {
  WithDevice sketch(2, {{0, 1}});
  sketch.result_of(0).is_output = true;
  sketch.add({0}, 1, sketch.npu, sketch.device);
  sketch.add({1}, 2, sketch.npu, sketch.device);
  EXPECT_EQ(tasks_text(sketch, {0, 1}),
            "4 on host - npu[0], npu[0]\n"
            "1 on npu[0] after 0\n"
            "2 on npu[0] after 1\n"
            "5 on host - npu[0], npu[0] after 1\n"
            "5 on host - npu[0], npu[0] after 2\n");
}

TEST(WorkSchedule, ACandidateWithoutACostHasNoTasks) {
  WithDevice sketch(1, {});
  sketch.add({0}, 1);
  sketch.problem.candidates.back().cost = Cost::max();
  EXPECT_EQ(tasks_text(sketch, {0}), "none");
}

TEST(WorkSchedule, AFormatThatNoConversionLeadsToHasNoTasks) {
  WithDevice sketch(1, {});
  sketch.add({0}, 1, sketch.npu, sketch.add_format("npu[0]", "NHWC"));
  EXPECT_EQ(tasks_text(sketch, {0}), "none");
}

TEST(WorkSchedule, PartitionsThatWaitForEachOtherHaveNoTasks) {
  // 0 -> 2, 1 -> 3, 0 -> 3, 1 -> 2.
  WithDevice crossing(4, {{0, 2}, {1, 3}, {0, 3}, {1, 2}});
  crossing.add({0, 2}, 1);
  crossing.add({1, 3}, 1);
  EXPECT_EQ(tasks_text(crossing, {0, 1}), "none");
}

TEST(WorkSchedule, FlatTasksTakeWhatTheTasksTakeInEverySolution) {
  int compared = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const WithDevice sketch = random_sketch(seed);
    for_each_solution(sketch.problem, [&](const Solution& solution) {
      EXPECT_NE(tasks_text(sketch, solution.chosen), "none") << seed;
      ++compared;
    });
  }
  EXPECT_GT(compared, 100);
}

TEST(WorkSchedule, AWrittenPlacementHasTheTasksOfItsPartitionsAndConversions) {
  const testing::Loaded loaded = testing::load(
      "model @m(%x: f32[4]) -> (%y: f32[4]) {\n"
      "  %a = partition @p0 on host(host) cost 10ps (%x) -> (host) {\n"
      "    %a = Relu(%x) : f32[4]\n"
      "  }\n"
      "  %a.npu = convert %a to npu[0] cost 4ps : f32[4]\n"
      "  %y.npu = partition @p1 on npu(npu[0]) cost 3ps (%a.npu) -> (npu[0]) {\n"
      "    %y.npu = Relu(%a.npu) : f32[4]\n"
      "  }\n"
      "  %y = convert %y.npu to host cost 5ps : f32[4]\n"
      "}\n");
  ASSERT_TRUE(loaded.model) << loaded.errors;
  runtime::Machine machine = WithDevice::machine();
  machine.of_copy("host", "npu[0]");  // names the link
  EXPECT_EQ(text_of(tasks_of(loaded.model->graph, loaded.model->placement, machine), machine.names()),
            "10 on host\n"
            "4 on host - npu[0], npu[0] after 0\n"
            "3 on npu[0] after 1\n"
            "5 on host - npu[0], npu[0] after 2\n");
}

}  // namespace
}  // namespace collage::place
