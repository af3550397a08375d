// SPDX-License-Identifier: Apache-2.0
// Many executions of one program: they share what does not change, and disturb each other in nothing.
#include "runtime/exec/execution.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "tests/unit/runtime/exec/test_plan.h"

namespace collage::runtime {
namespace {

using namespace test;  // NOLINT: helpers of this file

std::shared_ptr<const Program> load_program(const TestPlan& plan, const TableCode& code = {}, int threads = 1,
                                            LoadOptions options = {}) {
  auto program = Program::load(plan.plan, std::make_shared<TableCode>(code), threads, std::move(options));
  EXPECT_TRUE(program) << (program ? "" : program.message());
  return program ? *program : nullptr;
}

std::unique_ptr<Execution> make_execution(const std::shared_ptr<const Program>& program) {
  auto execution = Execution::create(program);
  EXPECT_TRUE(execution) << (execution ? "" : execution.message());
  return execution ? std::move(*execution) : nullptr;
}

/// out[i] = 2 * in[i] through scratch memory, slowly enough that runs meet.
void slow_twice(void* const* buffers, const void* const*, int64_t begin, int64_t end) {
  const auto* in = static_cast<const float*>(buffers[0]);
  auto* out = static_cast<float*>(buffers[1]);
  auto* scratch = static_cast<float*>(buffers[2]);
  std::memcpy(scratch, in, static_cast<size_t>(end) * 4);
  std::this_thread::yield();
  for (int64_t i = begin; i < end; ++i) out[i] = 2 * scratch[i];
}

/// Host kernels with scratch, constants on host and devices, every kind of conversion, two devices.
TestPlan mixed_plan(bool is_concurrent, bool is_realtime) {
  TestPlan plan(2);
  plan.plan.is_concurrent = is_concurrent;
  for (DeviceSpec& device : plan.plan.devices) {
    device.copy_queue = true;
    if (is_realtime) device.attrs.set("realtime", int64_t{1});
  }
  const Shape shape{2, 3, 4, 5};
  const BufferId x = plan.input(shape);
  const BufferId bias = plan.constant(0, counting({5}, 1));
  const BufferId scale = plan.constant(1, counting({3, 1, 1}, 1));
  const BufferId offset = plan.constant(2, counting(shape, -7), "NHWC");
  const BufferId twice = plan.buffer(0, shape), shifted = plan.buffer(0, shape);
  const BufferId a_in = plan.buffer(1, shape, "NHWC"), a_out = plan.buffer(1, shape, "NHWC");
  const BufferId a_plain = plan.buffer(1, shape), b_in = plan.buffer(2, shape), b_out = plan.buffer(2, shape);
  const BufferId from_a = plan.buffer(0, shape), from_b = plan.buffer(0, shape, "NHWC");
  const BufferId back = plan.buffer(0, shape), y = plan.buffer(0, shape), z = plan.buffer(0, shape);
  plan.convert(x, a_in);  // the host rewrites first
  plan.device(0, {op("Mul", {a_in, scale}, {a_out})}, 3'000'000);
  plan.host({KernelCall{"twice", {x, twice}, element_count(shape), element_count(shape), 480}});
  plan.host({op("Add", {twice, bias}, {shifted})});
  plan.convert(a_out, a_plain, 1'000'000);
  plan.convert(a_plain, b_in);  // from device to device
  plan.convert(a_out, from_a);  // the host rewrites afterwards
  plan.device(1, {op("Sub", {b_in, offset}, {b_out})}, 2'000'000);
  plan.convert(b_out, from_b);
  plan.convert(from_b, back);
  plan.host({op("Add", {shifted, from_a}, {y})});
  plan.host({op("Mul", {y, back}, {z})});
  plan.output(y);
  plan.output(z);
  return plan;
}

TableCode mixed_code() {
  TableCode code;
  code.kernels["twice"] = &slow_twice;
  return code;
}

Tensor random_input(unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> number(-4, 4);
  Tensor tensor(DType::F32, {2, 3, 4, 5});
  for (float& value : tensor.as<float>()) value = number(random);
  return tensor;
}

TEST(Execution, AnyNumberAtOnceGivesTheBitsOfOneAlone) {
  constexpr int kThreads = 4, kRuns = 12;
  for (const auto& [is_concurrent, is_realtime] :
       {std::pair(false, false), {true, false}, {false, true}, {true, true}}) {
    auto program = load_program(mixed_plan(is_concurrent, is_realtime), mixed_code());
    std::vector<std::vector<Tensor>> expected;
    auto alone = make_execution(program);
    for (unsigned run = 0; run < kRuns; ++run) {
      auto outputs = alone->run({random_input(run)});
      ASSERT_TRUE(outputs) << outputs.message();
      expected.push_back(*outputs);
    }
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        auto mine = make_execution(program);
        for (int i = 0; i < kRuns; ++i) {
          const auto run = static_cast<unsigned>((i + t * 5) % kRuns);
          auto outputs = mine->run({random_input(run)});
          const bool good = outputs && identical((*outputs)[0], expected[run][0]) &&
                            identical((*outputs)[1], expected[run][1]) &&
                            mine->timeline().slots().size() == program->plan().steps.size();
          if (!good) ++wrong;
        }
        if (mine->device_time() != alone->device_time()) ++wrong;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0) << is_concurrent << is_realtime;
  }
}

TEST(Execution, WhenStepsRunChangesNeitherResultsNorSimulatedTime) {
  std::vector<std::vector<Tensor>> results;
  std::vector<Duration> times;
  for (const auto& [is_concurrent, is_realtime] :
       {std::pair(false, false), {true, false}, {false, true}, {true, true}}) {
    auto execution = make_execution(load_program(mixed_plan(is_concurrent, is_realtime), mixed_code()));
    auto outputs = execution->run({random_input(3)});
    ASSERT_TRUE(outputs) << outputs.message();
    results.push_back(*outputs);
    times.push_back(execution->device_time());
  }
  for (size_t i = 1; i < results.size(); ++i) {
    EXPECT_TRUE(identical(results[i][0], results[0][0]));
    EXPECT_TRUE(identical(results[i][1], results[0][1]));
    EXPECT_EQ(times[i], times[0]);
  }
  EXPECT_GT(times[0], Duration());
}

// --- memory of the caller ---

/// Where the last call of `note_twice` found its operands.
struct Noted {
  const void* in = nullptr;
  void* out = nullptr;
};
Noted& noted() {
  static Noted at;
  return at;
}

void note_twice(void* const* buffers, const void* const*, int64_t begin, int64_t end) {
  noted() = {buffers[0], buffers[1]};
  for (int64_t i = begin; i < end; ++i) {
    static_cast<float*>(buffers[1])[i] = 2 * static_cast<const float*>(buffers[0])[i];
  }
}

struct TwicePlan {
  explicit TwicePlan(bool is_apart) {
    const BufferId x = test.input({40}), y = test.buffer(0, {40});
    test.host({KernelCall{"twice", {x, y}, 40, 40, 0}});
    test.output(y);
    test.plan.inputs[0].is_apart = test.plan.outputs[0].is_apart = is_apart;
    code.kernels["twice"] = &note_twice;
  }

