// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/check.h"

#include <cmath>
#include <limits>
#include <map>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/analysis/infer.h"
#include "compiler/ir/ops/op_def.h"
#include "tests/unit/compiler/plan/test_model.h"

namespace collage::plan {
namespace {

using namespace test;  // NOLINT: helpers of this file

/// out = in + 1/8 : not what any operator of the model computes.
void wrong_kernel(void* const* buffers, const void* const*, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    static_cast<float*>(buffers[1])[i] = static_cast<const float*>(buffers[0])[i] + 0.125f;
  }
}

void fill(Model& model) {
  model.input("x", {1, 2, 2, 2});
  model.node("a", "Abs", {"x"});
  model.node("b", "Identity", {"a"});
  model.node("y", "Neg", {"b"});
  model.output("y");
  model.partition("npu", "npu[0]", {"a"}, 1, {{"a", "NHWC"}});
  model.partition("host", "host", {"b"});
  model.partition("host", "host", {"y"});
  model.convert("x", {}, {"npu[0]", "plain"});
  model.convert("a", {"npu[0]", "NHWC"}, {});
}

TEST(Check, ARightPlanPassesInEveryRow) {
  Model model;
  fill(model);
  BuiltPlan built = model.build();
  auto executor = model.load(built);
  auto report = check_plan(model.graph, built, *executor, model.inputs());
  ASSERT_TRUE(report) << report.message();
  EXPECT_TRUE(report->passed());
  ASSERT_EQ(report->rows.size(), 4u);
  EXPECT_EQ(report->rows[0].partition, "p0");
  EXPECT_EQ(report->rows[0].backend, "npu");
  EXPECT_EQ(report->rows[0].value, "a");
  EXPECT_EQ(report->rows[0].max_magnitude, 1.5);
  EXPECT_EQ(report->rows[0].max_difference, 0.0);
  EXPECT_EQ(report->rows[3].partition, "");
  EXPECT_EQ(print(*report).find("FAILED"), std::string::npos);
}

/// Reads f16, writes i8: the partition is held against a reference that reads and writes the same, and the model
/// against one that rounds nothing.
TEST(Check, FormatsThatRound) {
  const runtime::Storage half{runtime::StorageType::F16};
  const runtime::Storage quantised{runtime::StorageType::I8, runtime::Quantisation{0.1, 0}};
  Model model;
  model.input("x", {1, 2, 2, 2});
  model.node("a", "Exp", {"x"});
  model.node("y", "Neg", {"a"});
  model.output("y");
  model.partition("npu", "npu[0]", {"a"}, 1, {{"a", "NHWC"}});
  model.partition("host", "host", {"y"});
  model.placement.partitions[0].inputs[0].format.storage = half;
  model.placement.partitions[0].outputs[0].format.storage = quantised;
  model.convert("x", {}, {"host", "plain", half});
  model.convert("x", {"host", "plain", half}, {"npu[0]", "plain", half});
  model.convert("a", {"npu[0]", "NHWC", quantised}, {"npu[0]", "NHWC"});
  model.convert("a", {"npu[0]", "NHWC"}, {"npu[0]", "plain"});
  model.convert("a", {"npu[0]", "plain"}, {});
  BuiltPlan built = model.build();
  auto executor = model.load(built);
  auto report = check_plan(model.graph, built, *executor, model.inputs());
  ASSERT_TRUE(report) << report.message();
  EXPECT_TRUE(report->passed()) << print(*report);
  ASSERT_EQ(report->rows.size(), 4u);
  EXPECT_EQ(report->rows[0].max_difference, 0.0);
  EXPECT_TRUE(report->rows[3].is_rounding);
  EXPECT_GT(report->rows[3].max_difference, 0.01);  // half a step of the scale at most, for values within its range
  EXPECT_LE(report->rows[3].max_difference, 0.051);
  // 8 elements: 16 bytes as f16, 8 as i8.
  for (const runtime::Buffer& buffer : built.plan.buffers) {
    if (!buffer.tensor.form.storage) continue;
    EXPECT_EQ(runtime::stored_bytes(buffer.tensor.dtype, buffer.tensor.shape, buffer.tensor.form.storage),
              buffer.tensor.form.storage == half ? 16u : 8u);
  }
}

TEST(Check, TheFirstFailingRowIsTheCulprit) {
  Model model;
  fill(model);
  model.jit.kernels["wrong"] = &wrong_kernel;
  auto otherwise = model.jit.lower_with;
  model.jit.lower_with = [&](const ir::Graph& graph, const std::vector<ir::NodeId>& nodes) {
    if (graph.node_name(nodes[0]) != "b") return otherwise(graph, nodes);
    using Kind = codegen::LoweredOperand::Kind;
    codegen::LoweredPartition lowered;
    codegen::LoweredKernel kernel{"wrong", {}, 8, 1, 0};
    kernel.operands = {{Kind::Value, graph.find_value("a"), -1}, {Kind::Value, graph.find_value("b"), -1}};
    lowered.calls.emplace_back(kernel);
    return runtime::Result<codegen::LoweredPartition>(lowered);
  };
  BuiltPlan built = model.build();
  auto executor = model.load(built);
  auto report = check_plan(model.graph, built, *executor, model.inputs());
  ASSERT_TRUE(report) << report.message();
  EXPECT_FALSE(report->passed());
  EXPECT_TRUE(report->rows[0].passed);
  EXPECT_FALSE(report->rows[1].passed);
  EXPECT_EQ(report->rows[1].partition, "p1");
  EXPECT_FLOAT_EQ(report->rows[1].max_difference, 0.125);
  report_failures(*report, model.diags);
  EXPECT_TRUE(model.has_diagnostic(support::Code::CheckFailed));
  EXPECT_NE(print(*report).find("FAILED"), std::string::npos);
  // A generous tolerance is one of each element, of an elementwise operator.
  auto tolerant = check_plan(model.graph, built, *executor, model.inputs(), 0.1);
  ASSERT_TRUE(tolerant);
  EXPECT_TRUE(tolerant->rows[0].passed);
  EXPECT_TRUE(tolerant->rows[1].wrong_element.has_value());
}

/// y = Cast(Cast(x, f16), f32) as a kernel that rounds to the other neighbour: of one step of f16, though y is f32.
TEST(Check, ValuesWithinAPartitionRoundToo) {
  Model model;
  const auto to = [](DType dtype) {
    ir::AttrMap attrs;
    attrs.set("to", int64_t{runtime::onnx_of(dtype)});
    return attrs;
  };
  model.input("x", {1, 2, 2, 2});
  model.node("h", "Cast", {"x"}, to(DType::F16));
  model.node("y", "Cast", {"h"}, to(DType::F32));
  model.output("y");
  model.partition("host", "host", {"h", "y"});
  model.jit.kernels["neighbour"] = [](void* const* buffers, const void* const*, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      static_cast<float*>(buffers[1])[i] = static_cast<const float*>(buffers[0])[i] * (1 + 0x1p-10F);
    }
  };
  model.jit.lower_with = [&](const ir::Graph& graph, const std::vector<ir::NodeId>&) {
    using Kind = codegen::LoweredOperand::Kind;
    codegen::LoweredPartition lowered;
    codegen::LoweredKernel kernel{"neighbour", {}, 8, 1, 0};
    kernel.operands = {{Kind::Value, graph.find_value("x"), -1}, {Kind::Value, graph.find_value("y"), -1}};
    lowered.calls.emplace_back(kernel);
    return runtime::Result<codegen::LoweredPartition>(lowered);
  };
  BuiltPlan built = model.build();
  auto executor = model.load(built);
  auto report = check_plan(model.graph, built, *executor, model.inputs());
  ASSERT_TRUE(report) << report.message();
  EXPECT_TRUE(report->passed()) << print(*report);
  EXPECT_GT(report->rows[0].max_difference, kDefaultTolerance * report->rows[0].max_magnitude);
}

