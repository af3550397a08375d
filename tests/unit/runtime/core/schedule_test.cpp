// SPDX-License-Identifier: Apache-2.0
// The event model, and that concurrent plans run by it.
#include "runtime/core/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <thread>

#include "runtime/core/machine.h"
#include "runtime/exec/executor.h"
#include "runtime/plan/plan_schedule.h"
#include "tests/unit/runtime/exec/test_plan.h"

namespace collage::runtime {
namespace {

using test::counting;
using test::op;
using test::TestPlan;

Duration ps(int64_t count) {
  return Duration::picoseconds(count);
}

Task task(int64_t length, std::vector<int> resources, std::vector<int> after = {}) {
  return {ps(length), std::move(resources), std::move(after)};
}

TEST(Schedule, OverlapsCopiesWithCompute) {
  Timeline timeline;
  for (const Task& t : {task(4, {0}), task(4, {0}), task(6, {1}, {0}), task(2, {1}, {1})}) timeline.add(t);
  EXPECT_EQ(timeline.slots(), (std::vector<Slot>{{ps(0), ps(4)}, {ps(4), ps(8)}, {ps(4), ps(10)}, {ps(10), ps(12)}}));
  EXPECT_EQ(timeline.makespan(), ps(12));
}

TEST(Schedule, AQueueKeepsTheOrderOfItsCommands) {
  // The second command could start at once, but stands after one that waits.
  EXPECT_EQ(makespan({task(5, {0}), task(1, {1}, {0}), task(3, {1})}), ps(9));
}

TEST(Schedule, ATaskHoldsAllItsResources) {
  EXPECT_EQ(makespan({task(2, {0, 1}), task(3, {1, 2}), task(4, {0})}), ps(6));
  EXPECT_EQ(busy_times({task(2, {0, 1}), task(3, {1, 2})}), (std::vector<Duration>{ps(2), ps(5), ps(3)}));
}

/// Copy in, work, copy out on one link: a pipeline of three stages.
std::vector<Task> three_stages() {
  return {task(4, {0}), task(10, {1}, {0}), task(3, {0}, {1})};
}

TEST(Schedule, AStreamFillsItsStages) {
  const Stream stream = run_stream(three_stages(), 4);
  EXPECT_EQ(stream.stages, 3);
  ASSERT_EQ(stream.slots.size(), 4U);
  EXPECT_EQ(stream.slots[0], (std::vector<Slot>{{ps(0), ps(4)}, {ps(4), ps(14)}, {ps(14), ps(17)}}));
  EXPECT_EQ(stream.slots[1], (std::vector<Slot>{{ps(4), ps(8)}, {ps(14), ps(24)}, {ps(24), ps(27)}}));
  EXPECT_EQ(stream.slots[3], (std::vector<Slot>{{ps(27), ps(31)}, {ps(34), ps(44)}, {ps(44), ps(47)}}));
  // As much as the middle stage can: one in 10.
  EXPECT_EQ(stream_period(three_stages()), ps(10));
}

TEST(Schedule, RequestsBeyondThoseInFlightWait) {
  const Stream one = run_stream(three_stages(), 3, {1});
  EXPECT_EQ(one.slots[2], (std::vector<Slot>{{ps(34), ps(38)}, {ps(38), ps(48)}, {ps(48), ps(51)}}));
  const Stream two = run_stream(three_stages(), 4, {2});
  EXPECT_EQ(two.slots[2].front().start, ps(27));  // the first pair has ended
  EXPECT_EQ(two.slots[3].back().finish, ps(54));
  // As many as there are stages, and more, change nothing.
  for (int in_flight : {3, 7})
    EXPECT_EQ(run_stream(three_stages(), 6, {in_flight}).slots, run_stream(three_stages(), 6).slots);
}

TEST(Schedule, AnInputWaitsForAPlaceInARoom) {
  // What is copied in is in the memory until the work ends.
  const Stream one = run_stream(three_stages(), 3, {0, {{{0, 1}, 1}}});
  EXPECT_EQ(one.slots[0].back(), (Slot{ps(18), ps(21)}));  // after the copy of the next one
  EXPECT_EQ(one.slots[1].front(), (Slot{ps(14), ps(18)}));
  EXPECT_EQ(one.slots[2], (std::vector<Slot>{{ps(28), ps(32)}, {ps(32), ps(42)}, {ps(42), ps(45)}}));
  const std::vector<StreamRoom> rooms = {{{0, 1}, 2}};
  EXPECT_EQ(rounds_in_rooms(three_stages(), rooms), std::vector<int>{2});
  const Stream two = run_stream(three_stages(), 5, {0, rooms});
  EXPECT_EQ(two.slots[3].back().finish, ps(47));
  EXPECT_EQ(two.slots[4], (std::vector<Slot>{{ps(37), ps(41)}, {ps(44), ps(54)}, {ps(54), ps(57)}}));
}

TEST(Schedule, PlacesOfARoomAreTakenInTurn) {
  // Inputs 0 to 2 have the places 0, 1, 0, and so have 3 to 5.
  const Stream stream = run_stream(three_stages(), 7, {0, {{{0, 1}, 2, 3}}});
  const auto enters = [&](size_t input) { return stream.slots[input][0].start; };
  const auto leaves = [&](size_t input) { return stream.slots[input][1].finish; };
  EXPECT_LT(enters(1), leaves(0));
  EXPECT_GE(enters(2), leaves(0));
  EXPECT_LT(enters(2), leaves(1));
  EXPECT_EQ(enters(3), leaves(2)) << "the one before it has its place";
  EXPECT_LT(enters(4), leaves(3));
  EXPECT_EQ(enters(6), leaves(5));
  // With as many in turn as places nothing else happens than with places alone.
  EXPECT_EQ(run_stream(three_stages(), 9, {0, {{{0, 1}, 2, 2}}}).slots,
            run_stream(three_stages(), 9, {0, {{{0, 1}, 2}}}).slots);
}

TEST(Schedule, WhatIsMadeEarlyTakesItsPlaceLate) {
  // The first task could run in the first stage, and is wanted in the third.
  const std::vector<Task> tasks = {task(1, {0}), task(5, {1}), task(5, {2}, {1}), task(1, {3}, {0, 2})};
  EXPECT_EQ(rounds_in_rooms(tasks, {{{0, 3}, 1}, {{1}, 1}, {{1, 2, 3}, 1}}), (std::vector<int>{2, 1, 3}));
}

TEST(Schedule, RoomsOfRandomStreamsAreKeptAndLargeOnesCostNothing) {
  std::mt19937 random(11);
  constexpr int kTasks = 10, kInputs = 120;
  for (int round = 0; round < 100; ++round) {
    std::vector<Task> tasks;
    for (int t = 0; t < kTasks; ++t) {
      Task made = task(static_cast<int64_t>(random() % 20), {static_cast<int>(random() % 4)});
      for (int before = 0; before < t; ++before) {
        if (random() % 4 == 0) made.after.push_back(before);
      }
      tasks.push_back(std::move(made));
    }
    std::vector<StreamRoom> rooms(3);
    for (StreamRoom& room : rooms) {
      room.inputs = 1 + static_cast<int>(random() % 3);
      for (int t = 0; t < kTasks; ++t) {
        if (t == 0 || random() % 3 == 0) room.tasks.push_back(t);
      }
    }
    const Stream stream = run_stream(tasks, kInputs, {0, rooms});
    for (const StreamRoom& room : rooms) {
      for (size_t input = static_cast<size_t>(room.inputs); input < kInputs; ++input) {
        Duration start = Duration::max(), left;
        for (int task : room.tasks) {
          start = std::min(start, stream.slots[input][static_cast<size_t>(task)].start);
          const size_t before = input - static_cast<size_t>(room.inputs);
          left = std::max(left, stream.slots[before][static_cast<size_t>(task)].finish);
        }
        ASSERT_GE(start, left);
      }
    }
    const std::vector<int> rounds = rounds_in_rooms(tasks, rooms);
    for (size_t r = 0; r < rooms.size(); ++r) rooms[r].inputs = rounds[r];
    const Stream roomy = run_stream(tasks, kInputs, {0, rooms});
    const auto end_of = [&](int input) {
      Duration end;
      for (const Slot& slot : roomy.slots[static_cast<size_t>(input)]) end = std::max(end, slot.finish);
      return end;
    };
    constexpr int kHalf = kInputs / 2;
    EXPECT_LE(end_of(kInputs - 1) - end_of(kHalf - 1), ps(kHalf * stream_period(tasks).ps()));
  }
}

TEST(Schedule, AMachineKnowsWhichOfItsResourcesAreLinks) {
  Machine machine;
  machine.add_device("npu[0]", true);
  machine.add_route("npu[0]", "host", {{"npu[0]", "pcie", true}, {"pcie", "host", false}});
  int links = 0;
  for (int resource : machine.of_copy("host", "npu[0]")) {
    const LinkHop* link = machine.link(resource);
    if (link == nullptr) continue;
    ++links;
    EXPECT_TRUE(link->from == "pcie" || link->to == "pcie");
  }
  EXPECT_EQ(links, 2);
  EXPECT_EQ(machine.link(machine.of_work("npu[0]").front()), nullptr);
}

TEST(Schedule, SaturatesInsteadOfOverflowing) {
  Task endless{Duration::max(), {0}, {}};
  EXPECT_EQ(makespan({endless, endless}), Duration::max());
}

TEST(Schedule, GoodOrderPutsTheLongChainFirst) {
  const std::vector<Task> tasks = {task(3, {0}), task(1, {0}), task(9, {1}, {1})};
  EXPECT_EQ(makespan(tasks), ps(13));
  EXPECT_EQ(good_order(tasks).front(), 1);
  EXPECT_EQ(makespan(reordered(tasks, good_order(tasks))), ps(10));
}

TEST(Schedule, GoodOrderIsNeverWorseAndKeepsDependencies) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<Task> tasks;
    for (int t = 0; t < 12; ++t) {
      Task made = task(static_cast<int64_t>(random() % 9), {static_cast<int>(random() % 3)});
      if (random() % 2 == 0) made.resources.push_back(3 + static_cast<int>(random() % 2));
      for (int before = 0; before < t; ++before) {
        if (random() % 5 == 0) made.after.push_back(before);
      }
      tasks.push_back(std::move(made));
    }
    const std::vector<Task> sorted = reordered(tasks, good_order(tasks));
    for (size_t t = 0; t < sorted.size(); ++t) {
      for (int before : sorted[t].after) ASSERT_LT(before, static_cast<int>(t));
    }
    Duration sum;
    for (const Task& t : tasks) sum += t.length;
    EXPECT_LE(makespan(sorted), makespan(tasks));
    EXPECT_LE(makespan(tasks), sum);
    const std::vector<Duration> busy = busy_times(tasks);
    EXPECT_GE(stream_period(tasks), *std::max_element(busy.begin(), busy.end()));
  }
}