  TestPlan test;
  TableCode code;
};

TEST(Execution, UsesAlignedMemoryOfTheCallerInPlace) {
  TwicePlan twice(true);
  auto execution = make_execution(load_program(twice.test, twice.code));
  const Tensor room = counting({200}), results(DType::F32, {200});
  for (const auto& [shift, is_in_place] : {std::pair(0, true), {3, false}, {16, true}, {1, false}, {32, true}}) {
    const std::byte* from = room.data() + shift * 4;
    std::byte* to = results.data() + shift * 4;
    Status status = execution->run(std::vector<const std::byte*>{from}, std::vector<std::byte*>{to});
    ASSERT_TRUE(status) << status.message();
    EXPECT_EQ(noted().in == from, is_in_place);
    EXPECT_EQ(noted().out == to, is_in_place);
    for (size_t i = 0; i < 40; ++i) {
      ASSERT_EQ(results.as<float>()[i + static_cast<size_t>(shift)],
                2 * room.as<float>()[i + static_cast<size_t>(shift)]);
    }
  }
}

TEST(Execution, CopiesWhereThePlanSharesTheBytesOfAPort) {
  TwicePlan twice(false);
  auto execution = make_execution(load_program(twice.test, twice.code));
  const Tensor input = counting({40});
  auto outputs = execution->run({input});
  ASSERT_TRUE(outputs) << outputs.message();
  EXPECT_NE(noted().in, input.data());
  EXPECT_NE(noted().out, (*outputs)[0].data());
  EXPECT_EQ(values((*outputs)[0])[39], 78);
}

TEST(Execution, AValueThatIsTwoPortsIsCopied) {
  TestPlan plan;
  const BufferId x = plan.input({8}), y = plan.buffer(0, {8});
  plan.host({op("Neg", {x}, {y})});
  for (BufferId id : {y, y, x}) plan.output(id);
  for (auto* ports : {&plan.plan.inputs, &plan.plan.outputs}) {
    for (PlanPort& port : *ports) port.is_apart = true;
  }
  auto execution = make_execution(load_program(plan));
  for (float from : {1.0f, 5.0f}) {
    auto outputs = execution->run({counting({8}, from)});
    ASSERT_TRUE(outputs) << outputs.message();
    EXPECT_EQ(values((*outputs)[0])[7], -(from + 7));
    EXPECT_TRUE(identical((*outputs)[0], (*outputs)[1]));
    EXPECT_TRUE(identical((*outputs)[2], counting({8}, from)));
  }
}

TEST(Execution, DevicesCopyFromAndToMemoryOfTheCaller) {
  for (bool is_realtime : {false, true}) {
    TestPlan plan(1);
    if (is_realtime) plan.plan.devices[0].attrs.set("realtime", int64_t{1});
    const BufferId x = plan.input({64}), in = plan.buffer(1, {64}), out = plan.buffer(1, {64}),
                   y = plan.buffer(0, {64});
    plan.convert(x, in);
    plan.device(0, {op("Neg", {in}, {out})}, 1'000);
    plan.convert(out, y);
    plan.output(y);
    plan.plan.inputs[0].is_apart = plan.plan.outputs[0].is_apart = true;
    auto execution = make_execution(load_program(plan));
    for (float from : {1.0f, 9.0f, -3.0f}) {
      auto outputs = execution->run({counting({64}, from)});
      ASSERT_TRUE(outputs) << outputs.message();
      EXPECT_EQ(values((*outputs)[0])[63], -(from + 63));
      EXPECT_TRUE(identical(*execution->read(y), (*outputs)[0])) << "it can be read where it lies";
    }
  }
}

// --- what a program holds ---

TEST(Execution, ConstantsOfTheHostMayBeTheCallers) {
  TestPlan plan(1);
  const BufferId x = plan.input({4});
  const BufferId first = plan.constant(0, f32({4}, {0, 0, 0, 0})), second = plan.constant(0, f32({4}, {0, 0, 0, 0}));
  const BufferId there = plan.constant(1, f32({4}, {1, 2, 3, 4}));
  const BufferId in = plan.buffer(1, {4}), out = plan.buffer(1, {4}), back = plan.buffer(0, {4});
  const BufferId sum = plan.buffer(0, {4}), y = plan.buffer(0, {4});
  plan.convert(x, in);
  plan.device(0, {op("Add", {in, there}, {out})}, 1);
  plan.convert(out, back);
  plan.host({op("Add", {back, first}, {sum}), op("Mul", {sum, second}, {y})});
  plan.output(y);
  const size_t at = plan.plan.buffers[static_cast<size_t>(second)].offset;
  std::erase_if(plan.plan.constants, [&](const ConstantInit& init) { return init.buffer != there; });
  EXPECT_FALSE(Program::load(plan.plan, std::make_shared<TableCode>(), 1)) << "it needs values from somewhere";

  auto region = std::make_shared<Tensor>(DType::U8, Shape{static_cast<int64_t>(plan.plan.spaces[0].constant_bytes)});
  const auto fill = [&](size_t offset, const Tensor& tensor) {
    std::memcpy(region->data() + offset, tensor.data(), tensor.bytes());
  };
  fill(0, f32({4}, {10, 20, 30, 40}));
  fill(at, f32({4}, {1, -1, 2, -2}));
  const auto load_with = [&](size_t skipped, size_t bytes) {
    Plan ready = plan.plan;
    ready.host_constants = {std::shared_ptr<const std::byte>(region, region->data() + skipped), bytes};
    return Program::load(std::move(ready), std::make_shared<TableCode>(), 1);
  };
  EXPECT_FALSE(load_with(0, region->bytes() - 1));
  EXPECT_FALSE(load_with(4, region->bytes()));
  std::weak_ptr<Tensor> watched = region;
  auto program = load_with(0, region->bytes());
  ASSERT_TRUE(program) << program.message();
  EXPECT_EQ((*program)->host_constants(), region->data()) << "they are not copied";
  region.reset();
  auto execution = make_execution(*program);
  *program = nullptr;
  auto outputs = execution->run({f32({4}, {0, 0, 1, 1})});
  ASSERT_TRUE(outputs) << outputs.message();
  EXPECT_EQ(values((*outputs)[0]), (std::vector<float>{11, -22, 68, -90}));
  EXPECT_FALSE(watched.expired());
  execution.reset();
  EXPECT_TRUE(watched.expired());
}

TEST(Execution, EachHasItsArenaOnTheDeviceAndGivesItBack) {
  TestPlan plan(1);
  const BufferId x = plan.input({100}), weight = plan.constant(1, counting({100}));
  const BufferId in = plan.buffer(1, {100}), out = plan.buffer(1, {100}), y = plan.buffer(0, {100});
  plan.convert(x, in);
  plan.device(0, {op("Add", {in, weight}, {out})}, 1);
  plan.convert(out, y);
  plan.output(y);
  MemorySpace& space = plan.plan.spaces[1];
  space.capacity = space.constant_bytes + 2 * space.arena_bytes;
  auto program = load_program(plan);
  auto first = make_execution(program), second = make_execution(program);
  EXPECT_EQ(program->device(0).memory().used, space.capacity);
  auto refused = Execution::create(program);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.message().find("npu[0]"), std::string::npos) << refused.message();
  first.reset();
  EXPECT_EQ(program->device(0).memory().used, space.constant_bytes + space.arena_bytes);
  auto third = make_execution(program);
  for (auto* execution : {second.get(), third.get()}) {
    auto outputs = execution->run({counting({100})});
    ASSERT_TRUE(outputs) << outputs.message();
    EXPECT_EQ(values((*outputs)[0])[99], 198);
  }
}

TEST(Execution, AFaultIsThatOfOneExecution) {
  for (bool is_realtime : {false, true}) {
    TestPlan plan(1);
    plan.plan.devices[0].copy_queue = true;
    plan.plan.devices[0].attrs.set("fail_launch_at", int64_t{2});
    if (is_realtime) plan.plan.devices[0].attrs.set("realtime", int64_t{1});
    const BufferId x = plan.input({2}), in = plan.buffer(1, {2}), out = plan.buffer(1, {2}), y = plan.buffer(0, {2});
    plan.convert(x, in);
    plan.device(0, {op("Relu", {in}, {out})}, 1);
    plan.convert(out, y);
    plan.output(y);
    auto program = load_program(plan, {}, 1, {nullptr, 0});
    auto first = make_execution(program), second = make_execution(program);
    const std::vector<Tensor> inputs{f32({2}, {-1, 1})};
    EXPECT_TRUE(first->run(inputs));
    auto failed = second->run(inputs);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.message(), "partition `p0` on npu[0]: injected fault: fail_launch_at = 2");
    EXPECT_EQ(program->device(0).faults().count, 1u);
    for (auto* execution : {second.get(), first.get()}) {
      auto outputs = execution->run(inputs);
      ASSERT_TRUE(outputs) << outputs.message();
      EXPECT_EQ(values((*outputs)[0]), (std::vector<float>{0, 1}));
    }
  }
}

