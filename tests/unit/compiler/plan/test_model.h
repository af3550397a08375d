// SPDX-License-Identifier: Apache-2.0
// Small graphs, placements put together by hand, and a JIT that the test controls, for tests of compiler/plan.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "compiler/codegen/jit.h"
#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/analysis/infer.h"
#include "compiler/ir/ops/op_def.h"
#include "compiler/ir/placement/placement.h"
#include "compiler/plan/build_plan.h"
#include "compiler/plan/part_plan.h"
#include "runtime/core/host_space.h"
#include "runtime/exec/executor.h"
#include "tests/unit/compiler/plan/local_parts.h"

namespace collage::plan::test {

using runtime::DType;
using runtime::Duration;
using runtime::Shape;
using runtime::Tensor;

inline Tensor counting(Shape shape, float from, float step) {
  Tensor tensor(DType::F32, std::move(shape));
  for (float& value : tensor.as<float>()) {
    value = from;
    from += step;
  }
  return tensor;
}

/// Lowers every node to a reference call unless the test says otherwise.
class FakeJit : public codegen::Jit {
 public:
  using Lower =
      std::function<runtime::Result<codegen::LoweredPartition>(const ir::Graph&, const std::vector<ir::NodeId>&)>;
  Lower lower_with = [](const ir::Graph&, const std::vector<ir::NodeId>& nodes) {
    codegen::LoweredPartition lowered;
    for (ir::NodeId node : nodes) lowered.calls.emplace_back(codegen::LoweredReference{node});
    return lowered;
  };
  std::map<std::string, runtime::KernelFunction, std::less<>> kernels;

  using codegen::Jit::lower;
  runtime::Result<codegen::LoweredPartition> lower(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes,
                                                   const codegen::LowerOptions& options) override {
    if (!options.layouts.empty()) return runtime::Status::error("plain tensors only");
    return lower_with(graph, nodes);
  }
  runtime::KernelFunction find(std::string_view symbol) const override {
    auto at = kernels.find(symbol);
    return at == kernels.end() ? nullptr : at->second;
  }
  std::string llvm_text() const override { return ""; }
  std::string asm_text() const override { return ""; }
  std::string nest_text() const override { return ""; }
  std::vector<codegen::CodeImage> images() const override { return {}; }
};

/// A graph, its placement, and the two instances `npu[0]` and `npu[1]`.
struct Model {
  support::SourceManager sources;
  support::Diagnostics diags{sources};
  ir::Graph graph;
  ir::Placement placement;
  PlanTargets targets;
  FakeJit jit;

  Model() {
    targets.backends = {
        {"host", ir::RuntimeKind::HostJit}, {"npu", ir::find_runtime("sim")->kind}, {"lib", ir::RuntimeKind::Library}};
    for (int i = 0; i < 2; ++i) {
      DeviceTarget device;
      device.spec = {i == 0 ? "npu[0]" : "npu[1]", "sim", {}, {}};
      device.spec.links.push_back({"host", 1e9, Duration::picoseconds(1000)});
      device.spec.links.push_back({i == 0 ? "npu[1]" : "npu[0]", 1e9, Duration::picoseconds(1000)});
      targets.devices.push_back(device);
    }
  }

  /// As many hosts, of which any two have a link. `npu[1]` stands at the last one, the other at the first.
  void make_cluster(int count) {
    for (int number = 0; number < count; ++number) {
      DeviceTarget& host = targets.hosts.emplace_back();
      host.spec = {runtime::host_space(number), std::string(runtime::kRemoteKind), {}, {}, true};
      host.host = number;
      for (int other = 0; other < count; ++other) {
        if (other == number) continue;
        host.spec.links.push_back({runtime::host_space(other), 1e9, Duration::picoseconds(1000), true});
      }
    }
    targets.devices[0].spec.links.pop_back();
    targets.devices[1].host = count - 1;
    targets.devices[1].spec.links = {{runtime::host_space(count - 1), 1e9, Duration::picoseconds(1000)}};
  }

  void input(std::string name, Shape shape) { graph.add_input(std::move(name), {DType::F32, std::move(shape)}); }
  void constant(std::string name, Tensor data) {
    graph.add_constant(std::move(name), ir::make_constant(std::move(data)));
  }
  /// Operands by name; an empty name is an operand left out.
  void node(std::string result, const char* op, const std::vector<std::string>& operands, ir::AttrMap attrs = {}) {
    std::vector<ir::ValueId> inputs;
    for (const std::string& operand : operands) {
      inputs.push_back(operand.empty() ? ir::ValueId() : graph.find_value(operand));
      ASSERT_TRUE(operand.empty() || inputs.back().is_valid()) << operand;
    }
    ir::NodeId made =
        ir::append_inferred(graph, *ir::find_op(op), inputs, std::move(attrs), {std::move(result)}, {}, diags);
    ASSERT_TRUE(made.is_valid()) << diags.render();
  }
  void output(const char* name) { graph.mark_output(graph.find_value(name)); }

