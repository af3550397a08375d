// SPDX-License-Identifier: Apache-2.0
// Models in QDQ form: what becomes an operator on integers, what must not, and that results differ by one step at most.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/analysis/infer.h"
#include "compiler/ir/placement/verify.h"
#include "compiler/passes/pass_manager.h"
#include "runtime/core/random.h"

namespace collage::passes {
namespace {

using ir::AttrMap;
using ir::DType;
using ir::Graph;
using ir::ValueId;
using runtime::Ints;
using runtime::Shape;
using runtime::Tensor;

class FuseQuantized : public ::testing::Test {
 protected:
  FuseQuantized() : context_{diags_} { x_ = graph_.add_input("x", {DType::F32, {1, 4, 6, 6}}); }

  ValueId constant(Tensor data) {
    return graph_.add_constant(graph_.unique_name("k"), ir::make_constant(std::move(data)));
  }
  ValueId floats(const Shape& shape, std::vector<float> elements) {
    Tensor data(DType::F32, shape);
    std::copy(elements.begin(), elements.end(), data.as<float>().begin());
    return constant(std::move(data));
  }
  template <typename T>
  ValueId filled(DType dtype, const Shape& shape, T element) {
    Tensor data(dtype, shape);
    for (T& one : data.as<T>()) one = element;
    return constant(std::move(data));
  }
  ValueId bytes(const Shape& shape) {
    Tensor data(DType::I8, shape);
    int64_t at = ++seed_;
    for (int8_t& one : data.as<int8_t>()) one = static_cast<int8_t>((at = (at * 37 + 11) % 251) - 125);
    return constant(std::move(data));
  }
  ValueId node(const std::string& op, const std::vector<ValueId>& inputs, AttrMap attrs = {}) {
    ir::NodeSource source;
    const std::string name = graph_.unique_name("v");
    source.where = name;
    const ir::NodeId id =
        ir::append_inferred(graph_, *ir::find_op(op), inputs, std::move(attrs), {name}, source, diags_);
    EXPECT_TRUE(id.is_valid()) << op << diags_.render();
    return graph_.first_output(id);
  }
  static AttrMap with(const std::string& name, runtime::AttrValue value) {
    AttrMap map;
    map.set(name, std::move(value));
    return map;
  }

  ValueId quantize(ValueId x, float scale = 0.02f, int8_t zero = 3) {
    return node("QuantizeLinear", {x, floats({}, {scale}), filled<int8_t>(DType::I8, {}, zero)});
  }
  ValueId dequantize(ValueId q, float scale = 0.02f, int8_t zero = 3) {
    return node("DequantizeLinear", {q, floats({}, {scale}), filled<int8_t>(DType::I8, {}, zero)});
  }
  ValueId weights(const Shape& shape, float scale = 0.003f) {
    return node("DequantizeLinear", {bytes(shape), floats({}, {scale})});
  }
  /// The input as i8 and back.
  ValueId start() { return dequantize(quantize(x_)); }

  /// Runs the pass, and compares the integers of all outputs before and after it.
  bool fuse(int64_t most_steps = 1) {
    const Graph before = graph_;
    const bool has_changed = fuse_quantized(graph_, context_);
    ir::verify(graph_);
    for (uint64_t seed = 1; seed < 5; ++seed) {
      const Tensor input = runtime::random_tensor(DType::F32, before.value(x_).type.shape, seed);
      const auto then = ir::evaluate_graph(before, {input}), now = ir::evaluate_graph(graph_, {input});
      EXPECT_TRUE(then && now);
      if (!then || !now) return has_changed;
      for (size_t o = 0; o < then->size(); ++o) {
        EXPECT_EQ((*then)[o].shape(), (*now)[o].shape());
        for (int64_t i = 0; i < (*then)[o].count(); ++i) {
          const double steps = element_as_double((*then)[o].view(), i) - element_as_double((*now)[o].view(), i);
          EXPECT_LE(std::abs(steps), static_cast<double>(most_steps));
        }
      }
    }
    return has_changed;
  }
  size_t count(std::string_view op) const {
    size_t found = 0;
    for (ir::NodeId id : graph_.node_ids()) found += graph_.node(id).op->name == op ? 1 : 0;
    return found;
  }