// --- overlap in wall time ---

constexpr double kSeconds = 0.1;  ///< of each piece of work

void sleep_and_copy(void* const* buffers, const void* const*, int64_t begin, int64_t end) {
  std::this_thread::sleep_for(std::chrono::duration<double>(kSeconds));
  for (int64_t i = begin; i < end; ++i) static_cast<float*>(buffers[1])[i] = static_cast<const float*>(buffers[0])[i];
}

TableCode sleeping_code() {
  TableCode code;
  code.kernels["sleep"] = &sleep_and_copy;
  return code;
}

/// The least time of a few calls, in pieces of work; less than their number where some of them ran at once. Other work
/// on the machine may delay any of them.
template <typename Call>
double least_pieces(const Call& call) {
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 3; ++round) {
    const auto start = std::chrono::steady_clock::now();
    call();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    least = std::min(least, taken.count() / kSeconds);
  }
  return least;
}

double pieces_of_run(Execution& execution, const std::vector<Tensor>& inputs) {
  return least_pieces([&] {
    auto outputs = execution.run(inputs);
    EXPECT_TRUE(outputs) << (outputs ? "" : outputs.message());
  });
}

constexpr int64_t kPiece = static_cast<int64_t>(kSeconds * 1e12);  ///< in picoseconds

TEST(Execution, TheHostWorksWhileADeviceDoes) {
  for (bool is_concurrent : {false, true}) {
    TestPlan plan(1);
    plan.plan.is_concurrent = is_concurrent;
    plan.plan.devices[0].attrs.set("realtime", int64_t{1});
    const BufferId x = plan.input({4}), in = plan.buffer(1, {4}), out = plan.buffer(1, {4});
    const BufferId back = plan.buffer(0, {4}), slept = plan.buffer(0, {4}), y = plan.buffer(0, {4});
    plan.convert(x, in);
    plan.device(0, {op("Neg", {in}, {out})}, kPiece);
    plan.host({KernelCall{"sleep", {x, slept}, 4, 4, 0}});
    plan.convert(out, back);
    plan.host({op("Add", {back, slept}, {y})});
    plan.output(y);
    auto execution = make_execution(load_program(plan, sleeping_code()));
    const double pieces = pieces_of_run(*execution, {counting({4})});
    EXPECT_GE(pieces, 1.0);
    EXPECT_LT(pieces, 2 * 0.85) << "one after the other";
    EXPECT_EQ(values(*execution->read(y)), (std::vector<float>{0, 0, 0, 0}));
  }
}