TEST(Schedule, AStreamTakesTheBusiestResource) {
  // host -> copy -> npu -> copy -> host: one after the other they take 20, in a stream the device's 8 an input.
  const std::vector<Task> tasks = {task(3, {0}), task(2, {1}, {0}), task(8, {2}, {1}), task(2, {3}, {2}),
                                   task(4, {0}, {3})};
  EXPECT_EQ(makespan(tasks), ps(19));
  EXPECT_EQ(stream_period(tasks), ps(8));
  EXPECT_EQ(stream_period({task(3, {0}), task(4, {0}, {0})}), ps(7));
}

TEST(Schedule, AStreamOfRandomTasksTakesTheBusiestResource) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    std::vector<Task> tasks;
    for (int t = 0; t < 10; ++t) {
      Task made = task(static_cast<int64_t>(random() % 20), {static_cast<int>(random() % 4)});
      for (int before = 0; before < t; ++before) {
        if (random() % 4 == 0) made.after.push_back(before);
      }
      tasks.push_back(std::move(made));
    }
    const std::vector<Duration> busy = busy_times(tasks);
    EXPECT_EQ(stream_period(tasks), *std::max_element(busy.begin(), busy.end()));
  }
}

TEST(Schedule, MachineKnowsQueuesAndLinks) {
  Machine machine;
  machine.add_device("npu[0]", true);
  machine.add_device("npu[1]", false);
  machine.add_link("npu[0]", "host", true);
  machine.add_link("npu[1]", "host", false);
  const auto apart = [](const std::vector<int>& a, const std::vector<int>& b) {
    return std::none_of(a.begin(), a.end(), [&](int r) { return std::find(b.begin(), b.end(), r) != b.end(); });
  };
  const auto in = machine.of_copy("host", "npu[0]"), out = machine.of_copy("npu[0]", "host");
  EXPECT_TRUE(apart(in, out)) << "a duplex link, and a copy queue for each direction";
  EXPECT_TRUE(apart(in, machine.of_work("npu[0]"))) << "a copy queue of its own";
  EXPECT_FALSE(apart(machine.of_copy("host", "npu[1]"), machine.of_work("npu[1]"))) << "no copy queue";
  EXPECT_FALSE(apart(machine.of_copy("host", "npu[1]"), machine.of_copy("npu[1]", "host"))) << "one at a time";
  EXPECT_TRUE(apart(in, machine.of_copy("host", "npu[1]"))) << "links of different devices";
  EXPECT_TRUE(apart(in, machine.of_work("host"))) << "the host only asks for a copy";
  EXPECT_EQ(machine.of_conversion("npu[0]", "npu[0]"), machine.of_work("npu[0]"));
}

