// SPDX-License-Identifier: Apache-2.0
// Reference kernels of elementwise operators, pools, normalisations and reductions, against values worked out by hand.
#include <limits>

#include "tests/unit/runtime/kernels/fixture.h"

namespace collage::runtime {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Kernels, EveryOperatorHasOneAndViceVersa) {
  for (const ir::OpDef* op : ir::all_ops()) EXPECT_NE(find_reference_kernel(op->name), nullptr) << op->name;
  for (std::string_view name : reference_kernel_names()) EXPECT_NE(ir::find_op(name), nullptr) << name;
  EXPECT_EQ(find_reference_kernel("Relux"), nullptr);
}

TEST(Kernels, Unary) {
  Tensor x = f32({5}, {-2.5f, -0.5f, 0, 0.5f, 3});
  expect_equal(run("Relu", {x})[0], f32({5}, {0, 0, 0, 0.5f, 3}));
  expect_equal(run("Abs", {x})[0], f32({5}, {2.5f, 0.5f, 0, 0.5f, 3}));
  expect_equal(run("Neg", {x})[0], f32({5}, {2.5f, 0.5f, 0, -0.5f, -3}));
  expect_equal(run("Sign", {x})[0], f32({5}, {-1, -1, 0, 1, 1}));
  expect_equal(run("Round", {x})[0], f32({5}, {-2, 0, 0, 0, 3}));
  expect_equal(run("Floor", {x})[0], f32({5}, {-3, -1, 0, 0, 3}));
  expect_equal(run("LeakyRelu", {x}, {{"alpha", 0.5}})[0], f32({5}, {-1.25f, -0.25f, 0, 0.5f, 3}));
  expect_equal(run("HardSigmoid", {x})[0], f32({5}, {0, 0.4f, 0.5f, 0.6f, 1}), 1e-7);
  expect_equal(run("HardSwish", {x})[0], f32({5}, {-2.5f / 12, -0.5f * 5 / 12, 0, 0.5f * 7 / 12, 3}), 1e-7);
  expect_equal(run("Elu", {f32({2}, {-1, 1})}, {{"alpha", 2.0}})[0], f32({2}, {-1.2642411f, 1}), 1e-7);
  expect_equal(run("Sigmoid", {f32({4}, {-200, 0, 200, kNan})})[0], f32({4}, {0, 0.5f, 1, kNan}), 1e-30);
  expect_equal(run("Softplus", {f32({3}, {-200, 0, 200})})[0], f32({3}, {0, 0.6931472f, 200}), 1e-7);
  expect_equal(run("Erf", {f32({2}, {0.5f, -kInf})})[0], f32({2}, {0.5204999f, -1}), 1e-7);
  expect_equal(run("Not", {boolean({2}, {0, 1})})[0], boolean({2}, {1, 0}));
}

TEST(Kernels, MoreActivations) {
  Tensor x = f32({4}, {-2, -0.5f, 0.5f, 2});
  expect_equal(run("Celu", {x}, {{"alpha", 2.0}})[0], f32({4}, {-1.2642411f, -0.4423984f, 0.5f, 2}), 1e-6);
  expect_equal(run("ThresholdedRelu", {x}, {{"alpha", 0.5}})[0], f32({4}, {0, 0, 0, 2}));
  expect_equal(run("ThresholdedRelu", {f32({2}, {kNan, kInf})})[0], f32({2}, {0, kInf}));
  expect_equal(run("Shrink", {x}, {{"lambd", 1.5}, {"bias", 0.5}})[0], f32({4}, {-1.5f, 0, 0, 1.5f}));
  expect_equal(run("Shrink", {f32({2}, {kNan, kInf})})[0], f32({2}, {0, kInf}));
  expect_equal(run("Shrink", {i32({3}, {-3, 1, 3})}, {{"lambd", 1.5}, {"bias", 1.0}})[0], i32({3}, {-2, 0, 2}));
  expect_equal(run("Mish", {f32({2}, {1, -1})})[0], f32({2}, {0.8650984f, -0.3034015f}), 1e-6);
  expect_equal(run("Gelu", {f32({3}, {1, -1, -20})})[0], f32({3}, {0.8413447f, -0.1586553f, 0}), 1e-6);
  expect_equal(run("Gelu", {f32({2}, {1, -1})}, {{"approximate", std::string("tanh")}})[0],
               f32({2}, {0.8411920f, -0.1588080f}), 1e-6);
  expect_equal(run("Hardmax", {f32({2, 3}, {1, 3, 3, -1, -2, -3})})[0], f32({2, 3}, {0, 1, 0, 1, 0, 0}));
}