TEST(Execution, InAConcurrentPlanAWaitOfTheHostHoldsUpNoOtherQueue) {
  TestPlan plan(2);
  plan.plan.is_concurrent = true;
  for (DeviceSpec& device : plan.plan.devices) device.attrs.set("realtime", int64_t{1});
  const BufferId x = plan.input({4});
  const BufferId a_in = plan.buffer(1, {4}), a_out = plan.buffer(1, {4}), from_a = plan.buffer(0, {4});
  const BufferId b_in = plan.buffer(2, {4}), b_out = plan.buffer(2, {4}), from_b = plan.buffer(0, {4});
  const BufferId slept = plan.buffer(0, {4}), y = plan.buffer(0, {4});
  plan.convert(x, a_in);
  plan.device(0, {op("Neg", {a_in}, {a_out})}, kPiece);
  plan.convert(a_out, from_a);
  plan.host({KernelCall{"sleep", {from_a, slept}, 4, 4, 0}});
  plan.convert(x, b_in);
  plan.device(1, {op("Neg", {b_in}, {b_out})}, kPiece);
  plan.convert(b_out, from_b);
  plan.host({op("Add", {slept, from_b}, {y})});
  plan.output(y);
  auto execution = make_execution(load_program(plan, sleeping_code()));
  const double pieces = pieces_of_run(*execution, {counting({4})});
  EXPECT_GE(pieces, 2.0) << "the host needs the first device";
  EXPECT_LT(pieces, 3 * 0.85) << "the second device waits for nothing";
  EXPECT_EQ(values(*execution->read(y)), (std::vector<float>{0, -2, -4, -6}));
}