Tensor f32(std::vector<float> values) {
  Tensor tensor(DType::F32, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.as<float>().begin());
  return tensor;
}

TEST(Check, ComparesRelativeToTheLargestElement) {
  EXPECT_TRUE(compare(f32({1000, 0.05f}), f32({1000, 0}), 1e-4).passed);
  EXPECT_FALSE(compare(f32({1000, 0.2f}), f32({1000, 0}), 1e-4).passed);
  EXPECT_TRUE(compare(f32({0, 0}), f32({0, 0}), 1e-4).passed);
  EXPECT_FALSE(compare(f32({1e-20f, 0}), f32({0, 0}), 1e-4).passed);
  EXPECT_FALSE(compare(f32({1}), f32({1, 1}), 1e-4).passed);
}

/// y = f(x) of one element each, the result changed by `wrong`: the element that is judged wrong, -1 where none is.
int64_t wrong_element(const std::string& op, std::vector<float> x, std::map<size_t, float> wrong) {
  ir::Graph graph;
  const ir::ValueId in = graph.add_input("x", {DType::F32, {static_cast<int64_t>(x.size())}});
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  ir::NodeSource source;
  source.where = "test";
  const ir::NodeId node = ir::append_inferred(graph, *ir::find_op(op), {in}, {}, {"y"}, source, diags);
  const ir::ValueId out = graph.first_output(node);
  const Tensor given = f32(std::move(x));
  graph.mark_output(out);
  Tensor got = (*ir::evaluate_graph(graph, {given}))[0];
  for (const auto& [at, value] : wrong) got.as<float>()[at] = value;
  EXPECT_TRUE(has_element_bounds(graph, {node}));
  auto found = find_element_error(
      graph, {node}, [&](ir::ValueId) { return given; }, out, got, kDefaultTolerance);
  EXPECT_TRUE(found) << found.message();
  return *found ? (*found)->element : -1;
}