TEST(Schedule, CopiesOverASwitchShareItsPorts) {
  Machine machine;
  const auto over_pcie = [](const std::string& from, const std::string& to, bool is_duplex) {
    return std::vector<LinkHop>{{from, "pcie", is_duplex}, {"pcie", to, is_duplex}};
  };
  for (const char* device : {"npu[0]", "npu[1]", "npu[2]"}) {
    machine.add_device(device, true);
    machine.add_route(device, "host", over_pcie(device, "host", true));
  }
  machine.add_route("npu[0]", "npu[1]", over_pcie("npu[0]", "npu[1]", true));
  machine.add_route("npu[2]", "npu[1]", over_pcie("npu[2]", "npu[1]", true));
  const auto apart = [](const std::vector<int>& a, const std::vector<int>& b) {
    return std::none_of(a.begin(), a.end(), [&](int r) { return std::find(b.begin(), b.end(), r) != b.end(); });
  };
  const auto to_first = machine.of_copy("host", "npu[0]"), to_second = machine.of_copy("host", "npu[1]");
  EXPECT_FALSE(apart(to_first, to_second)) << "both leave the host over one link";
  EXPECT_TRUE(apart(to_first, machine.of_copy("npu[1]", "host"))) << "the directions of a duplex link";
  const auto peers = machine.of_copy("npu[0]", "npu[1]");
  EXPECT_TRUE(apart(peers, machine.of_copy("host", "npu[2]"))) << "the host's port has no part in it";
  EXPECT_FALSE(apart(peers, to_second)) << "both arrive at one port";
  EXPECT_TRUE(apart(peers, machine.of_copy("npu[1]", "npu[0]")));
  EXPECT_FALSE(apart(peers, machine.of_copy("npu[2]", "npu[1]")));
  const auto back = machine.of_copy("npu[1]", "npu[2]");
  EXPECT_FALSE(apart(back, to_first) && apart(back, machine.of_copy("npu[0]", "npu[2]"))) << "a way reversed";
}