TEST(Execution, WhatADeviceHandsToAnotherMovesOnceAndPastTheHost) {
  TestPlan plan(2);
  const BufferId x = plan.input({100}), in = plan.buffer(1, {100}), made = plan.buffer(1, {100}),
                 there = plan.buffer(2, {100}), result = plan.buffer(2, {100}), y = plan.buffer(0, {100});
  plan.convert(x, in);
  plan.device(0, {op("Neg", {in}, {made})}, kPiece);
  plan.convert(made, there);
  plan.device(1, {op("Neg", {there}, {result})}, kPiece);
  plan.convert(result, y);
  plan.output(y);
  auto program = load_program(plan);
  auto execution = make_execution(program);
  for (size_t run = 1; run <= 2; ++run) {
    ASSERT_TRUE(execution->run({counting({100})}));
    EXPECT_EQ(program->device(0).traffic(), (Traffic{run * 400, 0, run * 400}));
    EXPECT_EQ(program->device(1).traffic(), (Traffic{0, run * 400, 0}));
  }
  EXPECT_EQ(values(*execution->read(y)), values(counting({100})));
}

TEST(Execution, InRealTimeDevicesWaitForEachOtherOnALinkOfASwitch) {
  for (bool is_shared : {true, false}) {
    TestPlan plan(2);
    plan.plan.is_concurrent = true;
    const BufferId x = plan.input({4});
    for (int device = 0; device < 2; ++device) {
      DeviceSpec& spec = plan.plan.devices[static_cast<size_t>(device)];
      spec.attrs.set("realtime", int64_t{1});
      spec.links[0].latency = Duration::picoseconds(kPiece);
      const std::string port = is_shared ? "pcie" : "pcie" + std::to_string(device);
      spec.links[0].hops = {{spec.space, port, false}, {port, "host", false}};
      plan.convert(x, plan.buffer(device + 1, {4}));
    }
    plan.output(x);
    auto execution = make_execution(load_program(plan));
    const double pieces = pieces_of_run(*execution, {counting({4})});
    EXPECT_GE(pieces, is_shared ? 2.0 : 1.0);
    if (!is_shared) {
      EXPECT_LT(pieces, 2 * 0.9);
    }
  }
}