TEST(Kernels, Trigonometry) {
  Tensor half = f32({1}, {0.5f});
  std::vector<std::pair<std::string, float>> wanted = {
      {"Acos", 1.0471976f}, {"Asin", 0.5235988f}, {"Atan", 0.4636476f},  {"Sinh", 0.5210953f},
      {"Cosh", 1.1276260f}, {"Tan", 0.5463025f},  {"Asinh", 0.4812118f}, {"Atanh", 0.5493061f}};
  for (const auto& [op, value] : wanted) expect_equal(run(op, {half})[0], f32({1}, {value}), 1e-6);
  expect_equal(run("Acosh", {f32({2}, {1, 2})})[0], f32({2}, {0, 1.3169579f}), 1e-6);
}

TEST(Kernels, FloatTests) {
  Tensor x = f32({4}, {-kInf, 1, kInf, kNan});
  expect_equal(run("IsNaN", {x})[0], boolean({4}, {0, 0, 0, 1}));
  expect_equal(run("IsInf", {x})[0], boolean({4}, {1, 0, 1, 0}));
  expect_equal(run("IsInf", {x}, {{"detect_negative", int64_t{0}}})[0], boolean({4}, {0, 0, 1, 0}));
}

TEST(Kernels, RemaindersAndShifts) {
  Tensor a = i64({6}, {-4, 7, 5, 4, -7, 8}), b = i64({6}, {2, -3, 8, -2, 3, 5});
  expect_equal(run("Mod", {a, b})[0], i64({6}, {0, -2, 5, 0, 2, 3}));
  expect_equal(run("Mod", {a, b}, {{"fmod", int64_t{1}}})[0], i64({6}, {0, 1, 5, 0, -1, 3}));
  expect_equal(run("Mod", {i64({1}, {INT64_MIN}), i64({1}, {-1})})[0], i64({1}, {0}));
  expect_equal(run("Mod", {f32({2}, {-4.25f, 7}), f32({2}, {2, -3})}, {{"fmod", int64_t{1}}})[0],
               f32({2}, {-0.25f, 1}));
  Tensor bytes = tensor<uint8_t>(DType::U8, {3}, {1, 16, 255}), by = tensor<uint8_t>(DType::U8, {3}, {3, 4, 8});
  expect_equal(run("BitShift", {bytes, by}, {{"direction", std::string("LEFT")}})[0],
               tensor<uint8_t>(DType::U8, {3}, {8, 0, 0}));
  expect_equal(run("BitwiseAnd", {u8({3}, {0xF0, 3, 255}), u8({1}, {0x3C})})[0], u8({3}, {0x30, 0, 0x3C}));
  expect_equal(run("BitwiseOr", {i32({2}, {1, -8}), i32({2}, {6, 7})})[0], i32({2}, {7, -1}));
  expect_equal(run("BitwiseXor", {i64({2}, {5, -1}), i64({2}, {1, 1})})[0], i64({2}, {4, -2}));
  expect_equal(run("BitwiseNot", {u8({2}, {0, 5})})[0], u8({2}, {255, 250}));
  expect_equal(run("BitwiseNot", {i8({1}, {5})})[0], i8({1}, {-6}));
  expect_equal(run("BitCast", {f32({2}, {1, -2})}, {{"to", int64_t{6}}})[0], i32({2}, {0x3F800000, -0x40000000}));
  expect_equal(run("BitCast", {u8({3}, {0, 1, 255})}, {{"to", int64_t{3}}})[0], i8({3}, {0, 1, -1}));
  expect_equal(run("BitShift", {bytes, by}, {{"direction", std::string("RIGHT")}})[0],
               tensor<uint8_t>(DType::U8, {3}, {0, 1, 0}));
}

TEST(Kernels, LeastIntegersWrap) {
  expect_equal(run("Neg", {i32({1}, {INT32_MIN})})[0], i32({1}, {INT32_MIN}));
  expect_equal(run("Abs", {i64({1}, {INT64_MIN})})[0], i64({1}, {INT64_MIN}));
  expect_equal(run("Div", {i64({2}, {INT64_MIN, -7}), i64({2}, {-1, 2})})[0], i64({2}, {INT64_MIN, -3}));
  expect_equal(run("Add", {i32({1}, {INT32_MAX}), i32({}, {1})})[0], i32({1}, {INT32_MIN}));
  expect_equal(run("Mul", {i64({1}, {INT64_MAX}), i64({1}, {2})})[0], i64({1}, {-2}));
}