  Graph graph_;
  ValueId x_;
  support::SourceManager sources_;
  support::Diagnostics diags_{sources_};
  PassContext context_;
  int64_t seed_ = 0;
};

TEST_F(FuseQuantized, ConvolutionWithScalesPerChannelAndBiasOfIntegers) {
  const ValueId w =
      node("DequantizeLinear",
           {bytes({3, 4, 3, 3}), floats({3}, {0.002f, 0.003f, 0.001f}), filled<int8_t>(DType::I8, {3}, 0)},
           with("axis", int64_t{0}));
  Tensor bias(DType::I32, {3});
  bias.as<int32_t>()[1] = 4000;
  const ValueId b = node("DequantizeLinear", {constant(bias), floats({}, {0.0001f})});
  graph_.mark_output(quantize(node("Conv", {start(), w, b}, with("pads", Ints{1, 1, 1, 1}))));
  EXPECT_TRUE(fuse());
  EXPECT_EQ(count("QLinearConv"), 1u);
  EXPECT_EQ(count("Conv"), 0u);
}

TEST_F(FuseQuantized, ActivationsJoinOnlyWhereIntegersClamp) {
  const ValueId w = weights({3, 4, 1, 1});
  const ValueId x = start();
  graph_.mark_output(quantize(node("Relu", {node("Conv", {x, w})}), 0.02f, -128));
  graph_.mark_output(quantize(node("Relu", {node("Conv", {x, w})}), 0.02f, 0));  // negative numbers exist
  const ValueId least = floats({}, {0}), most = floats({}, {5.1f});
  graph_.mark_output(quantize(node("Clip", {node("Conv", {x, w}), least, most}), 0.02f, -128));
  const ValueId lower = floats({}, {1});
  graph_.mark_output(quantize(node("Clip", {node("Conv", {x, w}), least, lower}), 0.02f, -128));
  EXPECT_TRUE(fuse());
  EXPECT_EQ(count("QLinearConv"), 2u);
  EXPECT_EQ(count("Relu"), 1u);
  EXPECT_EQ(count("Clip"), 1u);
}

TEST_F(FuseQuantized, ProductsOfMatrices) {
  const ValueId rows = dequantize(quantize(node("Flatten", {x_})));
  const ValueId bias = floats({5}, {1, -1, 0.5f, 0, 2});
  graph_.mark_output(quantize(node("Gemm", {rows, weights({144, 5}), bias}), 0.05f));
  AttrMap transposed = with("transB", int64_t{1});
  transposed.set("beta", 2.0);
  graph_.mark_output(quantize(node("Gemm", {rows, weights({5, 144}), bias}, transposed), 0.05f));
  graph_.mark_output(quantize(node("Gemm", {rows, weights({5, 144})}, with("transB", int64_t{1})), 0.05f));
  graph_.mark_output(quantize(node("MatMul", {start(), weights({6, 7})})));
  graph_.mark_output(quantize(node("MatMul", {start(), start()}), 0.05f));
  EXPECT_TRUE(fuse());
  EXPECT_EQ(count("QLinearConv"), 2u);
  EXPECT_EQ(count("QLinearMatMul"), 3u);
}

TEST_F(FuseQuantized, MovementsAndPairsOfOneScale) {
  const ValueId q = quantize(x_);
  AttrMap pooling = with("kernel_shape", Ints{2, 2});
  graph_.mark_output(quantize(node("MaxPool", {dequantize(q)}, pooling)));
  graph_.mark_output(quantize(node("Transpose", {dequantize(q)}, with("perm", Ints{0, 2, 3, 1}))));
  graph_.mark_output(quantize(dequantize(q)));
  graph_.mark_output(quantize(node("MaxPool", {dequantize(q)}, pooling), 0.04f));  // another scale: it rounds
  EXPECT_TRUE(fuse(0));
  EXPECT_EQ(count("QuantizeLinear"), 2u);
}

TEST_F(FuseQuantized, ResultsThatAreNoBytesStay) {
  const ValueId scale = floats({}, {0.02f}), c = node("Conv", {start(), weights({3, 4, 1, 1})});
  graph_.mark_output(node("QuantizeLinear", {c, scale, filled<int16_t>(DType::I16, {}, 3)}));
  EXPECT_FALSE(fuse());
}

TEST_F(FuseQuantized, MaximaOfDtypesThatNothingComparesStay) {
  const ValueId scale = floats({}, {0.02f});
  for (const DType dtype : {DType::I4, DType::U4}) {
    const ValueId zero = constant(Tensor(dtype, {}));
    const ValueId q = node("QuantizeLinear", {x_, scale, zero}), x = node("DequantizeLinear", {q, scale, zero});
    const ValueId most = node("MaxPool", {x}, with("kernel_shape", Ints{2, 2}));
    graph_.mark_output(node("QuantizeLinear", {most, scale, zero}));
  }
  EXPECT_FALSE(fuse());
}

TEST_F(FuseQuantized, InfinitiesAreSaturated) {
  const ValueId scale = floats({}, {0.02f}), zero = constant(Tensor(DType::F8E5M2, {}));
  const ValueId q = node("QuantizeLinear", {x_, scale, zero}, with("saturate", int64_t{0}));
  graph_.mark_output(node("QuantizeLinear", {node("DequantizeLinear", {q, scale, zero}), scale, zero}));
  EXPECT_FALSE(fuse());
}

TEST_F(FuseQuantized, WhatIsReadElsewhereStays) {
  const ValueId c = node("Conv", {start(), weights({3, 4, 1, 1})});
  graph_.mark_output(node("Sigmoid", {c}));
  graph_.mark_output(quantize(c));
  EXPECT_FALSE(fuse());
}

TEST_F(FuseQuantized, SumsThatDoNotFitStay) {
  Tensor large(DType::I8, {1, 70000});
  for (int8_t& one : large.as<int8_t>()) one = 127;
  const ValueId w = node("DequantizeLinear", {constant(large), floats({}, {0.0001f})});
  const ValueId rows = graph_.add_input("rows", {DType::F32, {1, 70000}});
  graph_.mark_output(quantize(node("Gemm", {dequantize(quantize(rows)), w}, with("transB", int64_t{1}))));
  EXPECT_FALSE(fuse_quantized(graph_, context_));
}

TEST_F(FuseQuantized, ScalesAlongAnotherDimensionStay) {
  const ValueId w =
      node("DequantizeLinear",
           {bytes({4, 4, 1, 1}), floats({4}, {0.002f, 0.003f, 0.001f, 0.004f}), filled<int8_t>(DType::I8, {4}, 0)},
           with("axis", int64_t{1}));
  graph_.mark_output(quantize(node("Conv", {start(), w})));
  EXPECT_FALSE(fuse());
}

}  // namespace
}  // namespace collage::passes