  /// Nodes by name. Boundary values have the layout that `layouts` gives, else plain.
  void partition(std::string backend, std::string instance, const std::vector<std::string>& nodes, int64_t ps = 100,
                 const std::map<std::string, std::string>& layouts = {}) {
    ir::Partition made;
    made.name = "p" + std::to_string(placement.partitions.size());
    made.backend = std::move(backend);
    made.instance = std::move(instance);
    made.cost = Duration::picoseconds(ps);
    for (const std::string& node : nodes) made.nodes.push_back(graph.find_node(node));
    auto boundary = [&](const std::vector<ir::ValueId>& values) {
      std::vector<ir::BoundaryValue> result;
      for (ir::ValueId value : values) {
        auto layout = layouts.find(graph.value(value).name);
        result.push_back({value, {made.instance, layout == layouts.end() ? "plain" : layout->second}});
      }
      return result;
    };
    made.inputs = boundary(ir::boundary_inputs(graph, made.nodes));
    made.outputs = boundary(ir::boundary_outputs(graph, made.nodes));
    placement.partitions.push_back(std::move(made));
  }
  void convert(const char* value, ir::Format from, ir::Format to, int64_t ps = 10) {
    std::string name = std::string(value) + "." + std::to_string(placement.conversions.size());
    placement.conversions.push_back(
        {graph.find_value(value), std::move(from), std::move(to), Duration::picoseconds(ps), name, {}});
  }

  BuiltPlan build() {
    std::optional<BuiltPlan> built = build_plan(graph, placement, targets, jit, diags);
    EXPECT_TRUE(built) << diags.render();
    return built ? std::move(*built) : BuiltPlan{};
  }
  std::unique_ptr<runtime::Executor> load(const BuiltPlan& built) {
    auto executor = runtime::Executor::load(built.plan, jit, 2);
    EXPECT_TRUE(executor) << (executor ? "" : executor.message());
    return executor ? std::move(*executor) : nullptr;
  }
  std::vector<Tensor> inputs() const {
    std::vector<Tensor> tensors;
    for (ir::ValueId input : graph.inputs()) tensors.push_back(counting(graph.value(input).type.shape, -1.5f, 0.25f));
    return tensors;
  }
  /// Runs the plan twice (memory is reused) and the reference once: equal bits.
  void expect_runs_like_reference(const BuiltPlan& built) {
    auto executor = load(built);
    ASSERT_NE(executor, nullptr);
    auto expected = ir::evaluate_graph(graph, inputs());
    ASSERT_TRUE(expected) << expected.message();
    for (int run = 0; run < 2; ++run) {
      auto got = executor->run(inputs());
      ASSERT_TRUE(got) << got.message();
      ASSERT_EQ(got->size(), expected->size());
      for (size_t i = 0; i < got->size(); ++i) EXPECT_TRUE(identical((*got)[i], (*expected)[i])) << "output " << i;
    }
  }
  /// The same of the parts of a plan for several hosts, all in this process.
  void expect_parts_run_like_reference(const BuiltPlan& built) {
    LocalParts parts(cut_by_host(built, targets), jit, 2);
    ASSERT_EQ(parts.failure(), "");
    auto expected = ir::evaluate_graph(graph, inputs());
    ASSERT_TRUE(expected) << expected.message();
    for (int run = 0; run < 2; ++run) {
      auto got = parts.run(inputs());
      ASSERT_TRUE(got) << got.message();
      ASSERT_EQ(got->size(), expected->size());
      for (size_t i = 0; i < got->size(); ++i) EXPECT_TRUE(identical((*got)[i], (*expected)[i])) << "output " << i;
    }
  }
  bool has_diagnostic(support::Code code) const {
    for (const support::DiagnosticRecord& record : diags.records()) {
      if (record.code == code) return true;
    }
    return false;
  }
};

template <typename T>
std::vector<const T*> steps_of(const runtime::Plan& plan) {
  std::vector<const T*> steps;
  for (const runtime::Step& step : plan.steps) {
    if (const auto* typed = std::get_if<T>(&step)) steps.push_back(typed);
  }
  return steps;
}

}  // namespace collage::plan::test
