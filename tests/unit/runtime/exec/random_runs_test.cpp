// SPDX-License-Identifier: Apache-2.0
// Random plans over random machines, run by several threads at once, several times each: every result has the bits of a
// run alone, in sequence and without shared memory; the simulated time is the same; and the log of all accesses to
// memory shows that nothing was read before it was written or after its memory was used again.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <thread>

#include "runtime/exec/execution.h"
#include "tests/unit/rounds.h"
#include "tests/unit/runtime/exec/access_log.h"
#include "tests/unit/runtime/exec/chooser.h"
#include "tests/unit/runtime/exec/test_plan.h"

namespace collage::runtime {
namespace {

using namespace test;  // NOLINT: helpers of this file

const Shape kShape{2, 3, 2, 4};
constexpr size_t kElements = 48;

/// Where kernels of the host write down what they do; null: nowhere.
std::atomic<AccessLog*> kernel_log = nullptr;

template <size_t kInputs, typename Compute>
void logged_kernel(void* const* buffers, const Compute& compute) {
  const auto range = [&](size_t i) {
    const auto from = reinterpret_cast<size_t>(buffers[i]);
    return ByteRange{nullptr, from, from + kElements * sizeof(float)};
  };
  AccessLog* log = kernel_log;
  size_t access = 0;
  if (log != nullptr) {
    std::vector<ByteRange> reads;
    for (size_t i = 0; i < kInputs; ++i) reads.push_back(range(i));
    access = log->add(AccessLog::current_execution(), -1, std::move(reads), {range(kInputs)});
    log->begin(access);
  }
  std::array<const float*, kInputs> inputs;
  for (size_t i = 0; i < kInputs; ++i) inputs[i] = static_cast<const float*>(buffers[i]);
  auto* output = static_cast<float*>(buffers[kInputs]);
  for (size_t i = 0; i < kElements; ++i) output[i] = compute(inputs, i);
  if (log != nullptr) log->end(access);
}

void negate(void* const* buffers, const void* const*, int64_t, int64_t) {
  logged_kernel<1>(buffers, [](const auto& in, size_t i) { return -in[0][i]; });
}
void add_numbers(void* const* buffers, const void* const*, int64_t, int64_t) {
  logged_kernel<2>(buffers, [](const auto& in, size_t i) { return in[0][i] + in[1][i]; });
}

TableCode kernels() {
  TableCode code;
  code.kernels = {{"negate", &negate}, {"add", &add_numbers}};
  return code;
}

/// Links of their own or over a switch, copies beside launches or not, commands in threads or not.
void choose_machine(Chooser& choose, Plan& plan) {
  const bool in_threads = choose.chance(70), has_switch = choose.chance(40);
  for (DeviceSpec& device : plan.devices) {
    device.copy_queue = choose.chance(50);
    if (in_threads) device.attrs.set("realtime", int64_t{1});
    for (DeviceSpec::Link& link : device.links) {
      link.latency = Duration::picoseconds(choose.below(1000));
      link.duplex = choose.chance(50);
      link.bytes_per_second = choose.chance(50) ? 1e12 : 1e13;
      if (has_switch) link.hops = {{device.space, "switch", link.duplex}, {"switch", link.to, link.duplex}};
    }
  }
}

/// Values wander over the memories and meet.
TestPlan random_plan(Chooser& choose) {
  TestPlan test(1 + choose.below(3));
  const int devices = static_cast<int>(test.plan.devices.size());
  test.plan.is_concurrent = choose.chance(70);
  choose_machine(choose, test.plan);
  const auto form = [&](BufferId id) { return test.plan.buffers[static_cast<size_t>(id)].tensor.form.layout; };
  const auto space = [&](BufferId id) { return test.plan.buffers[static_cast<size_t>(id)].space; };
  const std::vector<std::string> layouts{"plain", "plain", "NHWC", "CWHN"}, unary{"Neg", "Relu", "Abs"};
  std::vector<BufferId> constants{test.constant(0, counting(kShape, -9))};
  for (int d = 1; d <= devices; ++d) constants.push_back(test.constant(d, counting({4}, static_cast<float>(d))));
  std::vector<BufferId> values{test.input(kShape), test.input(kShape)};
  for (int steps = 2 + choose.below(16); steps > 0; --steps) {
    const BufferId from = choose.chance(60) ? values.back() : choose.of(values);
    const int here = space(from);
    std::vector<BufferId> partners;
    for (BufferId value : values) {
      if (space(value) == here && form(value) == form(from)) partners.push_back(value);
    }
    if (choose.chance(45)) {
      const int to = choose.below(devices + 1);
      if (here == 0 && to == 0) continue;
      const std::string layout = to == 0 ? "plain" : here != 0 && here != to ? form(from) : choose.of(layouts);
      values.push_back(test.buffer(to, kShape, layout));
      test.convert(from, values.back(), choose.below(100));
    } else if (here == 0) {
      const BufferId first = test.buffer(0, kShape), second = test.buffer(0, kShape);
      test.host({KernelCall{"negate", {from, first}}});
      test.host({KernelCall{"add", {first, choose.chance(50) ? constants[0] : choose.of(partners), second}}});
      values.insert(values.end(), {first, second});
    } else {
      const BufferId first = test.buffer(here, kShape, form(from)), second = test.buffer(here, kShape, form(from));
      const BufferId other = choose.chance(50) ? constants[static_cast<size_t>(here)] : choose.of(partners);
      test.device(here - 1, {op(choose.of(unary), {from}, {first}), op("Add", {first, other}, {second})},
                  choose.below(1000));
      values.insert(values.end(), {first, second});
    }
  }
  for (size_t v = values.size() - std::min<size_t>(values.size(), 3); v < values.size(); ++v) {
    const BufferId back = test.buffer(0, kShape);
    if (space(values[v]) == 0) {
      test.host({KernelCall{"negate", {values[v], back}}});
    } else {
      test.convert(values[v], back, 100);
    }
    test.output(back);
  }
  return test;
}

/// The buffers that a step touches.
std::vector<BufferId> touched(const Step& step) {
  std::vector<BufferId> ids;
  if (const auto* convert = std::get_if<ConvertStep>(&step)) ids = {convert->from, convert->to};
  if (const auto* host = std::get_if<HostStep>(&step)) ids = std::get<KernelCall>(host->calls[0]).buffers;
  if (const auto* device = std::get_if<DeviceStep>(&step)) {
    for (const OpCall& call : device->ops) {
      ids.insert(ids.end(), call.inputs.begin(), call.inputs.end());
      ids.insert(ids.end(), call.outputs.begin(), call.outputs.end());
    }
  }
  return ids;
}

/// Buffers move to where others lie that are not needed any more when they are written: all are of one size.
void share_memory(Chooser& choose, Plan& plan) {
  const int steps = static_cast<int>(plan.steps.size());
  std::vector<int> first(plan.buffers.size(), steps), last(plan.buffers.size(), -1);
  for (int s = 0; s < steps; ++s) {
    for (BufferId id : touched(plan.steps[static_cast<size_t>(s)])) {
      first[static_cast<size_t>(id)] = std::min(first[static_cast<size_t>(id)], s);
      last[static_cast<size_t>(id)] = s;
    }
  }
  for (const PlanPort& port : plan.inputs) first[static_cast<size_t>(port.buffer)] = -1;
  for (const PlanPort& port : plan.outputs) last[static_cast<size_t>(port.buffer)] = steps;
  std::vector<size_t> order;
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    if (!plan.buffers[b].is_constant) order.push_back(b);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return first[a] < first[b]; });
  std::map<std::pair<int, size_t>, int> used_until;  // by space and offset
  for (size_t b : order) {
    Buffer& buffer = plan.buffers[b];
    std::vector<size_t> offsets;
    for (const auto& [place, until] : used_until) {
      if (place.first == buffer.space && until < first[b]) offsets.push_back(place.second);
    }
    if (!offsets.empty() && choose.chance(70)) buffer.offset = choose.of(offsets);
    int& until = used_until[{buffer.space, buffer.offset}];
    until = std::max(until, last[b]);
  }
}

