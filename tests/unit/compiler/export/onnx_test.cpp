// SPDX-License-Identifier: Apache-2.0
// Models written as ONNX: the checker of ONNX accepts them, and the importer reads the same graph.
#include "compiler/export/onnx.h"

#include <gtest/gtest.h>
#include <onnx/checker.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "compiler/export/decompose.h"
#include "compiler/import/onnx.h"
#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/ops/op_def.h"
#include "compiler/ir/placement/print.h"
#include "compiler/ir/placement/verify.h"
#include "runtime/io/file_bytes.h"
#include "tests/unit/compiler/sema/fixture.h"

namespace collage::exporter {
namespace {

using ir::AttrMap;
using ir::DType;
using ir::Graph;
using ir::Shape;
using ir::Tensor;
using ir::ValueId;
using testing::load;

class ExportTest : public ::testing::Test {
 protected:
  ExportTest() : diags_(sources_) {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              (std::string("collage_export_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
    options_.data_file = "m.onnx.data";
  }
  ~ExportTest() override { std::filesystem::remove_all(folder_); }

  /// What the checker says with all its checks, types and shapes included; empty: nothing.
  static std::string check(const onnx::ModelProto& model) {
    try {
      onnx::checker::check_model(model);
      onnx::ModelProto inferred = model;
      onnx::ShapeInferenceOptions strict{true, 1, true};
      onnx::shape_inference::InferShapes(inferred, onnx::OpSchemaRegistry::Instance(), strict);
      return "";
    } catch (const std::exception& error) {
      return error.what();
    }
  }

  onnx::ModelProto write(const Graph& graph) {
    runtime::Result<OnnxModel> model = export_onnx(graph, options_);
    EXPECT_TRUE(model.is_ok()) << model.message();
    onnx::ModelProto proto;
    if (!model) return proto;
    EXPECT_TRUE(proto.ParseFromString(model->bytes));
    EXPECT_TRUE(runtime::write_file(path("m.onnx"), {model->bytes}).is_ok());
    if (!model->data.empty()) {
      EXPECT_TRUE(runtime::write_file(path(options_.data_file), model->data).is_ok());
    }
    return proto;
  }

  /// The text of the graph that comes back. Constants are compared in the form that importing gives them.
  std::string round_trip(const Graph& graph) {
    onnx::ModelProto proto = write(graph);
    bool is_whole = options_.most_bytes_inside > 0;  // the checker would look for the other file elsewhere
    EXPECT_EQ(is_whole ? check(proto) : "", "");
    std::optional<Graph> back = import::import_onnx(path("m.onnx"), diags_);
    EXPECT_TRUE(back) << diags_.render();
    if (!back) return "";
    ir::verify(*back);
    return ir::print(*back);
  }
  static std::string text_of(Graph graph) {
    for (ValueId id : graph.value_ids()) {
      if (graph.value(id).is_constant()) graph.value(id).constant = ir::make_constant(graph.value(id).constant->data);
    }
    return ir::print(graph);
  }
  void expect_same(const std::string& model) {
    testing::Loaded loaded = load(model);
    ASSERT_TRUE(loaded.model) << loaded.errors;
    EXPECT_EQ(round_trip(loaded.model->graph), text_of(loaded.model->graph));
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  support::SourceManager sources_;
  support::Diagnostics diags_;
  std::filesystem::path folder_;
  OnnxOptions options_;
};

TEST_F(ExportTest, OperandsLeftOutResultsUnwantedAttributesOfEveryKind) {
  expect_same(
      "model @net(%x: f32[1, 8, 12, 12], %flag: bool[]) -> (%y: f32[1, 8, 24, 24], %b: f32[1, 6, 12, 12], %c: f32[]) "
      "{\n"
      "  %w = const random seed 1 in [-0.1, 0.1] : f32[8, 8, 3, 3]\n"
      "  %twice = const dense f32[4] [1.0, 1.0, 2.0, 2.0]\n"
      "  %zero = const splat 0.0 : f32[8]\n"
      "  %one = const 1.5 : f32[]\n"
      "  %sizes = const dense i64[2] [2, 6]\n"
      "  %conv = Conv(%x, %w) {auto_pad = \"SAME_UPPER\", group = 1, kernel_shape = [3, 3]}\n"
      "  %bent = LeakyRelu(%conv) {alpha = 2}\n"
      "  %norm = InstanceNormalization(%bent, %zero, %zero) {epsilon = 1e-05}\n"
      "  %clip = Clip(%norm, _, %one)\n"
      "  %y = Resize(%clip, _, %twice) {mode = \"nearest\", nearest_mode = \"floor\", coordinate_transformation_mode = "
      "\"asymmetric\"}\n"
      "  _, %b = Split(%norm, %sizes) {axis = 1}\n"
      "  %axes = ReduceMean(%bent) {axes = [0, 1, -1, -2], keepdims = 0}\n"
      "  %c = Where(%flag, %axes, %one)\n"
      "}\n");
}

TEST_F(ExportTest, ConstantsOfEveryElementType) {
  for (std::string_view dtype : {"f32", "f64", "i8", "u8", "i16", "i32", "i64", "bool"}) {
    SCOPED_TRACE(dtype);
    std::string type(dtype);
    std::string literal = dtype == "f32" || dtype == "f64" ? "[0.5, inf, -3.25]" : "[1, 0, 1]";
    expect_same("model @m(%x: " + type + "[2, 3]) -> (%y: " + type + "[3, 3]) {\n  %c = const dense " + type +
                "[1, 3] " + literal + "\n  %y = Concat(%x, %c) {axis = 0}\n}\n");
  }
}

TEST_F(ExportTest, NamesAndDimensionsThatAreOdd) {
  expect_same(
      "model @\"two words\"(%\"x:0\": f32[0, 3], %/l/Relu_0: f32[]) -> (%\"a \\\"b\\\"\": f32[0, 3], %s: f32[]) {\n"
      "  %\"a \\\"b\\\"\" = Relu(%\"x:0\")\n  %s = Relu(%/l/Relu_0)\n}\n");
}

TEST_F(ExportTest, PortsThatNoOperatorMakes) {
  testing::Loaded loaded = load(
      "model @m(%x: f32[2], %unread: i64[3]) -> (%x: f32[2], %c: f32[2], %y: f32[2]) {\n"
      "  %c = const dense f32[2] [1.0, 2.0]\n  %y = Add(%x, %c)\n}\n");
  ASSERT_TRUE(loaded.model) << loaded.errors;
  onnx::ModelProto proto = write(loaded.model->graph);
  EXPECT_EQ(check(proto), "");
  EXPECT_EQ(proto.graph().output(0).name(), "x");
  EXPECT_EQ(proto.graph().output(1).name(), "c");
}

TEST_F(ExportTest, SaysWhatEveryValueIs) {
  testing::Loaded loaded =
      load(testing::model_text("%a = Relu(%x)\n%unread = const splat 0.0 : f32[9]\n%y = Sigmoid(%a)"));
  onnx::ModelProto proto = write(loaded.model->graph);
  ASSERT_EQ(proto.graph().value_info_size(), 1);
  EXPECT_EQ(proto.graph().value_info(0).name(), "a");
  EXPECT_EQ(proto.graph().value_info(0).type().tensor_type().shape().dim(3).dim_value(), 8);
  EXPECT_EQ(proto.graph().node(1).name(), "y");
  EXPECT_EQ(proto.graph().initializer_size(), 0);
  EXPECT_EQ(proto.opset_import(0).version(), 17);
  EXPECT_EQ(proto.ir_version(), 8);
}

TEST_F(ExportTest, LargeConstantsGoToAFileBesideIt) {
  options_.most_bytes_inside = 0;
  expect_same(
      "model @m(%x: f32[1, 16, 9, 9]) -> (%y: f32[1296]) {\n"
      "  %w = const random seed 1 : f32[16, 16, 3, 3]\n  %v = const random seed 2 : f32[16, 16, 1, 1]\n"
      "  %shape = const dense i64[1] [-1]\n"
      "  %a = Conv(%x, %w) {pads = [1, 1, 1, 1]}\n  %b = Conv(%a, %v)\n  %y = Reshape(%b, %shape)\n}\n");
  // 9216 bytes, filled up to a page, then 1024, which is small enough to stay inside.
  EXPECT_EQ(std::filesystem::file_size(path("m.onnx.data")), 9216u);
}

TEST_F(ExportTest, TensorsOfTheDataFileStartAtPages) {
  options_.most_bytes_inside = 0;
  expect_same(
      "model @m(%x: f32[300]) -> (%y: f32[300]) {\n  %a = const random seed 1 : f32[300]\n"
      "  %b = const random seed 2 : f32[300]\n  %c = Add(%x, %a)\n  %y = Add(%c, %b)\n}\n");
  EXPECT_EQ(std::filesystem::file_size(path("m.onnx.data")), 4096u + 1200u);
}

/// A graph of one node.
Graph one_node(const ir::OpDef& op, const std::vector<Tensor>& parameters, AttrMap attrs, const Shape& shape) {
  Graph graph;
  std::vector<ValueId> inputs = {graph.add_input("x", {DType::F32, shape})};
  for (const Tensor& tensor : parameters)
    inputs.push_back(graph.add_constant(graph.unique_name("p"), ir::make_constant(tensor)));
  ir::NodeId node = graph.add_node(op, inputs, std::move(attrs), {"y"}, {{DType::F32, shape}});
  graph.mark_output(graph.first_output(node));
  return graph;
}

Tensor tensor_of(const Shape& shape, double first, double step) {
  Tensor tensor(DType::F32, shape);
  for (size_t i = 0; i < tensor.as<float>().size(); ++i)
    tensor.as<float>()[i] = static_cast<float>(first + step * static_cast<double>(i));
  return tensor;
}

/// Results of the decomposed graph, and ONNX's opinion of it.
class NewerOps : public ExportTest {
 protected:
  std::vector<float> run(const Graph& graph, const Tensor& x) {
    EXPECT_TRUE(has_newer_ops(graph));
    EXPECT_EQ(check(write(graph)), "");
    Graph plain = decompose_newer_ops(graph);
    ir::verify(plain);
    EXPECT_FALSE(has_newer_ops(plain));
    auto outputs = ir::evaluate_graph(plain, {x});
    EXPECT_TRUE(outputs.is_ok()) << outputs.message();
    if (!outputs) return {};
    EXPECT_EQ((*outputs)[0].shape(), graph.value(graph.outputs()[0]).type.shape);
    auto values = (*outputs)[0].as<float>();
    return {values.begin(), values.end()};
  }
};

TEST_F(NewerOps, GeluAndMish) {
  const ir::OpDef& gelu = *ir::find_op("Gelu");
  const ir::OpDef& mish = *ir::find_op("Mish");
  AttrMap tanh;
  tanh.set("approximate", std::string("tanh"));
  Tensor x = tensor_of({2, 20}, -4, 0.2);
  std::vector<float> exact = run(one_node(gelu, {}, {}, {2, 20}), x);
  std::vector<float> bent = run(one_node(gelu, {}, tanh, {2, 20}), x);
  std::vector<float> soft = run(one_node(mish, {}, {}, {2, 20}), x);
  for (size_t i = 0; i < 40; ++i) {
    double v = x.as<float>()[i];
    EXPECT_NEAR(exact[i], 0.5 * v * std::erfc(-v / std::sqrt(2.0)), 1e-6);
    EXPECT_NEAR(bent[i], 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))), 1e-6);
    EXPECT_NEAR(soft[i], v * std::tanh(std::log1p(std::exp(v))), 1e-6);
  }
}

TEST_F(NewerOps, GroupNormalizationPerChannelAndPerGroup) {
  const ir::OpDef& op = *ir::find_op("GroupNormalization");
  AttrMap attrs;
  attrs.set("num_groups", int64_t{2});
  attrs.set("epsilon", 0.5);
  Tensor x = tensor_of({2, 4, 3}, 1, 1);
  for (int64_t count : {4, 2}) {
    Tensor scale = tensor_of({count}, 1, 1), bias = tensor_of({count}, 10, 10);
    std::vector<float> y = run(one_node(op, {scale, bias}, attrs, {2, 4, 3}), x);
    for (size_t group = 0; group < 4; ++group) {  // six elements each
      double mean = 0, variance = 0;
      for (size_t i = 0; i < 6; ++i) mean += x.as<float>()[6 * group + i] / 6;
      for (size_t i = 0; i < 6; ++i) variance += std::pow(x.as<float>()[6 * group + i] - mean, 2) / 6;
      for (size_t i = 0; i < 6; ++i) {
        size_t channel = (6 * group + i) / 3 % 4;
        size_t parameter = count == 4 ? channel : channel / 2;
        double normal = (x.as<float>()[6 * group + i] - mean) / std::sqrt(variance + 0.5);
        EXPECT_NEAR(y[6 * group + i], normal * scale.as<float>()[parameter] + bias.as<float>()[parameter], 1e-4);
      }
    }
  }
}

TEST_F(NewerOps, AffineGridIsAProduct) {
  for (int64_t align_corners : {0, 1}) {
    AttrMap attrs;
    attrs.set("align_corners", align_corners);
    Graph graph;
    ValueId theta = graph.add_input("x", {DType::F32, {2, 2, 3}});
    Tensor extents(DType::I64, {4});
    for (size_t i = 0; i < 4; ++i) extents.as<int64_t>()[i] = std::array<int64_t, 4>{2, 1, 3, 2}[i];
    ValueId size = graph.add_constant("size", ir::make_constant(extents));
    ir::NodeId node =
        graph.add_node(*ir::find_op("AffineGrid"), {theta, size}, attrs, {"y"}, {{DType::F32, {2, 3, 2, 2}}});
    graph.mark_output(graph.first_output(node));
    Tensor x = tensor_of({2, 2, 3}, -0.7, 0.3);
    auto wanted = ir::evaluate_graph(graph, {x});
    ASSERT_TRUE(wanted.is_ok());
    std::vector<float> y = run(graph, x);
    ASSERT_EQ(y.size(), 24u);
    for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], (*wanted)[0].as<float>()[i], 1e-6);
  }
}