TEST(Schedule, AMachineAsksForARouteOnceAndNumbersItAsIfItHadBeenAdded) {
  std::vector<std::string> asked;
  Machine finds([&](const std::string& from, const std::string& to) {
    asked.push_back(from + " " + to);
    if (to == "npu[2]") return std::vector<LinkHop>();
    return std::vector<LinkHop>{{from, "pcie", true}, {"pcie", to, true}};
  });
  Machine knows;
  for (Machine* machine : {&finds, &knows}) {
    for (const char* device : {"npu[0]", "npu[1]", "npu[2]"}) machine->add_device(device, true);
    machine->add_link("npu[1]", "host", false);
  }
  knows.add_route("npu[1]", "npu[0]", {{"npu[1]", "pcie", true}, {"pcie", "npu[0]", true}});
  EXPECT_TRUE(asked.empty());
  for (const auto& [from, to] : {std::pair("npu[1]", "npu[0]"), {"host", "npu[1]"}, {"npu[0]", "npu[1]"}}) {
    EXPECT_EQ(finds.of_copy(from, to), knows.of_copy(from, to)) << from << " " << to;
  }
  EXPECT_EQ(asked, std::vector<std::string>{"npu[0] npu[1]"}) << "once for both ways, and not for what was added";
  EXPECT_EQ(finds.of_copy("npu[2]", "npu[0]"), knows.of_copy("npu[2]", "npu[0]")) << "one link";
  EXPECT_EQ(finds.names(), knows.names());
}