TEST(Execution, ExecutionsOverlapOnDifferentPartsOfADevice) {
  TestPlan plan(1);
  plan.plan.devices[0].copy_queue = true;
  plan.plan.devices[0].attrs.set("realtime", int64_t{1});
  plan.plan.devices[0].links[0].latency = Duration::picoseconds(kPiece);
  const BufferId x = plan.input({4}), in = plan.buffer(1, {4}), out = plan.buffer(1, {4});
  plan.convert(x, in);
  plan.device(0, {op("Neg", {in}, {out})}, kPiece);
  plan.output(x);
  auto program = load_program(plan);
  auto first = make_execution(program), second = make_execution(program);
  const double pieces = least_pieces([&] {
    std::thread other([&] { EXPECT_TRUE(second->run({counting({4})})); });
    EXPECT_TRUE(first->run({counting({4})}));
    other.join();
  });
  EXPECT_GE(pieces, 3.0) << "copies take turns on the link";
  EXPECT_LT(pieces, 4 * 0.9) << "the second copy runs beside the first launch";
}

/// How many threads are inside a loop of two parts. Each waits for the other, so that none takes both.
std::atomic<int> inside = 0;

float meet_and_name_thread() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (++inside; inside < 2 && std::chrono::steady_clock::now() < end;) std::this_thread::yield();
  return static_cast<float>(::gettid());  // below 2^24: exact
}

void name_threads(void* const* buffers, const void* const*, int64_t begin, int64_t end) {
  const float id = meet_and_name_thread();
  for (int64_t i = begin; i < end; ++i) static_cast<float*>(buffers[1])[i] = id;
}

TEST(Execution, PreparesTheThreadsThatRunItsKernels) {
  TestPlan plan;
  const BufferId x = plan.input({2}), y = plan.buffer(0, {2});
  plan.host({KernelCall{"who", {x, y}, 2, 1}});
  plan.output(y);
  TableCode code;
  code.kernels["who"] = &name_threads;
  auto execution = make_execution(load_program(plan, code, 2));
  for (int round = 0; round < 3; ++round) {
    std::array<float, 2> prepared{};
    inside = 0;
    const RangeFunction prepare = [](void* names, int64_t begin, int64_t end, int) {
      const float id = meet_and_name_thread();
      for (int64_t i = begin; i < end; ++i) (*static_cast<std::array<float, 2>*>(names))[static_cast<size_t>(i)] = id;
    };
    ASSERT_TRUE(execution->on_threads(prepare, &prepared));
    inside = 0;
    auto outputs = execution->run({f32({2}, {0, 0})});
    ASSERT_TRUE(outputs) << outputs.message();
    std::vector<float> ran = values((*outputs)[0]);
    std::sort(ran.begin(), ran.end());
    std::sort(prepared.begin(), prepared.end());
    EXPECT_NE(prepared[0], prepared[1]);
    EXPECT_EQ(ran, std::vector<float>(prepared.begin(), prepared.end()));
  }
}

}  // namespace
}  // namespace collage::runtime
