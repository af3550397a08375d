// SPDX-License-Identifier: Apache-2.0
// Random graphs under random placements: whatever goes where and lies how, the run gives the bits of the reference.
#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "compiler/place/objectives/objective.h"
#include "compiler/place/schedule/work_schedule.h"
#include "compiler/plan/arena.h"
#include "compiler/plan/check.h"
#include "runtime/plan/plan_schedule.h"
#include "tests/unit/compiler/plan/test_model.h"

namespace collage::plan {
namespace {

using namespace test;  // NOLINT: helpers of this file
using ir::Format;

class Randomizer {
 public:
  explicit Randomizer(unsigned seed) : random_(seed) {}
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  std::string layout() {
    static const char* const kLayouts[] = {"plain", "NHWC", "CWHN", "HWNC"};
    return kLayouts[below(4)];
  }

 private:
  std::mt19937 random_;
};

/// Elementwise operators and a softmax along the channels, which tells layouts apart.
void fill_graph(Model& model, Randomizer& random) {
  std::vector<std::string> values{"x0", "x1", "c0", "c1"};
  model.input("x0", {2, 3, 4, 5});
  model.input("x1", {1, 3, 1, 5});
  model.constant("c0", counting({3, 1, 1}, -1, 1));
  model.constant("c1", counting({2, 3, 4, 5}, -0.5f, 0.01f));
  std::vector<std::string> nodes;
  int count = 1 + random.below(25);
  for (int i = 0; i < count; ++i) {
    static const char* const kUnary[] = {"Relu", "Neg", "Abs", "Sigmoid", "Softmax"};
    static const char* const kBinary[] = {"Add", "Mul", "Sub", "Max"};
    auto operand = [&] { return values[static_cast<size_t>(random.below(static_cast<int>(values.size())))]; };
    std::string name = "n" + std::to_string(i);
    if (random.chance(40)) {
      int kind = random.below(5);
      ir::AttrMap attrs;
      if (kind == 4) attrs.set("axis", int64_t{1});
      std::string x = operand();
      model.node(name, kUnary[kind], {x == "c0" ? "x1" : x}, attrs);
    } else {
      std::string a = operand();
      model.node(name, kBinary[random.below(4)], {a == "c0" ? "x1" : a, operand()});
    }
    values.push_back(name);
    nodes.push_back(name);
  }
  for (const std::string& name : nodes) {
    ir::ValueId value = model.graph.find_value(name);
    if (model.graph.value(value).uses.empty() || random.chance(10)) model.output(name.c_str());
  }
}

/// Runs of nodes in id order are partitions: no cycle can arise.
void place_graph(Model& model, Randomizer& random,
                 const std::vector<std::string>& instances = {"host", "npu[0]", "npu[1]"}) {
  std::vector<std::string> run;
  auto close = [&] {
    std::string instance = instances[static_cast<size_t>(random.below(static_cast<int>(instances.size())))];
    std::map<std::string, std::string> layouts;
    for (ir::ValueId value : model.graph.value_ids()) layouts[model.graph.value(value).name] = random.layout();
    model.partition(runtime::is_host_space(instance) ? "host" : "npu", instance, run, 1 + random.below(1000), layouts);
    run.clear();
  };
  for (ir::NodeId node : model.graph.node_ids()) {
    run.push_back(model.graph.node_name(node));
    if (random.chance(40)) close();
  }
  if (!run.empty()) close();
}

/// Adds what is missing of: writer's format -> plain there -> plain on the host, or straight to a peer -> wanted
/// format.
void connect(Model& model, Randomizer& random) {
  std::map<ir::ValueId, std::vector<Format>> has;
  for (ir::ValueId input : model.graph.inputs()) has[input] = {ir::kHostPlain};
  for (const ir::Partition& partition : model.placement.partitions) {
    for (const ir::BoundaryValue& output : partition.outputs) has[output.value] = {output.format};
  }
  auto step = [&](ir::ValueId value, Format from, Format to) {
    std::vector<Format>& formats = has[value];
    if (std::find(formats.begin(), formats.end(), to) != formats.end()) return;
    formats.push_back(to);
    model.convert(model.graph.value(value).name.c_str(), from, to, 1 + random.below(100));
  };
  auto want = [&](ir::ValueId value, const Format& format) {
    Format at = has[value][0];
    if (std::find(has[value].begin(), has[value].end(), format) != has[value].end()) return;
    bool is_peer = at.space != "host" && format.space != "host" && at.space != format.space && random.chance(50);
    Format plain_there{at.space, "plain"};
    step(value, at, plain_there);
    if (at.space != format.space && !is_peer) {
      step(value, plain_there, ir::kHostPlain);
      plain_there = ir::kHostPlain;
    }
    // Copies from and to the host may change the layout on the way.
    if (plain_there.space == "host" && random.chance(30)) {
      step(value, plain_there, format);
      return;
    }
    step(value, plain_there, {format.space, "plain"});
    step(value, {format.space, "plain"}, format);
  };
  for (const ir::Partition& partition : model.placement.partitions) {
    for (const ir::BoundaryValue& input : partition.inputs) want(input.value, input.format);
  }
  for (ir::ValueId output : model.graph.outputs()) want(output, ir::kHostPlain);
  std::shuffle(model.placement.conversions.begin(), model.placement.conversions.end(), std::mt19937(7));
}

/// The same over several hosts: from memory to memory, plainly between them.
void connect_hosts(Model& model) {
  std::map<ir::ValueId, std::vector<Format>> has;
  for (ir::ValueId input : model.graph.inputs()) has[input] = {ir::kHostPlain};
  for (const ir::Partition& partition : model.placement.partitions) {
    for (const ir::BoundaryValue& output : partition.outputs) has[output.value] = {output.format};
  }
  const auto want = [&](ir::ValueId value, const Format& format) {
    std::vector<Format>& formats = has[value];
    const auto is_there = [&](const Format& one) {
      return std::find(formats.begin(), formats.end(), one) != formats.end();
    };
    if (is_there(format)) return;
    Format at = formats[0];
    const std::string from = runtime::host_space(model.targets.host_of(at.space));
    const std::string to = runtime::host_space(model.targets.host_of(format.space));
    for (const Format& next : {Format{at.space, "plain"}, Format{from, "plain"}, Format{to, "plain"},
                               Format{format.space, "plain"}, format}) {
      if (!is_there(next)) {
        model.convert(model.graph.value(value).name.c_str(), at, next, 1 + static_cast<int64_t>(formats.size()));
        formats.push_back(next);
      }
      at = next;
    }
  };
  for (const ir::Partition& partition : model.placement.partitions) {
    for (const ir::BoundaryValue& input : partition.inputs) want(input.value, input.format);
  }
  for (ir::ValueId output : model.graph.outputs()) want(output, ir::kHostPlain);
  std::shuffle(model.placement.conversions.begin(), model.placement.conversions.end(), std::mt19937(7));
}

/// Names of the values that go from one host to another, as one of both parts has them.
std::vector<std::string> messages(const runtime::Plan& part, int from, int to) {
  std::vector<std::string> names;
  for (const runtime::ConvertStep* step : steps_of<runtime::ConvertStep>(part)) {
    const auto host_of = [&](runtime::BufferId id) {
      const runtime::Buffer& buffer = part.buffers[static_cast<size_t>(id)];
      const std::string& space = part.spaces[static_cast<size_t>(buffer.space)].name;
      return buffer.space == 0 ? part.part.host : runtime::host_number(space).value_or(part.part.host);
    };
    if (host_of(step->from) != from || host_of(step->to) != to) continue;
    names.push_back(part.buffers[static_cast<size_t>(step->from)].name);
  }
  return names;
}

/// What makes runs of parts end: both ends of a copy agree on which it is, as every part has them in the order of the
/// whole.
void expect_parts_agree(const std::vector<BuiltPlan>& parts) {
  for (int from = 0; from < static_cast<int>(parts.size()); ++from) {
    for (int to = 0; to < static_cast<int>(parts.size()); ++to) {
      if (from == to) continue;
      EXPECT_EQ(messages(parts[static_cast<size_t>(from)].plan, from, to),
                messages(parts[static_cast<size_t>(to)].plan, from, to))
          << from << " to " << to;
    }
  }
}

void expect_tight_enough(const runtime::Plan& plan) {
  std::vector<LiveRange> live = live_ranges(plan);
  for (size_t s = 0; s < plan.spaces.size(); ++s) {
    std::vector<ArenaItem> items;
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      const runtime::Buffer& buffer = plan.buffers[i];
      if (buffer.space != static_cast<int>(s) || buffer.is_constant) continue;
      items.push_back({buffer.tensor.bytes(), live[i]});
    }
    EXPECT_GE(plan.spaces[s].arena_bytes, least_arena_bytes(items));
  }
}

TEST(RandomPlacements, RunLikeTheReference) {
  size_t device_steps = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Randomizer random(seed);
    Model model;
    fill_graph(model, random);
    place_graph(model, random);
    connect(model, random);
    BuiltPlan built = model.build();
    model.expect_runs_like_reference(built);
    expect_tight_enough(built.plan);
    auto executor = model.load(built);
    auto report = check_plan(model.graph, built, *executor, model.inputs(), 0.0);
    ASSERT_TRUE(report) << report.message();
    EXPECT_TRUE(report->passed()) << print(*report);
    device_steps += steps_of<runtime::DeviceStep>(built.plan).size();
    if (HasFailure()) break;
  }
  EXPECT_GT(device_steps, 300u);
}

