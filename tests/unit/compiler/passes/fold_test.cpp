// SPDX-License-Identifier: Apache-2.0
// Passes that fold constants and borders into convolutions, products and pools, and that move integers.
#include <limits>

#include "tests/unit/compiler/passes/pass_fixture.h"

namespace collage::passes {
namespace {

using ir::DType;
using ir::ValueId;

struct FoldPads : PassFixture {
  ValueId pad(ValueId x, const Ints& pads, float fill = 0) { return node("Pad", {x, ints(pads), number(fill)}); }
  ValueId pool(const std::string& op, ValueId x, std::map<std::string, runtime::AttrValue> attrs = {}) {
    attrs["kernel_shape"] = Ints{3, 3};
    return node(op, {x}, with(attrs));
  }
};

TEST_F(FoldPads, IntoConvolutions) {
  const ValueId x = input({1, 2, 5, 5});
  output(node("Conv", {pad(x, {0, 0, 1, 2, 0, 0, 0, 1}), weights({3, 2, 3, 3})}, with({{"pads", Ints{1, 0, 0, 0}}})));
  output(node("Conv", {node("Pad", {x, ints({0, 0, 2, 2, 0, 0, 2, 2})}), weights({3, 2, 3, 3})},
              with({{"auto_pad", std::string("VALID")}, {"strides", Ints{2, 2}}})));
  EXPECT_TRUE(apply(fold_pads, 1e-6));
  EXPECT_EQ(ops(), "Conv Conv");
  EXPECT_EQ(only_node().attrs.get_ints("pads"), (Ints{2, 2, 0, 1}));
}

TEST_F(FoldPads, IntoPools) {
  const ValueId x = input({1, 2, 5, 5});
  const float least = -std::numeric_limits<float>::infinity();
  const Ints around = {0, 0, 1, 1, 0, 0, 1, 1};
  output(pool("MaxPool", pad(x, around, least)));
  output(pool("MaxPool", pad(node("Relu", {x}), around), {{"strides", Ints{2, 2}}}));
  output(pool("AveragePool", pad(x, around)));
  output(pool("AveragePool", pad(x, around), {{"count_include_pad", int64_t{1}}, {"pads", Ints{1, 1, 1, 1}}}));
  EXPECT_TRUE(apply(fold_pads, 1e-6));
  EXPECT_EQ(ops(), "MaxPool Relu MaxPool AveragePool AveragePool");
}

TEST_F(FoldPads, IntoAnotherPad) {
  output(node("Neg", {pad(pad(input({2, 3}), {0, 1, 2, 0}, 4), {1, 0, 0, 1}, 4)}));
  EXPECT_TRUE(apply(fold_pads));
  EXPECT_EQ(ops(), "Pad Neg");
}

TEST_F(FoldPads, NotWhatComputesOtherNumbers) {
  const ValueId x = input({1, 2, 5, 5}), w = weights({3, 2, 3, 3});
  const Ints around = {0, 0, 1, 1, 0, 0, 1, 1};
  output(node("Conv", {pad(x, around, 1), w}));                                                // not by zeros
  output(node("Conv", {pad(x, {0, 1, 0, 0, 0, 0, 0, 0}), weights({3, 3, 3, 3})}));             // channels
  output(node("Conv", {pad(x, {0, 0, -1, 0, 0, 0, 0, 0}), w}));                                // crops
  output(node("Conv", {pad(x, around), w}, with({{"auto_pad", std::string("SAME_UPPER")}})));  // by the shape
  output(pool("MaxPool", pad(x, around)));                                                     // above negatives
  output(pool("MaxPool", pad(node("Relu", {x}), {0, 0, 3, 0, 0, 0, 0, 0})));                   // windows of padding
  output(pool("AveragePool", pad(x, around), {{"pads", Ints{1, 1, 1, 1}}}));                   // counts differently
  output(pool("AveragePool", pad(x, around), {{"ceil_mode", int64_t{1}}, {"strides", Ints{2, 2}}}));
  output(node("Pad", {pad(x, around, 1), ints(around), number(2)}));
  output(node("Conv", {node("Pad", {x, ints(around)}, with({{"mode", std::string("reflect")}})), w}));
  EXPECT_FALSE(apply(fold_pads));
}

TEST_F(FoldPads, NotMoreThanWindowsTake) {
  const ValueId far = pad(input({1, 1, 8}), {0, 0, 600000, 0, 0, 0});
  output(node("Conv", {far, weights({1, 1, 3})}, with({{"pads", Ints{600000, 0}}, {"strides", Ints{300000}}})));
  EXPECT_FALSE(apply(fold_pads));
}

TEST_F(FoldPads, ClipThatIsNeverNegative) {
  const ValueId x = input({1, 2, 5, 5});
  const Ints around = {0, 0, 1, 1, 0, 0, 1, 1};
  output(pool("MaxPool", pad(node("Clip", {x, number(0), number(6)}), around)));
  output(pool("MaxPool", pad(node("Clip", {x, number(1), number(-1)}), around)));  // -1 everywhere
  EXPECT_TRUE(apply(fold_pads));
  EXPECT_EQ(ops(), "Clip MaxPool Clip Pad MaxPool");
}

TEST_F(FoldPads, NotAroundAnEmptyPicture) {
  const ValueId border = pad(node("Relu", {input({1, 1, 0})}), {0, 0, 1, 0, 0, 1});
  output(node("MaxPool", {border}, with({{"kernel_shape", Ints{2}}})));  // a window of the border only
  EXPECT_FALSE(apply(fold_pads));
}

TEST_F(FoldPads, NotElementsThatDoublesDoNotTellApart) {
  const auto whole = [this](int64_t element) {
    ir::Tensor data(DType::I64, {});
    data.as<int64_t>()[0] = element;
    return constant(std::move(data));
  };
  constexpr int64_t kLarge = int64_t{1} << 53;
  const ValueId inner = node("Pad", {input({2}, DType::I64), ints({1, 1}), whole(kLarge + 1)});
  output(node("Neg", {node("Pad", {inner, ints({1, 1}), whole(kLarge)})}));
  EXPECT_FALSE(apply(fold_pads));
}

struct FoldScales : PassFixture {};

TEST_F(FoldScales, BehindConvolutions) {
  const ValueId x = input({1, 4, 5, 5});
  const ValueId scaled =
      node("Mul", {weights({6, 1, 1}), node("Conv", {x, weights({6, 2, 3, 3})}, with({{"group", int64_t{2}}}))});
  const ValueId shifted = node("Sub", {node("Add", {scaled, weights({1, 6, 1, 1})}), number(0.5f)});
  output(node("Div", {shifted, weights({6, 1, 1})}));
  output(node("Sub", {number(1), node("ConvTranspose", {x, weights({4, 3, 2, 2})})}));
  EXPECT_TRUE(apply(fold_batch_norm, 1e-5));
  EXPECT_EQ(ops(), "Conv ConvTranspose");
}

TEST_F(FoldScales, BehindProducts) {
  const ValueId x = input({2, 3, 4}), z = input({3, 4});
  output(node("Mul", {node("MatMul", {x, weights({4, 5})}), number(0.125f)}));
  output(node("Add", {node("Mul", {node("MatMul", {x, weights({4, 5})}), weights({5})}), weights({5})}));
  output(node("Add", {node("Div", {node("Gemm", {z, weights({4, 5})}), weights({5})}), weights({1, 5})}));
  EXPECT_TRUE(apply(fold_batch_norm, 1e-5));
  EXPECT_EQ(ops(), "MatMul MatMul Add Gemm");
}

TEST_F(FoldScales, BeforeConvolutions) {
  const ValueId x = input({1, 4, 5, 5});
  const auto norm = [&](ValueId value) {
    return node("BatchNormalization", {value, weights({4}), weights({4}), weights({4}), weights({4})});
  };
  output(node("Conv", {norm(x), weights({6, 2, 3, 3}), weights({6})}, with({{"group", int64_t{2}}})));
  output(
      node("Conv", {node("Mul", {x, weights({4, 1, 1})}), weights({6, 4, 3, 3})}, with({{"pads", Ints{1, 1, 1, 1}}})));
  EXPECT_TRUE(apply(fold_batch_norm, 1e-5));
  EXPECT_EQ(ops(), "Conv Conv");
}

TEST_F(FoldScales, NotWhatDependsOnMoreThanTheChannel) {
  const ValueId x = input({1, 4, 5, 5}), w = weights({6, 4, 3, 3});
  output(
      node("Conv", {node("Add", {x, weights({4, 1, 1})}), w}, with({{"pads", Ints{1, 1, 1, 1}}})));  // zeros are padded
  output(node("Mul", {node("Conv", {x, w}), weights({3, 3})}));
  output(node("Div", {number(1), node("Conv", {x, w})}));
  output(node("Add", {node("MatMul", {x, weights({5, 2})}), weights({2})}));  // MatMul has no bias
  output(node("Mul", {node("MatMul", {x, weights({5, 2})}), weights({5, 1})}));
  const ValueId read = node("Conv", {x, w});
  output(node("Sub", {node("Mul", {read, number(2)}), read}));
  output(node("Div", {node("Conv", {x, w}), number(0)}));
  EXPECT_FALSE(fold_batch_norm(graph_, context_)) << ops();
}

TEST_F(FoldScales, NotWhereWeightsBecomeInfinite) {
  const ValueId x = input({1, 4, 5, 5}), w = number(1e20f, {6, 4, 3, 3});
  output(node("Mul", {node("Conv", {x, w}), number(1e25f)}));
  output(node("Conv", {node("Mul", {x, number(1e25f)}), w}));
  EXPECT_FALSE(fold_batch_norm(graph_, context_)) << ops();
}

struct MoveQuantized : PassFixture {
  ValueId dequantize(ValueId q, float scale = 0.5f) { return node("DequantizeLinear", {q, number(scale)}); }
  ValueId quantize(ValueId x, float scale = 0.5f) {
    return node("QuantizeLinear", {x, number(scale), constant(ir::Tensor(DType::I8, {}))});
  }
};

TEST_F(MoveQuantized, BelowAndAboveMovements) {
  const ValueId q = input({2, 3, 4}, DType::I8), r = input({2, 3, 4}, DType::I8);
  const ValueId both = node("Concat", {dequantize(q), dequantize(r)}, with({{"axis", int64_t{1}}}));
  output(node("Tanh", {transpose(both, {0, 2, 1})}));
  output(transpose(
      quantize(node("Squeeze", {node("Unsqueeze", {node("Relu", {input({3, 2})}), ints({0})}), ints({0})})), {1, 0}));
  EXPECT_TRUE(apply(move_quantized));
  EXPECT_EQ(ops(), "Concat Transpose DequantizeLinear Tanh Relu QuantizeLinear Unsqueeze Squeeze Transpose");
}

TEST_F(MoveQuantized, ScalesOfChannelsFollowATranspose) {
  const ValueId q = input({2, 3}, DType::I8);
  const ValueId w = node("DequantizeLinear", {q, weights({3})}, with({{"axis", int64_t{1}}}));
  output(node("Neg", {transpose(w, {1, 0})}));
  EXPECT_TRUE(apply(move_quantized));
  EXPECT_EQ(ops(), "Transpose DequantizeLinear Neg");
}

TEST_F(MoveQuantized, NotWhereScalesDifferOrOthersRead) {
  const ValueId q = input({2, 3}, DType::I8);
  const ValueId a = dequantize(q);
  output(node("Concat", {a, dequantize(q, 0.25f)}, with({{"axis", int64_t{1}}})));
  const ValueId channels = node("DequantizeLinear", {q, weights({3})}, with({{"axis", int64_t{1}}}));
  output(reshape(channels, {3, 2}));
  const ValueId read = dequantize(q);
  output(transpose(read, {1, 0}));
  output(node("Neg", {read}));
  output(quantize(reshape(node("Exp", {input({3, 2})}), {6})));  // nothing there takes integers
  EXPECT_FALSE(apply(move_quantized));
}

TEST_F(MoveQuantized, NotBlocksOfOneScale) {
  const auto blocks = [](int64_t size) { return with({{"axis", int64_t{1}}, {"block_size", size}}); };
  const ValueId halves = node("DequantizeLinear", {input({2, 4}, DType::I8), weights({2, 2})}, blocks(2));
  output(node("Neg", {transpose(halves, {1, 0})}));
  const ValueId one = weights({1, 1});
  const auto whole = [&] { return node("DequantizeLinear", {input({1, 4}, DType::I8), one}, blocks(4)); };
  output(node("Neg", {reshape(whole(), {4})}));
  output(node("Neg", {node("Concat", {whole(), whole()}, with({{"axis", int64_t{0}}}))}));
  const ValueId row = reshape(node("Relu", {input({2, 3})}), {1, 6});
  output(node("QuantizeLinear", {row, one, constant(ir::Tensor(DType::I8, {1, 1}))}, blocks(6)));
  EXPECT_FALSE(apply(move_quantized));
}

TEST_F(MoveQuantized, WeightsThatNoIntegersTakeAreDequantizedOnce) {
  ir::Tensor bytes = runtime::random_tensor(DType::I8, {4, 3}, 1, -100, 100);
  output(node("MatMul", {input({2, 4}), dequantize(constant(bytes))}));
  output(dequantize(constant(bytes)));  // an output is the result of a node
  EXPECT_TRUE(apply(fold_dequantized));
  EXPECT_EQ(ops(), "MatMul DequantizeLinear");
}

/// Rewrites stay linear: a graph of 10,000 nodes with many rewrites in it takes no more steps for each node.
TEST_F(PassFixture, LargeGraphs) {
  ValueId x = input({2, 3, 4});
  for (int i = 0; i < 1000; ++i) {
    const ValueId m = node("ReduceMean", {x}, with({{"axes", Ints{-1}}}));
    const ValueId d = node("Sub", {x, m}), e = node("Sub", {x, node("ReduceMean", {x}, with({{"axes", Ints{-1}}}))});
    const ValueId v = node("ReduceMean", {node("Mul", {e, d})}, with({{"axes", Ints{-1}}}));
    const ValueId n = node("Div", {d, node("Sqrt", {node("Add", {v, number(1e-5f)})})});
    const ValueId t = transpose(node("Mul", {reshape(reshape(n, {6, 4}), {2, 3, 4}), number(1)}), {0, 2, 1});
    x = transpose(node("Tanh", {t}), {0, 2, 1});
  }
  output(x);
  ASSERT_GT(graph_.node_count(), 10000u);
  ASSERT_TRUE(run_passes(graph_, all_passes(), {}, diags_));
  EXPECT_EQ(graph_.node_count(), 2000u);
}

}  // namespace
}  // namespace collage::passes
