// SPDX-License-Identifier: Apache-2.0
// What is no number, and integers at the ends of their types, against what NumPy and the standard's text give.
#include <cmath>
#include <limits>

#include "tests/unit/runtime/kernels/fixture.h"

namespace collage::runtime {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(SpecialValues, ExtremesOfANaNAreNaN) {
  Tensor a = f32({5}, {kNan, 1, kNan, -kInf, kInf}), b = f32({5}, {1, kNan, kNan, 0, 0});
  expect_equal(run("Max", {a, b})[0], f32({5}, {kNan, kNan, kNan, 0, kInf}));
  expect_equal(run("Min", {a, b})[0], f32({5}, {kNan, kNan, kNan, -kInf, 0}));
  expect_equal(run("Max", {b, a, f32({1}, {7})})[0], f32({5}, {kNan, kNan, kNan, 7, kInf}));
  for (const char* op :
       {"Relu", "Elu", "Selu", "Celu", "LeakyRelu", "HardSigmoid", "HardSwish", "Sigmoid", "Softplus", "Softsign",
        "Tanh", "Exp", "Log",  "Sqrt", "Gelu",      "Mish",        "Erf",       "Abs",     "Neg",      "Sign"}) {
    EXPECT_TRUE(std::isnan(run(op, {f32({1}, {kNan})})[0].as<float>()[0])) << op;
  }
}

TEST(SpecialValues, ClipPassesNaNOn) {
  Tensor x = f32({4}, {kNan, -kInf, kInf, 3}), low = f32({}, {-1}), high = f32({}, {6});
  expect_equal(run("Clip", {x, low, high})[0], f32({4}, {kNan, -1, 6, 3}));
  expect_equal(run("Clip", {x, f32({}, {kNan}), high})[0], f32({4}, {kNan, kNan, kNan, kNan}));
  expect_equal(run("Clip", {x, low, f32({}, {kNan})})[0], f32({4}, {kNan, kNan, kNan, kNan}));
  expect_equal(run("Clip", {x, high, low})[0], f32({4}, {kNan, -1, -1, -1}));
}

TEST(SpecialValues, ReductionsOfRows) {
  Tensor x = f32({4, 3}, {1, kNan, 2, -kInf, -kInf, -kInf, kInf, kInf, kInf, -kInf, 0, kInf});
  const Attrs rows = {{"axes", Ints{1}}, {"keepdims", int64_t{0}}};
  expect_equal(run("ReduceMax", {x}, rows)[0], f32({4}, {kNan, -kInf, kInf, kInf}));
  expect_equal(run("ReduceMin", {x}, rows)[0], f32({4}, {kNan, -kInf, kInf, -kInf}));
  expect_equal(run("ReduceLogSumExp", {x}, rows)[0], f32({4}, {kNan, -kInf, kInf, kInf}));
  expect_equal(run("Softmax", {f32({2, 3}, {1, kNan, 2, -kInf, 0, 0})})[0],
               f32({2, 3}, {kNan, kNan, kNan, 0, 0.5f, 0.5f}));
}

TEST(SpecialValues, NaNIsFoundFirst) {
  Tensor x = f32({2, 4}, {1, kNan, 9, kNan, 3, 2, 3, 1});
  const Attrs first = {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}};
  const Attrs last = {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}, {"select_last_index", int64_t{1}}};
  for (const char* op : {"ArgMax", "ArgMin"}) {
    EXPECT_EQ(run(op, {x}, first)[0].as<int64_t>()[0], 1) << op;
    EXPECT_EQ(run(op, {x}, last)[0].as<int64_t>()[0], 3) << op;
  }
  EXPECT_EQ(run("ArgMax", {x}, last)[0].as<int64_t>()[1], 2);
  expect_equal(run("Hardmax", {x})[0], f32({2, 4}, {0, 1, 0, 0, 1, 0, 0, 0}));
  std::vector<Tensor> most = run("TopK", {x, i64({1}, {3})}, {}, 2);
  expect_equal(most[0], f32({2, 3}, {kNan, kNan, 9, 3, 3, 2}));
  expect_equal(most[1], i64({2, 3}, {1, 3, 2, 0, 2, 1}));
  std::vector<Tensor> least = run("TopK", {x, i64({1}, {3})}, {{"largest", int64_t{0}}}, 2);
  expect_equal(least[0], f32({2, 3}, {1, 9, kNan, 1, 2, 3}));
  expect_equal(least[1], i64({2, 3}, {0, 2, 1, 3, 1, 0}));
}

TEST(SpecialValues, PoolsFindNaN) {
  Tensor x = f32({1, 1, 1, 6}, {1, kNan, 3, -kInf, -kInf, -kInf});
  const Attrs window = {{"kernel_shape", Ints{1, 2}}};
  std::vector<Tensor> pooled = run("MaxPool", {x}, window, 2);
  expect_equal(pooled[0], f32({1, 1, 1, 5}, {kNan, kNan, 3, -kInf, -kInf}));
  expect_equal(pooled[1], i64({1, 1, 1, 5}, {1, 1, 2, 3, 4}));
  expect_equal(run("GlobalMaxPool", {x})[0], f32({1, 1, 1, 1}, {kNan}));
}

TEST(SpecialValues, SmallArgumentsKeepTheirDigits) {
  Tensor x = f32({2}, {-1e-8f, -1e-30f});
  expect_equal(run("Elu", {x})[0], x);
  expect_equal(run("Celu", {x}, {{"alpha", 3e38}})[0], x);
  expect_equal(run("Softplus", {f32({2}, {-20, -87})})[0], f32({2}, {2.0611537e-09f, 1.6458115e-38f}), 1e-15);
}

TEST(SpecialValues, SignsOfIntegerDivision) {
  expect_equal(run("Div", {i64({4}, {7, -7, 7, -7}), i64({4}, {2, 2, -2, -2})})[0], i64({4}, {3, -3, -3, 3}));
  expect_equal(run("Div", {i64({1}, {INT64_MIN}), i64({1}, {-1})})[0], i64({1}, {INT64_MIN}));
  expect_equal(run("Mod", {i64({4}, {7, -7, 7, -7}), i64({4}, {2, 2, -2, -2})})[0], i64({4}, {1, 1, -1, -1}));
}

TEST(SpecialValues, QuantisedHalvesGoToEvenAndSaturate) {
  Tensor x = f32({8}, {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 1000, -1000, kInf}), scale = f32({}, {1});
  expect_equal(run("QuantizeLinear", {x, scale, tensor<uint8_t>(DType::U8, {}, {128})})[0],
               tensor<uint8_t>(DType::U8, {8}, {128, 130, 130, 128, 126, 255, 0, 255}));
  expect_equal(run("QuantizeLinear", {x, scale, tensor<int8_t>(DType::I8, {}, {-3})})[0],
               tensor<int8_t>(DType::I8, {8}, {-3, -1, -1, -3, -5, 127, -128, 127}));
}

}  // namespace
}  // namespace collage::runtime