TEST(Kernels, BinaryBroadcasts) {
  expect_equal(run("Add", {f32({2, 1, 2}, {1, 2, 3, 4}), f32({3, 1}, {10, 20, 30})})[0],
               f32({2, 3, 2}, {11, 12, 21, 22, 31, 32, 13, 14, 23, 24, 33, 34}));
  expect_equal(run("Sub", {f32({}, {1}), f32({2, 2}, {1, 2, 3, 4})})[0], f32({2, 2}, {0, -1, -2, -3}));
  expect_equal(run("Div", {f32({2}, {1, -1}), f32({}, {0})})[0], f32({2}, {kInf, -kInf}));
  expect_equal(run("Pow", {f32({3}, {2, 3, 4}), i32({}, {2})})[0], f32({3}, {4, 9, 16}));
  expect_equal(run("Pow", {i32({3}, {2, -1, 7}), i32({3}, {10, -3, -1})})[0], i32({3}, {1024, -1, 0}));
  expect_equal(run("Add", {f32({0, 2}, {}), f32({2}, {1, 2})})[0], f32({0, 2}, {}));
  expect_equal(run("PRelu", {f32({1, 2, 2}, {-1, 1, -1, 1}), f32({2, 1}, {0.5f, 0.25f})})[0],
               f32({1, 2, 2}, {-0.5f, 1, -0.25f, 1}));
  expect_equal(run("Max", {f32({2}, {1, 5}), f32({}, {3}), f32({2, 1}, {0, 4})})[0], f32({2, 2}, {3, 5, 4, 5}));
  expect_equal(run("Mean", {f32({2}, {1, 5}), f32({2}, {2, 6}), f32({2}, {6, 1})})[0], f32({2}, {3, 4}));
  expect_equal(run("Where", {boolean({2, 1}, {1, 0}), f32({2}, {1, 2}), f32({}, {9})})[0], f32({2, 2}, {1, 2, 9, 9}));
  expect_equal(run("LessOrEqual", {i64({3}, {1, 2, 3}), i64({}, {2})})[0], boolean({3}, {1, 1, 0}));
  expect_equal(run("Equal", {boolean({2}, {1, 0}), boolean({2}, {1, 1})})[0], boolean({2}, {1, 0}));
  expect_equal(run("Xor", {boolean({2}, {1, 0}), boolean({2}, {1, 1})})[0], boolean({2}, {0, 1}));
}

TEST(Kernels, DivisionByZeroOfIntegersIsAFailure) {
  std::string why;
  run("Div", {i32({2}, {1, 2}), i32({2}, {1, 0})}, {}, 1, &why);
  EXPECT_EQ(why, "integer division by zero");
}

TEST(Kernels, ClipBoundsMayBeAbsent) {
  Tensor x = f32({3}, {-1, 0.5f, 7});
  expect_equal(run("Clip", {x, absent(), f32({}, {6})})[0], f32({3}, {-1, 0.5f, 6}));
  expect_equal(run("Clip", {x, f32({}, {0})})[0], f32({3}, {0, 0.5f, 7}));
  expect_equal(run("Clip", {x, f32({}, {2}), f32({}, {1})})[0], f32({3}, {1, 1, 1}));
}

TEST(Kernels, CastSaturatesAndTruncates) {
  Tensor x = f32({6}, {-1.9f, 1.9f, 1e20f, -1e20f, kNan, 300});
  expect_equal(run("Cast", {x}, {{"to", int64_t{6}}})[0], i32({6}, {-1, 1, INT32_MAX, INT32_MIN, 0, 300}));
  expect_equal(run("Cast", {x}, {{"to", int64_t{7}}})[0], i64({6}, {-1, 1, INT64_MAX, INT64_MIN, 0, 300}));
  expect_equal(run("Cast", {x}, {{"to", int64_t{2}}})[0], tensor<uint8_t>(DType::U8, {6}, {0, 1, 255, 0, 0, 255}));
  expect_equal(run("Cast", {f32({3}, {0, -0.5f, kNan})}, {{"to", int64_t{9}}})[0], boolean({3}, {0, 1, 1}));
  expect_equal(run("Cast", {boolean({2}, {0, 1})}, {{"to", int64_t{1}}})[0], f32({2}, {0, 1}));
  expect_equal(run("Cast", {i32({1}, {-1})}, {{"to", int64_t{2}}})[0], tensor<uint8_t>(DType::U8, {1}, {255}));
}