/// One input, copied to both devices, two branches, both copied back.
TestPlan two_branches(bool is_concurrent) {
  TestPlan test(2);
  test.plan.is_concurrent = is_concurrent;
  for (DeviceSpec& device : test.plan.devices) device.copy_queue = true;
  BufferId in = test.input({250});
  for (int device = 0; device < 2; ++device) {
    BufferId there = test.buffer(device + 1, {250}), made = test.buffer(device + 1, {250}),
             back = test.buffer(0, {250});
    test.convert(in, there, 2'000'000);
    test.device(device, {op("Relu", {there}, {made})}, 5'000'000);
    test.convert(made, back, 2'000'000);
    test.output(back);
  }
  return test;
}

TEST(Schedule, PartitionsOnTwoDevicesOverlapInAConcurrentPlan) {
  for (bool is_concurrent : {false, true}) {
    TestPlan test = two_branches(is_concurrent);
    test::TableCode code;
    auto executor = Executor::load(test.plan, code, 1);
    ASSERT_TRUE(executor) << executor.message();
    for (int run = 0; run < 2; ++run) {
      auto outputs = (*executor)->run({counting({250}, -3)});
      ASSERT_TRUE(outputs) << outputs.message();
      EXPECT_EQ(test::values((*outputs)[0]), test::values((*outputs)[1]));
      EXPECT_EQ((*executor)->timeline().makespan(), ps(is_concurrent ? 9'000'000 : 18'000'000));
      EXPECT_EQ((*executor)->device_time(), ps(18'000'000 * (run + 1)));
    }
  }
}

TEST(Schedule, PredictionAndRuntimeAreOneModel) {
  TestPlan test = two_branches(true);
  Machine machine = machine_of(test.plan.devices);
  test::TableCode code;
  auto executor = Executor::load(test.plan, code, 1);
  ASSERT_TRUE(executor && (*executor)->run({counting({250})}));
  Timeline predicted;
  for (const Task& t : tasks_of(test.plan, machine)) predicted.add(t);
  EXPECT_EQ(predicted.slots(), (*executor)->timeline().slots());
}

/// The branches again, where both devices reach the host over one switch.
TestPlan two_branches_over_a_switch(bool is_duplex) {
  TestPlan test = two_branches(true);
  for (DeviceSpec& device : test.plan.devices) {
    device.links[0].hops = {{device.space, "pcie", is_duplex}, {"pcie", "host", is_duplex}};
  }
  return test;
}

TEST(Schedule, TransfersThatShareALinkFollowEachOtherAsPredicted) {
  // 2 us for each copy, 5 us for each launch. The second operand follows the first one, or, where directions take turns
  // in the order of the plan, the first result.
  for (bool is_duplex : {false, true}) {
    TestPlan test = two_branches_over_a_switch(is_duplex);
    Machine machine = machine_of(test.plan.devices);
    Timeline predicted;
    for (const Task& t : tasks_of(test.plan, machine)) predicted.add(t);
    EXPECT_EQ(predicted.makespan(), ps(is_duplex ? 11'000'000 : 18'000'000));
    test::TableCode code;
    auto executor = Executor::load(test.plan, code, 1);
    ASSERT_TRUE(executor && (*executor)->run({counting({250})}));
    EXPECT_EQ((*executor)->timeline().slots(), predicted.slots());
  }
}