std::vector<Tensor> random_inputs(int execution, int run) {
  return {counting(kShape, static_cast<float>(execution * 7 + run)), counting(kShape, static_cast<float>(-30 - run))};
}

/// The place of an access in the plan's order: run, then step. -1: before all runs.
class PlanOrder {
 public:
  explicit PlanOrder(const Program& program) : steps_(static_cast<int>(program.plan().steps.size())) {
    for (const StepQueue& queue : program.graph().queues) queues_.push_back(queue.steps);
    for (int s = 0; s < steps_; ++s) {
      const auto* host = std::get_if<HostStep>(&program.plan().steps[static_cast<size_t>(s)]);
      if (host != nullptr) host_.push_back(s);
    }
  }

  int of(const Access& access) const {
    if (access.execution == 0) return -1;
    const std::vector<int>& steps = access.queue < 0 ? host_ : queues_[static_cast<size_t>(access.queue)];
    const int count = static_cast<int>(steps.size());
    return access.number / count * steps_ + steps[static_cast<size_t>(access.number % count)];
  }

 private:
  int steps_;
  std::vector<int> host_;
  std::vector<std::vector<int>> queues_;
};

/// Two accesses that conflict: in one execution the first of the plan ends before the other begins. Different
/// executions share what was written before both, and no two touch the same bytes at once.
std::string first_mistake(const std::vector<Access>& accesses, const PlanOrder& order, int* conflicts) {
  for (size_t i = 0; i < accesses.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const Access &a = accesses[j], &b = accesses[i];
      if (!conflict(a, b)) continue;
      ++*conflicts;
      const bool forward = a.end < b.begin, backward = b.end < a.begin;
      const int place = order.of(a), other = order.of(b);
      const bool is_ordered = a.execution == b.execution || place < 0 || other < 0;
      if (is_ordered ? (place < other ? forward : backward) : forward || backward) continue;
      return "places " + std::to_string(place) + " and " + std::to_string(other) + " of executions " +
             std::to_string(a.execution) + " and " + std::to_string(b.execution);
    }
  }
  return {};
}