TEST(Kernels, MaxPool) {
  Attrs k2 = {{"kernel_shape", Ints{2, 2}}};
  expect_equal(run("MaxPool", {iota({1, 1, 3, 3})}, k2)[0], f32({1, 1, 2, 2}, {4, 5, 7, 8}));
  Attrs ceil = {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}, {"ceil_mode", int64_t{1}}};
  std::vector<Tensor> both = run("MaxPool", {iota({1, 2, 3, 3})}, ceil, 2);
  expect_equal(both[0], f32({1, 2, 2, 2}, {4, 5, 7, 8, 13, 14, 16, 17}));
  expect_equal(both[1], i64({1, 2, 2, 2}, {4, 5, 7, 8, 13, 14, 16, 17}));
  // Padding never wins, even over negative numbers.
  Attrs padded = {{"kernel_shape", Ints{3}}, {"pads", Ints{1, 1}}};
  expect_equal(run("MaxPool", {f32({1, 1, 4}, {-4, -3, -2, -9})}, padded)[0], f32({1, 1, 4}, {-3, -2, -2, -2}));
  Attrs dilated = {{"kernel_shape", Ints{2}}, {"dilations", Ints{3}}};
  expect_equal(run("MaxPool", {f32({1, 1, 5}, {5, 1, 2, 3, 4})}, dilated)[0], f32({1, 1, 2}, {5, 4}));
}

TEST(Kernels, AveragePoolCounts) {
  Tensor x = f32({1, 1, 4}, {1, 2, 3, 4});
  Attrs attrs = {{"kernel_shape", Ints{3}}, {"strides", Ints{2}}, {"pads", Ints{1, 0}}};
  expect_equal(run("AveragePool", {x}, attrs)[0], f32({1, 1, 2}, {1.5f, 3}));
  attrs.emplace_back("count_include_pad", int64_t{1});
  expect_equal(run("AveragePool", {x}, attrs)[0], f32({1, 1, 2}, {1, 3}));
  // ceil_mode adds a window over elements 3 and, after the input, 4: that one is no padding and never counts.
  Attrs ceil = {
      {"kernel_shape", Ints{2}}, {"strides", Ints{3}}, {"ceil_mode", int64_t{1}}, {"count_include_pad", int64_t{1}}};
  expect_equal(run("AveragePool", {x}, ceil)[0], f32({1, 1, 2}, {1.5f, 4}));
  // SAME_LOWER puts the odd pad in front.
  Attrs same = {{"kernel_shape", Ints{2}}, {"auto_pad", std::string("SAME_LOWER")}};
  expect_equal(run("AveragePool", {x}, same)[0], f32({1, 1, 4}, {1, 1.5f, 2.5f, 3.5f}));
}

/// `ceil_mode` makes one window of what a window does not fit into.
TEST(Kernels, PoolsOverAllOfANarrowOperand) {
  Tensor x = f32({1, 1, 4}, {1, 2, 4, 3});
  Attrs attrs = {{"kernel_shape", Ints{6}}, {"strides", Ints{3}}, {"ceil_mode", int64_t{1}}};
  std::vector<Tensor> both = run("MaxPool", {x}, attrs, 2);
  expect_equal(both[0], f32({1, 1, 1}, {4}));
  expect_equal(both[1], i64({1, 1, 1}, {2}));
  expect_equal(run("AveragePool", {x}, attrs)[0], f32({1, 1, 1}, {2.5f}));
  Attrs sum = attrs;
  sum.emplace_back("p", int64_t{1});
  expect_equal(run("LpPool", {x}, sum)[0], f32({1, 1, 1}, {10}));
  // The pad counts, what `ceil_mode` adds does not: 10 over 4 + 1 elements.
  attrs.emplace_back("pads", Ints{1, 0});
  expect_equal(run("AveragePool", {x}, attrs)[0], f32({1, 1, 1}, {2.5f}));
  attrs.emplace_back("count_include_pad", int64_t{1});
  expect_equal(run("AveragePool", {x}, attrs)[0], f32({1, 1, 1}, {2}));
}