/// Steps in another order and with overlap: the same results, and the makespan that the placement alone predicts, so
/// that no step waits for memory.
TEST(RandomPlacements, ConcurrentPlansRunLikeTheReference) {
  int faster = 0, compared = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Randomizer random(seed);
    Model model;
    fill_graph(model, random);
    place_graph(model, random);
    connect(model, random);
    model.targets.is_concurrent = true;
    std::vector<runtime::DeviceSpec> devices;
    for (DeviceTarget& device : model.targets.devices) {
      device.spec.copy_queue = seed % 2 == 0;
      devices.push_back(device.spec);
    }
    BuiltPlan built = model.build();
    model.expect_runs_like_reference(built);
    auto executor = model.load(built);
    auto report = check_plan(model.graph, built, *executor, model.inputs(), 0.0);
    ASSERT_TRUE(report) << report.message();
    EXPECT_TRUE(report->passed()) << print(*report);
    runtime::Duration sum;
    for (const ir::Partition& partition : model.placement.partitions) sum += partition.cost;
    for (const ir::Conversion& conversion : model.placement.conversions) sum += conversion.cost;
    EXPECT_LE(built.plan.predicted, sum);
    faster += built.plan.predicted < sum ? 1 : 0;
    const std::vector<runtime::Task> tasks =
        place::tasks_of(model.graph, model.placement, runtime::machine_of(devices));
    // Host code reads and writes plainly: partitions with another layout at their boundary have steps of their own.
    const auto is_plain = [](const ir::BoundaryValue& entry) {
      return entry.format.space != "host" || entry.format.layout == "plain";
    };
    const bool all_plain = std::all_of(
        model.placement.partitions.begin(), model.placement.partitions.end(), [&](const ir::Partition& partition) {
          return std::all_of(partition.inputs.begin(), partition.inputs.end(), is_plain) &&
                 std::all_of(partition.outputs.begin(), partition.outputs.end(), is_plain);
        });
    if (all_plain) {
      ++compared;
      EXPECT_EQ(built.plan.predicted, place::objective_makespan.schedule->value(tasks));
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(faster, 75);
  EXPECT_GT(compared, 30);
}

/// Parts of hosts, in sequence and with overlap: all copies pair, nothing waits for ever, and the bits are those of one
/// host.
TEST(RandomPlacements, PartsOfSeveralHostsRunLikeTheReference) {
  size_t copies = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Randomizer random(seed);
    Model model;
    model.make_cluster(3);
    fill_graph(model, random);
    place_graph(model, random, {"host", "host[1]", "host[2]", "npu[0]", "npu[1]"});
    connect_hosts(model);
    model.targets.is_concurrent = seed % 2 == 0;
    for (DeviceTarget& device : model.targets.devices) device.spec.copy_queue = seed % 4 < 2;
    const BuiltPlan built = model.build();
    const std::vector<BuiltPlan> parts = cut_by_host(built, model.targets);
    ASSERT_EQ(parts.size(), 3u);
    expect_parts_agree(parts);
    for (int other : {1, 2}) copies += messages(parts[0].plan, 0, other).size();
    model.expect_parts_run_like_reference(built);
    if (HasFailure()) break;
  }
  EXPECT_GT(copies, 200u);
}

