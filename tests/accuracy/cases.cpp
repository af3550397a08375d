// SPDX-License-Identifier: Apache-2.0
#include "tests/accuracy/cases.h"

#include "compiler/codegen/kernel/pointwise.h"
#include "compiler/ir/analysis/infer.h"
#include "compiler/ir/ops/op_def.h"

namespace collage::testing {
namespace {

/// Functions saturate or overflow beyond.
constexpr double kPointwiseRange = 8;

/// True if the operator takes that many operands and its result is computed in vectors.
bool is_pointwise_with(const ir::OpDef& op, size_t operands) {
  ir::Graph graph;
  std::vector<ir::ValueId> inputs;
  for (size_t i = 0; i < operands; ++i) {
    inputs.push_back(graph.add_input("x" + std::to_string(i), {ir::DType::F32, {4, 8}}));
  }
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  ir::NodeSource source;
  source.where = "case";
  const ir::NodeId node = ir::append_inferred(graph, op, inputs, {}, {"y"}, source, diags);
  return node.is_valid() && graph.value(graph.first_output(node)).type.dtype == ir::DType::F32 &&
         codegen::is_pointwise(graph, node);
}

}  // namespace

std::vector<AccuracyCase> kernel_cases() {
  const ir::Shape image{1, 32, 14, 13}, bias{40};
  const std::string same = "pads = [1, 1, 1, 1]";
  return {
      {"gemm", "%y = Gemm(%x, %w, %b)", {{"x", {49, 700}}}, {{"w", {700, 130}}, {"b", {130}}}},
      {"gemm", "%y = Gemm(%x, %w) {transB = 1}", {{"x", {33, 257}}}, {{"w", {65, 257}}}},
      {"gemm", "%y = MatMul(%x, %w)", {{"x", {2, 50, 300}}}, {{"w", {300, 70}}}},
      {"gemm computed", "%y = MatMul(%x, %z)", {{"x", {4, 30, 129}}, {"z", {4, 129, 40}}}},
      {"gemv", "%y = MatMul(%x, %w)", {{"x", {1, 3000}}}, {{"w", {3000, 90}}}},
      {"conv 1x1", "%y = Conv(%x, %w, %b)", {{"x", image}}, {{"w", {40, 32, 1, 1}}, {"b", bias}}},
      {"conv 3x3", "%y = Conv(%x, %w, %b) {" + same + "}", {{"x", image}}, {{"w", {40, 32, 3, 3}}, {"b", bias}}},
      {"conv 3x3", "%y = Conv(%x, %w) {" + same + "}", {{"x", {2, 128, 14, 14}}}, {{"w", {64, 128, 3, 3}}}},
      {"conv strided", "%y = Conv(%x, %w) {strides = [2, 2], " + same + "}", {{"x", image}}, {{"w", {40, 32, 3, 3}}}},
      {"conv dilated", "%y = Conv(%x, %w) {dilations = [2, 3]}", {{"x", image}}, {{"w", {40, 32, 3, 3}}}},
      {"conv stem",
       "%y = Conv(%x, %w) {strides = [2, 2], pads = [3, 3, 3, 3]}",
       {{"x", {1, 3, 40, 41}}},
       {{"w", {24, 3, 7, 7}}}},
      {"conv few outputs", "%y = Conv(%x, %w) {" + same + "}", {{"x", image}}, {{"w", {3, 32, 3, 3}}}},
      {"1-D conv", "%y = Conv(%x, %w) {pads = [2, 2]}", {{"x", {2, 24, 60}}}, {{"w", {40, 24, 5}}}},
      {"3-D conv",
       "%y = Conv(%x, %w) {pads = [1, 1, 1, 1, 1, 1]}",
       {{"x", {1, 16, 4, 9, 10}}},
       {{"w", {24, 16, 3, 3, 3}}}},
      {"conv grouped", "%y = Conv(%x, %w) {group = 8, " + same + "}", {{"x", image}}, {{"w", {32, 4, 3, 3}}}},
      {"conv grouped", "%y = Conv(%x, %w) {group = 2, " + same + "}", {{"x", image}}, {{"w", {48, 16, 3, 3}}}},
      {"depthwise",
       "%y = Conv(%x, %w, %b) {group = 32, " + same + "}",
       {{"x", image}},
       {{"w", {32, 1, 3, 3}}, {"b", {32}}}},
      {"depthwise",
       "%y = Conv(%x, %w) {group = 32, strides = [2, 2], pads = [2, 2, 2, 2]}",
       {{"x", image}},
       {{"w", {32, 1, 5, 5}}}},
      {"conv transposed",
       "%y = ConvTranspose(%x, %w, %b) {strides = [2, 2], " + same + "}",
       {{"x", image}},
       {{"w", {32, 24, 4, 4}}, {"b", {24}}}},
      {"conv transposed", "%y = ConvTranspose(%x, %w) {group = 2}", {{"x", image}}, {{"w", {32, 10, 3, 3}}}},
      {"conv enlarged",
       R"(%s = const dense f32[4] [1.0, 1.0, 2.0, 2.0]
          %r = Resize(%x, _, %s) {coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"}
          %y = Conv(%r, %w) {pads = [1, 1, 1, 1]})",
       {{"x", image}},
       {{"w", {24, 32, 3, 3}}}},
      {"max pool", "%y = MaxPool(%x) {kernel_shape = [3, 3], strides = [2, 2]}", {{"x", image}}},
      {"average pool", "%y = AveragePool(%x) {kernel_shape = [3, 3], " + same + "}", {{"x", image}}},
      {"average pool",
       "%y = AveragePool(%x) {kernel_shape = [7, 7], count_include_pad = 1, pads = [3, 3, 3, 3]}",
       {{"x", image}}},
      {"global average pool", "%y = GlobalAveragePool(%x)", {{"x", {2, 40, 29, 31}}}},
      {"global max pool", "%y = GlobalMaxPool(%x)", {{"x", {2, 40, 29, 31}}}},
      {"softmax", "%y = Softmax(%x)", {{"x", {20, 1001}}}, {}, 10},
      {"softmax", "%y = Softmax(%x) {axis = 1}", {{"x", {3, 50, 33}}}, {}, 10},
      {"log softmax", "%y = LogSoftmax(%x)", {{"x", {20, 1001}}}, {}, 10},
      {"layer norm", "%y = LayerNormalization(%x, %w, %b)", {{"x", {20, 768}}}, {{"w", {768}}, {"b", {768}}}, 3},
      {"instance norm",
       "%y = InstanceNormalization(%x, %w, %b)",
       {{"x", {2, 12, 25, 26}}},
       {{"w", {12}}, {"b", {12}}},
       3},
      {"LRN", "%y = LRN(%x) {size = 5}", {{"x", image}}, {}, 3},
      {"reduce", "%a = const dense i64[1] [-1] %y = ReduceSum(%x, %a)", {{"x", {30, 2001}}}},
      {"reduce", "%y = ReduceMean(%x) {axes = [-1]}", {{"x", {7, 11, 513}}}},
      {"resize linear",
       R"(%s = const dense f32[4] [1.0, 1.0, 2.0, 2.0] %y = Resize(%x, _, %s) {mode = "linear"})",
       {{"x", image}}},
  };
}

std::vector<AccuracyCase> pointwise_cases() {
  const ir::Shape shape{5, 1000};
  std::vector<AccuracyCase> cases;
  for (const ir::OpDef* op : ir::all_ops()) {
    const std::string name(op->name);
    if (is_pointwise_with(*op, 1)) {
      cases.push_back({name, "%y = " + name + "(%x)", {{"x", shape}}, {}, kPointwiseRange});
    } else if (is_pointwise_with(*op, 2)) {
      cases.push_back({name, "%y = " + name + "(%x, %z)", {{"x", shape}, {"z", shape}}, {}, kPointwiseRange});
    }
  }
  cases.push_back({"Gelu", "%y = Gelu(%x) {approximate = \"tanh\"}", {{"x", shape}}, {}, kPointwiseRange});
  cases.push_back({"Clip", "%l = const -1.5 : f32[] %y = Clip(%x, %l)", {{"x", shape}}, {}, kPointwiseRange});
  cases.push_back({"BatchNormalization",
                   R"(%v = const dense f32[4] [0.5, 1.5, 0.1, 3.0] %y = BatchNormalization(%x, %w, %b, %m, %v))",
                   {{"x", {2, 4, 9, 9}}},
                   {{"w", {4}}, {"b", {4}}, {"m", {4}}}});
  return cases;
}

}  // namespace collage::testing