TEST(Kernels, MaxPoolCountsColumnsFirst) {
  Attrs attrs = {{"kernel_shape", Ints{2, 2}}, {"storage_order", int64_t{1}}};
  std::vector<Tensor> y = run("MaxPool", {iota({1, 2, 3, 4})}, attrs, 2);
  // The place (1, 1) is 1 + 1 * 3 where columns come first, (1, 2) is 1 + 2 * 3.
  expect_equal(y[1], i64({1, 2, 2, 3}, {4, 7, 10, 5, 8, 11, 16, 19, 22, 17, 20, 23}));
}

TEST(Kernels, MaxUnpoolUndoesMaxPool) {
  Attrs attrs = {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}};
  Tensor x = f32({1, 2, 4}, {1, 5, 7, 2, 9, 3, 4, 8});
  std::vector<Tensor> pooled = run("MaxPool", {x}, attrs, 2);
  expect_equal(run("MaxUnpool", pooled, attrs)[0], f32({1, 2, 4}, {0, 5, 7, 0, 9, 0, 0, 8}));
  std::vector<Tensor> wider = {pooled[0], pooled[1], i64({3}, {1, 2, 5})};
  expect_equal(run("MaxUnpool", wider, attrs)[0], f32({1, 2, 5}, {0, 5, 7, 0, 0, 9, 0, 0, 8, 0}));
}

TEST(Kernels, NormPools) {
  Tensor x = f32({1, 1, 4}, {3, -4, 0, 1});
  expect_equal(run("LpPool", {x}, {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}})[0], f32({1, 1, 2}, {5, 1}));
  expect_equal(run("LpPool", {x}, {{"kernel_shape", Ints{2}}, {"p", int64_t{1}}})[0], f32({1, 1, 3}, {7, 4, 1}));
  expect_equal(run("LpPool", {x}, {{"kernel_shape", Ints{2}}, {"p", int64_t{3}}})[0],
               f32({1, 1, 3}, {4.4979414f, 4, 1}), 1e-6);
  expect_equal(run("GlobalLpPool", {f32({1, 1, 2}, {3, 4})})[0], f32({1, 1, 1}, {5}));
}

TEST(Kernels, NormalisationsByGroupNormAndMoments) {
  // Groups of two channels: 1 3 5 7 has mean 4 and variance 5.
  Tensor x = f32({1, 4, 2}, {1, 3, 5, 7, 0, 0, 2, 2});
  float a = 1.3416408f, b = 0.4472136f;
  Attrs groups = {{"num_groups", int64_t{2}}, {"epsilon", 0.0}};
  expect_equal(run("GroupNormalization", {x, f32({2}, {1, 10}), f32({2}, {0, 5})}, groups)[0],
               f32({1, 4, 2}, {-a, -b, b, a, -5, -5, 15, 15}), 1e-6);
  expect_equal(run("GroupNormalization", {x, f32({4}, {1, 2, 3, 4}), f32({4}, {0, 0, 0, 1})}, groups)[0],
               f32({1, 4, 2}, {-a, -b, 2 * b, 2 * a, -3, -3, 5, 5}), 1e-6);
  expect_equal(run("LpNormalization", {f32({2, 2}, {3, 4, 0, 0})})[0], f32({2, 2}, {0.6f, 0.8f, 0, 0}), 1e-6);
  expect_equal(run("LpNormalization", {f32({2, 1}, {1, -3})}, {{"axis", int64_t{0}}, {"p", int64_t{1}}})[0],
               f32({2, 1}, {0.25f, -0.75f}), 1e-6);
  expect_equal(run("MeanVarianceNormalization", {f32({2, 2}, {1, 10, 3, 30})}, {{"axes", Ints{0}}})[0],
               f32({2, 2}, {-1, -1, 1, 1}), 1e-6);
}