/// Devices whose commands take up to 0.2 ms beside each other and the host, and three executions of one program at
/// once: a step that does not wait for what it needs would read something else.
TEST(RandomPlacements, InRealTimeAndAtOnceTheyGiveTheBitsOfTheReference) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Randomizer random(seed);
    Model model;
    fill_graph(model, random);
    place_graph(model, random);
    connect(model, random);
    model.targets.is_concurrent = seed % 3 != 0;
    std::mt19937 durations(seed);
    const auto some_time = [&] {
      return runtime::Duration::picoseconds(static_cast<int64_t>(durations() % 200'000'000));
    };
    for (DeviceTarget& device : model.targets.devices) {
      device.spec.copy_queue = seed % 2 == 0;
      device.spec.attrs.set("realtime", int64_t{1});
      for (runtime::DeviceSpec::Link& link : device.spec.links) link.latency = some_time();
    }
    for (ir::Partition& partition : model.placement.partitions) partition.cost = some_time();
    BuiltPlan built = model.build();
    const std::shared_ptr<const runtime::Code> code(std::shared_ptr<void>(), &model.jit);
    auto program = runtime::Program::load(built.plan, code, 1);
    ASSERT_TRUE(program) << program.message();
    const std::vector<runtime::Tensor> inputs = model.inputs();
    auto expected = ir::evaluate_graph(model.graph, inputs);
    ASSERT_TRUE(expected) << expected.message();
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        auto execution = runtime::Execution::create(*program);
        for (int run = 0; run < 2; ++run) {
          auto got = execution ? (*execution)->run(inputs) : execution.status();
          if (!got) ++wrong;
          for (size_t i = 0; got && i < got->size(); ++i) wrong += identical((*got)[i], (*expected)[i]) ? 0 : 1;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace collage::plan