TEST(Check, JudgesElementwiseOperatorsByElement) {
  EXPECT_EQ(wrong_element("Softplus", {20, -20, -5}, {}), -1);
  EXPECT_EQ(wrong_element("Softplus", {20, -20, -5}, {{1, -1.9e-6f}}), 1);
  EXPECT_EQ(wrong_element("Softplus", {20, -20, -5}, {{1, 2.0612e-9f}}), -1);
  EXPECT_EQ(wrong_element("Log", {1, 100}, {{0, -1.43e-6f}}), 0);
  EXPECT_EQ(wrong_element("Exp", {-87, 3}, {{0, 0.0f}}), 0);
  EXPECT_EQ(wrong_element("Exp", {-100, 3}, {{0, 0.0f}}), -1) << "a denormal number may be 0";
  // 0.2 x + 0.5 near its zero: what the sum cancels may be lost, whatever is left.
  EXPECT_EQ(wrong_element("HardSigmoid", {-2.4999998f, 1}, {{0, 0.0f}}), -1);
  EXPECT_EQ(wrong_element("HardSigmoid", {-2.4999f, 1}, {{0, 0.0f}}), 0);
}

/// y = Exp(x) * c: a denormal number that became 0 within the partition explains a result of 0, and nothing else does.
TEST(Check, DenormalNumbersWithinAPartitionMayBeZero) {
  Model model;
  model.input("x", {2});
  model.input("c", {2});
  model.node("e", "Exp", {"x"});
  model.node("y", "Mul", {"e", "c"});
  model.output("y");
  const ir::ValueId y = model.graph.find_value("y");
  const std::vector<ir::NodeId> nodes = model.graph.node_ids();
  const Tensor c = f32({1e20f, 1e20f});
  const auto wrong = [&](float x) {
    const Tensor given = f32({x, 0});
    const auto read = [&](ir::ValueId value) { return value == model.graph.find_value("c") ? c : given; };
    auto found = find_element_error(model.graph, nodes, read, y, f32({0, 1e20f}), kDefaultTolerance);
    EXPECT_TRUE(found) << found.message();
    return *found ? (*found)->element : -1;
  };
  EXPECT_TRUE(has_element_bounds(model.graph, nodes));
  EXPECT_EQ(wrong(-100), -1);
  EXPECT_EQ(wrong(-80), 0);
}

TEST(Check, NanAndInfinityMustBeWhereTheyBelong) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  float inf = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(compare(f32({nan, inf, -inf, 1}), f32({nan, inf, -inf, 1}), 1e-4).passed);
  EXPECT_FALSE(compare(f32({nan, 1}), f32({0, 1}), 1e-4).passed);
  EXPECT_FALSE(compare(f32({0, 1}), f32({nan, 1}), 1e-4).passed);
  EXPECT_FALSE(compare(f32({inf}), f32({-inf}), 1e-4).passed);
  EXPECT_FALSE(compare(f32({inf, 2}), f32({inf, 1}), 1e-4).passed);
  EXPECT_FALSE(compare(f32({1, 1}), f32({inf, 1}), 1e-4).passed);
}

TEST(Check, IntegersMustBeEqual) {
  Tensor a(DType::I32, {2});
  Tensor b(DType::I32, {2});
  a.as<int32_t>()[0] = b.as<int32_t>()[0] = 1'000'000;
  EXPECT_TRUE(compare(a, b, 1e-4).passed);
  b.as<int32_t>()[1] = 1;
  EXPECT_FALSE(compare(a, b, 1e-4).passed);
}

/// Where steps are permitted; bools never differ.
TEST(Check, IntegersMayBeStepsApart) {
  Tensor one(DType::I8, {2}), other(DType::I8, {2});
  one.as<int8_t>()[0] = 5;
  one.as<int8_t>()[1] = other.as<int8_t>()[1] = -3;
  other.as<int8_t>()[0] = 4;
  EXPECT_FALSE(compare(one, other, 0.1).passed);
  EXPECT_TRUE(compare(one, other, 0, 1).passed);
  other.as<int8_t>()[0] = 3;
  EXPECT_FALSE(compare(one, other, 0, 1).passed);
  Tensor yes(DType::Bool, {1}), no(DType::Bool, {1});
  yes.as<uint8_t>()[0] = 1;
  no.as<uint8_t>()[0] = 0;
  EXPECT_FALSE(compare(yes, no, 0, 1).passed);
}

TEST(Check, WrongInputsAreAFailureNotACrash) {
  Model model;
  fill(model);
  BuiltPlan built = model.build();
  auto executor = model.load(built);
  EXPECT_FALSE(check_plan(model.graph, built, *executor, {}));
  EXPECT_FALSE(check_plan(model.graph, built, *executor, {Tensor()}));
  EXPECT_FALSE(check_plan(model.graph, built, *executor, {Tensor(DType::F32, {8})}));
}

}  // namespace
}  // namespace collage::plan