struct Total {
  int runs = 0, accesses = 0, conflicts = 0;
};

void run_case(unsigned seed, Total* total) {
  Chooser choose(seed);
  TestPlan test = random_plan(choose);
  const int executions = 1 + choose.below(3), runs = 1 + choose.below(4);
  const auto code = std::make_shared<TableCode>(kernels());

  Plan simple = test.plan;
  simple.is_concurrent = false;
  for (DeviceSpec& device : simple.devices) device.attrs.set("realtime", int64_t{0});
  auto alone = Execution::create(*Program::load(simple, code, 1));
  ASSERT_TRUE(alone) << seed << ": " << alone.message();
  std::vector<std::vector<std::vector<Tensor>>> expected(static_cast<size_t>(executions));
  Duration device_time;  // of one execution's runs
  for (int e = 0; e < executions; ++e) {
    for (int r = 0; r < runs; ++r) {
      auto outputs = (*alone)->run(random_inputs(e, r));
      ASSERT_TRUE(outputs) << seed << ": " << outputs.message();
      expected[static_cast<size_t>(e)].push_back(*outputs);
    }
    if (e == 0) device_time = (*alone)->device_time();
  }

  share_memory(choose, test.plan);
  const auto log = std::make_shared<AccessLog>();
  AccessLog::current_execution() = 0;
  LoadOptions options;
  options.wrap = [&](std::unique_ptr<Device> device) { return std::make_unique<LoggedDevice>(std::move(device), log); };
  auto program = Program::load(test.plan, code, 1, options);
  ASSERT_TRUE(program) << seed << ": " << program.message();
  kernel_log = log.get();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int e = 0; e < executions; ++e) {
    threads.emplace_back([&, e] {
      AccessLog::current_execution() = e + 1;
      auto execution = Execution::create(*program);
      for (int r = 0; execution && r < runs; ++r) {
        auto outputs = (*execution)->run(random_inputs(e, r));
        const std::vector<Tensor>& right = expected[static_cast<size_t>(e)][static_cast<size_t>(r)];
        bool is_right = outputs && outputs->size() == right.size();
        for (size_t i = 0; is_right && i < right.size(); ++i) is_right = identical((*outputs)[i], right[i]);
        if (!is_right) ++wrong;
      }
      if (!execution || (*execution)->device_time() != device_time) ++wrong;
    });
  }
  for (std::thread& thread : threads) thread.join();
  kernel_log = nullptr;
  EXPECT_EQ(wrong, 0) << seed;
  EXPECT_EQ(first_mistake(log->accesses(), PlanOrder(**program), &total->conflicts), "") << seed;
  total->runs += executions * runs;
  total->accesses += static_cast<int>(log->accesses().size());
}