TEST_F(ExportTest, WhatOpset17DoesNotHaveIsAnError) {
  ir::OpDef relux{.name = "Relux"};  // the graph refers to it
  Graph unknown = one_node(relux, {}, {}, {2});
  EXPECT_EQ(export_onnx(unknown, options_).message(), "node `y`: opset 17 has no `Relux`");
  AttrMap attrs;
  attrs.set("alpha", 0.5);
  Graph attribute = one_node(*ir::find_op("Relu"), {}, attrs, {2});
  EXPECT_EQ(export_onnx(attribute, options_).message(), "node `y`: `Relu` of opset 17 has no such attribute `alpha`");
  attrs = {};
  attrs.set("axis", std::string("last"));
  Graph kind = one_node(*ir::find_op("Softmax"), {}, attrs, {2});
  EXPECT_EQ(export_onnx(kind, options_).message(), "node `y`: `Softmax` of opset 17 has no such attribute `axis`");
  Tensor pads(DType::I64, {2});
  attrs = {};
  attrs.set("mode", std::string("wrap"));
  Graph wrap = one_node(*ir::find_op("Pad"), {pads}, attrs, {2});
  EXPECT_EQ(export_onnx(wrap, options_).message(), "node `y`: `Pad` of opset 17 has no mode wrap");
}

}  // namespace
}  // namespace collage::exporter