TEST(Schedule, ACopyBesideALaunchHidesItsTime) {
  // Four tiles through one device, each 2 us in and 5 us of work, in two buffers in turn.
  const auto play = [](bool has_copy_queue, int buffers) {
    TestPlan test(1);
    test.plan.is_concurrent = true;
    test.plan.devices[0].copy_queue = has_copy_queue;
    std::vector<size_t> offsets;
    for (int tile = 0; tile < 4; ++tile) {
      const BufferId from = test.input({250}), there = test.buffer(1, {250}), made = test.buffer(1, {250});
      Buffer& buffer = test.plan.buffers[static_cast<size_t>(there)];
      if (tile >= buffers) buffer.offset = offsets[static_cast<size_t>(tile - buffers)];
      offsets.push_back(buffer.offset);
      test.convert(from, there, 2'000'000);
      test.device(0, {op("Relu", {there}, {made})}, 5'000'000);
    }
    Machine machine = machine_of(test.plan.devices);
    Timeline predicted;
    for (const Task& t : tasks_of(test.plan, machine)) predicted.add(t);
    test.output(0);
    test::TableCode code;
    auto executor = Executor::load(test.plan, code, 1);
    EXPECT_TRUE(executor && (*executor)->run(std::vector<Tensor>(4, counting({250}))));
    EXPECT_EQ((*executor)->timeline().slots(), predicted.slots());
    return predicted.makespan();
  };
  EXPECT_EQ(play(false, 2), ps(4 * 7'000'000)) << "no queue for copies: the sum";
  EXPECT_EQ(play(true, 1), ps(4 * 7'000'000)) << "one buffer: the next tile waits until this one is read";
  EXPECT_EQ(play(true, 2), ps(2'000'000 + 4 * 5'000'000)) << "two: only the first copy is seen";
}

TEST(Schedule, SimulatedTimeIsTheSameInEveryRunAndUnderLoad) {
  const auto slots = [] {
    TestPlan test = two_branches_over_a_switch(false);
    test::TableCode code;
    auto executor = Executor::load(test.plan, code, 1);
    EXPECT_TRUE(executor && (*executor)->run({counting({250})}));
    return std::pair((*executor)->timeline().slots(), (*executor)->device_time());
  };
  const auto first = slots();
  for (int run = 0; run < 10; ++run) EXPECT_EQ(slots(), first);
  std::atomic<bool> stop = false;
  std::vector<std::thread> load;
  for (int t = 0; t < 3; ++t) {
    load.emplace_back([&stop] {
      while (!stop) std::vector<int>(1000, 1).swap(*std::make_unique<std::vector<int>>());
    });
  }
  for (int run = 0; run < 10; ++run) EXPECT_EQ(slots(), first);
  stop = true;
  for (std::thread& thread : load) thread.join();
}

/// Two inputs, each copied to one device (2 us) and read there by a launch (5 us), in turn.
struct TwoLaunches {
  TwoLaunches() {
    test.plan.is_concurrent = true;
    test.plan.devices[0].copy_queue = true;
    const BufferId a = test.input({250}), b = test.input({250});
    first = test.buffer(1, {250});
    second = test.buffer(1, {250});
    const BufferId x = test.buffer(1, {250}), y = test.buffer(1, {250});
    test.convert(a, first, 2'000'000);
    test.device(0, {op("Relu", {first}, {x})}, 5'000'000);
    test.convert(b, second, 2'000'000);
    test.device(0, {op("Relu", {second}, {y})}, 5'000'000);
  }
  Buffer& buffer(BufferId id) { return test.plan.buffers[static_cast<size_t>(id)]; }
  Duration makespan() {
    Machine machine = machine_of(test.plan.devices);
    return runtime::makespan(tasks_of(test.plan, machine));
  }

  TestPlan test{1};
  BufferId first = 0, second = 0;  ///< on the device
};

TEST(Schedule, StepsWaitForMemoryThatIsStillRead) {
  TwoLaunches launches;
  EXPECT_EQ(launches.makespan(), ps(12'000'000));
  launches.buffer(launches.second).offset = launches.buffer(launches.first).offset;
  EXPECT_EQ(launches.makespan(), ps(14'000'000)) << "the second copy waits until the first launch has read";
}

TEST(Schedule, StepsWaitForTheBytesThatStoredElementsTake) {
  // An f32 value stored as f64 takes twice the bytes of its elements: the second half is touched, too.
  TwoLaunches launches;
  Buffer& wide = launches.buffer(launches.first);
  wide.tensor.form.storage = Storage{StorageType::F64};
  launches.buffer(launches.second).offset = wide.offset + 1024;
  EXPECT_EQ(launches.makespan(), ps(14'000'000));
}

}  // namespace
}  // namespace collage::runtime