TEST(RandomRuns, AreRightInAnyNumberAtOnceOnAnyMachine) {
  const auto cases = static_cast<unsigned>(testing::rounds(1000));
  Total total;
  for (unsigned seed = 0; seed < cases && !HasFailure(); ++seed) run_case(seed, &total);
  std::printf("%u plans, %d runs, %d accesses, %d pairs in order\n", cases, total.runs, total.accesses,
              total.conflicts);
  EXPECT_GT(total.conflicts, total.runs);
}

/// The check of the log finds what it is there for.
TEST(RandomRuns, AnAccessOutOfOrderIsFound) {
  Chooser choose(1);
  TestPlan plan(1);
  const BufferId x = plan.input(kShape), on_device = plan.buffer(1, kShape), y = plan.buffer(0, kShape);
  plan.convert(x, on_device);
  plan.convert(on_device, y);
  plan.output(y);
  auto program = Program::load(plan.plan, std::make_shared<TableCode>(), 1);
  ASSERT_TRUE(program) << program.message();
  const PlanOrder order(**program);
  const int memory = 0;
  const auto access = [&](int execution, int number, uint64_t begin, uint64_t end, bool writes) {
    const std::vector<ByteRange> bytes{{&memory, 64, 128}};
    return Access{execution,
                  0,
                  number,
                  begin,
                  end,
                  writes ? std::vector<ByteRange>() : bytes,
                  writes ? bytes : std::vector<ByteRange>()};
  };
  int conflicts = 0;
  const auto is_right = [&](const Access& a, const Access& b) {
    return first_mistake({a, b}, order, &conflicts).empty();
  };
  EXPECT_TRUE(is_right(access(1, 0, 1, 2, true), access(1, 1, 3, 4, false)));
  EXPECT_FALSE(is_right(access(1, 0, 1, 3, true), access(1, 1, 2, 4, false))) << "read while it is written";
  EXPECT_FALSE(is_right(access(1, 0, 3, 4, true), access(1, 1, 1, 2, false))) << "read before it is written";
  EXPECT_FALSE(is_right(access(1, 0, 3, 4, true), access(1, 1, 1, 0, false))) << "read without an end";
  EXPECT_FALSE(is_right(access(1, 0, 1, 3, true), access(2, 0, 2, 4, true))) << "memory of two executions";
  EXPECT_FALSE(is_right(access(0, 0, 5, 6, true), access(1, 0, 3, 4, false))) << "a constant that comes late";
  EXPECT_TRUE(is_right(access(1, 0, 1, 3, false), access(2, 0, 2, 4, false))) << "both read";
}

}  // namespace
}  // namespace collage::runtime