TEST(Kernels, LogarithmicReductions) {
  Tensor x = f32({2, 2}, {1, 3, 1000, 1000});
  expect_equal(run("ReduceLogSum", {x}, {{"axes", Ints{1}}})[0], f32({2, 1}, {1.3862944f, 7.6009025f}), 1e-6);
  expect_equal(run("ReduceLogSumExp", {x}, {{"axes", Ints{1}}, {"keepdims", int64_t{0}}})[0],
               f32({2}, {3.1269280f, 1000.6931472f}), 1e-6);
  expect_equal(run("ReduceLogSumExp", {f32({2}, {-kInf, -kInf})})[0], f32({1}, {-kInf}));
  // What no integer holds is clamped, as in Cast; NaN is 0.
  expect_equal(run("ReduceLogSum", {i32({2}, {1, -1})})[0], i32({1}, {INT32_MIN}));
  expect_equal(run("ReduceLogSum", {i32({2}, {-1, -1})})[0], i32({1}, {0}));
  expect_equal(run("ReduceL2", {i64({2}, {INT64_C(3'000'000'000), 1'000'000'000})})[0], i64({1}, {0}));
}

TEST(Kernels, GlobalPools) {
  expect_equal(run("GlobalAveragePool", {iota({1, 2, 2, 2})})[0], f32({1, 2, 1, 1}, {1.5f, 5.5f}));
  expect_equal(run("GlobalMaxPool", {iota({1, 2, 3})})[0], f32({1, 2, 1}, {2, 5}));
}

TEST(Kernels, Normalisations) {
  Tensor x = f32({1, 2, 2}, {1, 3, 2, 6});
  Attrs none = {{"epsilon", 0.0}};
  expect_equal(
      run("BatchNormalization", {x, f32({2}, {2, 1}), f32({2}, {1, 0}), f32({2}, {1, 2}), f32({2}, {4, 16})}, none)[0],
      f32({1, 2, 2}, {1, 3, 0, 1}));
  expect_equal(run("InstanceNormalization", {x, f32({2}, {1, 2}), f32({2}, {0, 1})}, none)[0],
               f32({1, 2, 2}, {-1, 1, -1, 3}));
  std::vector<Tensor> layer = run("LayerNormalization", {x, f32({2}, {1, 2}), f32({2}, {0, 1})}, none, 3);
  expect_equal(layer[0], f32({1, 2, 2}, {-1, 3, -1, 3}));
  expect_equal(layer[1], f32({1, 2, 1}, {2, 4}));
  expect_equal(layer[2], f32({1, 2, 1}, {1, 0.5f}));
  std::vector<Tensor> of_nothing = run("LayerNormalization", {f32({2, 0}, {}), f32({0}, {})}, none, 3);
  expect_equal(of_nothing[0], f32({2, 0}, {}));
  expect_equal(of_nothing[1], f32({2, 1}, {NAN, NAN}));
  expect_equal(of_nothing[2], f32({2, 1}, {NAN, NAN}));
  // The statistics of f64 are f32, and attributes are too: the root of the f32 next to 0.1.
  Tensor one(DType::F64, {1, 1}), zero(DType::F64, {1});
  one.as<double>()[0] = 1;
  zero.as<double>()[0] = 0;
  expect_equal(run("LayerNormalization", {one, zero}, {}, 3)[1], f32({1, 1}, {1}));
  Tensor root = run("BatchNormalization", {one, one.reshaped({1}), zero, zero, zero}, {{"epsilon", 0.1}})[0];
  EXPECT_EQ(root.as<double>()[0], 1 / std::sqrt(static_cast<double>(0.1F)));
  // size 2 looks at the channel itself and the next
  expect_equal(
      run("LRN", {f32({1, 3, 1}, {1, 2, 3})}, {{"size", int64_t{2}}, {"alpha", 2.0}, {"beta", 1.0}, {"bias", 0.0}})[0],
      f32({1, 3, 1}, {1 / 5.f, 2 / 13.f, 3 / 9.f}), 1e-7);
}

TEST(Kernels, SoftmaxIsStable) {
  expect_equal(run("Softmax", {f32({2, 2}, {1000, 1000, -1000, 0})})[0], f32({2, 2}, {0.5f, 0.5f, 0, 1}), 1e-30);
  expect_equal(run("Softmax", {f32({2, 2}, {0, 3, 0, 3})}, {{"axis", int64_t{0}}})[0],
               f32({2, 2}, {0.5f, 0.5f, 0.5f, 0.5f}));
  expect_equal(run("LogSoftmax", {f32({1, 2}, {0, 200})})[0], f32({1, 2}, {-200, 0}), 1e-7);
}

TEST(Kernels, Reductions) {
  Tensor x = iota({2, 3, 2});
  expect_equal(run("ReduceSum", {x, i64({1}, {1})}, {{"keepdims", int64_t{0}}})[0], f32({2, 2}, {6, 9, 24, 27}));
  expect_equal(run("ReduceSum", {x, i64({2}, {-1, 0})})[0], f32({1, 3, 1}, {14, 22, 30}));
  expect_equal(run("ReduceSum", {x}, {{"noop_with_empty_axes", int64_t{1}}})[0], x);
  expect_equal(run("ReduceLogSumExp", {i32({2}, {100, -7})})[0], i32({1}, {100}));
  expect_equal(run("ReduceMean", {x})[0], f32({1, 1, 1}, {5.5f}));
  expect_equal(run("ReduceMax", {x}, {{"axes", Ints{0, 2}}})[0], f32({1, 3, 1}, {7, 9, 11}));
  Tensor flags = boolean({2, 2}, {1, 0, 1, 1});
  expect_equal(run("ReduceMax", {flags}, {{"axes", Ints{0}}})[0], boolean({1, 2}, {1, 1}));
  expect_equal(run("ReduceMin", {flags}, {{"axes", Ints{0}}})[0], boolean({1, 2}, {1, 0}));
  expect_equal(run("ReduceMin", {x}, {{"axes", Ints{1}}, {"keepdims", int64_t{0}}})[0], f32({2, 2}, {0, 1, 6, 7}));
  expect_equal(run("ReduceProd", {i32({2, 2}, {2, 3, 4, 5})}, {{"axes", Ints{1}}})[0], i32({2, 1}, {6, 20}));
  expect_equal(run("ReduceL2", {f32({2, 2}, {3, 4, 6, 8})}, {{"axes", Ints{-1}}, {"keepdims", int64_t{0}}})[0],
               f32({2}, {5, 10}));
  expect_equal(run("ReduceL1", {f32({2}, {-3, 4})}, {{"keepdims", int64_t{0}}})[0], f32({}, {7}));
  expect_equal(run("ReduceSumSquare", {f32({2}, {-3, 4})})[0], f32({1}, {25}));
  // 2^24 + 1 + 1 keeps both ones only if it is not summed in f32.
  expect_equal(run("ReduceSum", {f32({3}, {16777216, 1, 1})})[0], f32({1}, {16777218}));
}

// Sums of i64 wrap, means do not; both are cut towards zero.
TEST(Kernels, MeansOfIntegersAreExact) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  const Attrs rows = {{"axes", Ints{1}}, {"keepdims", int64_t{0}}};
  const Tensor ends = i64({4, 3}, {kMost, kMost, kMost - 3, kLeast, kLeast, kLeast, kLeast, kMost, -1, -7, 0, 0});
  expect_equal(run("ReduceMean", {ends}, rows)[0], i64({4}, {kMost - 1, kLeast, 0, -2}));
  expect_equal(run("ReduceMean", {i32({2}, {2147483647, 2147483645})})[0], i32({1}, {2147483646}));
  Tensor unsigned_ends(DType::U64, {2});
  unsigned_ends.as<uint64_t>()[0] = std::numeric_limits<uint64_t>::max();
  unsigned_ends.as<uint64_t>()[1] = std::numeric_limits<uint64_t>::max() - 2;
  EXPECT_EQ(run("ReduceMean", {unsigned_ends})[0].as<uint64_t>()[0], std::numeric_limits<uint64_t>::max() - 1);
  EXPECT_EQ(run("ReduceMean", {i64({0}, {})})[0].as<int64_t>()[0], 0);
  expect_equal(run("ReduceSum", {i64({2}, {kMost, 1})})[0], i64({1}, {kLeast}));
  // 2 * 2^62 is -2^63 in 64 bits, which has no root.
  expect_equal(run("ReduceL2", {i64({2}, {int64_t{1} << 31, int64_t{1} << 31})})[0], i64({1}, {0}));
}

TEST(Kernels, ArgMaxTiesGoToTheFirstUnlessAsked) {
  Tensor x = f32({2, 3}, {1, 5, 5, 7, 2, 7});
  Attrs attrs = {{"axis", int64_t{-1}}, {"keepdims", int64_t{0}}};
  expect_equal(run("ArgMax", {x}, attrs)[0], i64({2}, {1, 0}));
  attrs.emplace_back("select_last_index", int64_t{1});
  expect_equal(run("ArgMax", {x}, attrs)[0], i64({2}, {2, 2}));
  expect_equal(run("ArgMin", {x}, {{"axis", int64_t{0}}})[0], i64({1, 3}, {0, 1, 0}));
}

}  // namespace
}  // namespace collage::runtime
