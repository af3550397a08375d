// SPDX-License-Identifier: Apache-2.0
// Reference kernels of quantised operators: rounding, clamping and zero points by hand, contractions against the
// definition, element by element. And integer tensors through the operators that an int8 network puts between them.
#include <random>

#include "tests/unit/runtime/kernels/fixture.h"

namespace collage::runtime {
namespace {

template <typename T>
Tensor random_bytes(DType dtype, Shape shape, uint32_t seed) {
  Tensor result(dtype, std::move(shape));
  std::mt19937 generator(seed);
  for (T& value : result.as<T>()) value = static_cast<T>(generator());
  return result;
}

TEST(QuantizeLinear, RoundsHalvesToEvenAndClamps) {
  Tensor x = f32({9}, {0, 1, 2, 3, 5, -1, -3, 1000, -1000});
  expect_equal(run("QuantizeLinear", {x, f32({}, {2}), i8({}, {0})})[0], i8({9}, {0, 0, 1, 2, 2, 0, -2, 127, -128}));
  // 0.5 and 2.5 go to even before the odd zero point is added: 1 and 3, not 2 and 4.
  expect_equal(run("QuantizeLinear", {x, f32({1}, {2}), u8({1}, {1})})[0], u8({9}, {1, 1, 2, 3, 3, 1, 0, 255, 0}));
  expect_equal(run("QuantizeLinear", {x, f32({}, {2})})[0], u8({9}, {0, 0, 1, 2, 2, 0, 0, 255, 0}));
}

TEST(QuantizeLinear, TakesEveryFloat) {
  float inf = std::numeric_limits<float>::infinity();
  Tensor x = f32({4}, {inf, -inf, std::nanf(""), 1});
  expect_equal(run("QuantizeLinear", {x, f32({}, {1}), i8({}, {3})})[0], i8({4}, {127, -128, 0, 4}));
  expect_equal(run("QuantizeLinear", {f32({3}, {1, -1, 0}), f32({}, {0}), i8({}, {3})})[0], i8({3}, {127, -128, 0}));
}

TEST(QuantizeLinear, AlongAnAxisAndOfI32) {
  Tensor x = f32({1, 2, 2}, {1, 2, 30, 40});
  Tensor scale = f32({2}, {1, 10});
  expect_equal(run("QuantizeLinear", {x, scale, u8({2}, {0, 5})})[0], u8({1, 2, 2}, {1, 2, 8, 9}));
  expect_equal(run("QuantizeLinear", {x, scale, u8({2}, {0, 5})}, {{"axis", int64_t{-1}}})[0],
               u8({1, 2, 2}, {1, 5, 30, 9}));
  // f32 does not hold 16777217; its quotient by 2 is 8388608.5, far outside, but by 2^25 it is just above a half.
  expect_equal(run("QuantizeLinear", {i32({2}, {16777217, -7}), f32({}, {33554432}), i8({}, {0})})[0], i8({2}, {1, 0}));
}

TEST(DequantizeLinear, PerTensorAndPerAxis) {
  expect_equal(run("DequantizeLinear", {u8({3}, {0, 128, 255}), f32({}, {0.5}), u8({}, {128})})[0],
               f32({3}, {-64, 0, 63.5}));
  expect_equal(run("DequantizeLinear", {i8({3}, {-128, 0, 127}), f32({1}, {2})})[0], f32({3}, {-256, 0, 254}));
  // The difference does not fit a byte.
  expect_equal(run("DequantizeLinear", {i8({1}, {-128}), f32({}, {1}), i8({}, {127})})[0], f32({1}, {-255}));
  expect_equal(run("DequantizeLinear", {i8({2, 2}, {1, 2, 3, 4}), f32({2}, {1, 10}), i8({2}, {0, 1})},
                   {{"axis", int64_t{0}}})[0],
               f32({2, 2}, {1, 2, 20, 30}));
  expect_equal(run("DequantizeLinear", {i32({1, 2}, {100000, -3}), f32({2}, {1, 2})})[0], f32({1, 2}, {100000, -6}));
}

TEST(DynamicQuantizeLinear, CoversTheRangeAndZero) {
  auto results = run("DynamicQuantizeLinear", {f32({4}, {-1, 0, 1, 1.55f})}, {}, 3);
  expect_equal(results[1], f32({}, {2.55f / 255}));
  expect_equal(results[2], u8({}, {100}));
  expect_equal(results[0], u8({4}, {0, 100, 200, 255}));
  // All on one side of 0: the range is stretched to it.
  results = run("DynamicQuantizeLinear", {f32({2}, {255, 51})}, {}, 3);
  expect_equal(results[1], f32({}, {1}));
  expect_equal(results[2], u8({}, {0}));
  expect_equal(results[0], u8({2}, {255, 51}));
  results = run("DynamicQuantizeLinear", {f32({2}, {0, 0})}, {}, 3);
  expect_equal(results[1], f32({}, {1}));
  expect_equal(results[0], u8({2}, {0, 0}));
}

/// One QLinearConv in two dimensions: u8 input, i8 weights.
struct ConvCase {
  Shape x, w;
  int64_t group, stride, pad;
  bool per_channel, has_bias;
};

/// sum over the taps of (x - x_zero) * (w - w_zero); outside the input x is x_zero.
int32_t sum_by_definition(const ConvCase& k, const Tensor& x, int x_zero, const Tensor& w, const Tensor& w_zero,
                          const Ints& at) {
  int64_t in_group = k.w[1], out_group = k.w[0] / k.group;
  int32_t sum = 0;
  for (int64_t c = 0; c < in_group; ++c)
    for (int64_t r = 0; r < k.w[2]; ++r)
      for (int64_t s = 0; s < k.w[3]; ++s) {
        int64_t i = at[2] * k.stride + r - k.pad, j = at[3] * k.stride + s - k.pad;
        if (i < 0 || i >= k.x[2] || j < 0 || j >= k.x[3]) continue;
        int64_t channel = at[1] / out_group * in_group + c;
        int a = x.as<uint8_t>()[static_cast<size_t>(((at[0] * k.x[1] + channel) * k.x[2] + i) * k.x[3] + j)];
        int b = w.as<int8_t>()[static_cast<size_t>(((at[1] * k.w[1] + c) * k.w[2] + r) * k.w[3] + s)];
        sum += (a - x_zero) * (b - w_zero.as<int8_t>()[k.per_channel ? static_cast<size_t>(at[1]) : 0]);
      }
  return sum;
}

class QLinearConvTest : public ::testing::TestWithParam<ConvCase> {};

TEST_P(QLinearConvTest, AgreesWithItsDefinition) {
  const ConvCase& k = GetParam();
  Tensor x = random_bytes<uint8_t>(DType::U8, k.x, 1), w = random_bytes<int8_t>(DType::I8, k.w, 2);
  int64_t channels = k.w[0];
  Shape list = k.per_channel ? Shape{channels} : Shape{};
  Tensor w_zero = random_bytes<int8_t>(DType::I8, list, 3);
  Tensor w_scale(DType::F32, list);
  for (size_t i = 0; i < w_scale.as<float>().size(); ++i) w_scale.as<float>()[i] = 0.01f * static_cast<float>(i + 1);
  Tensor bias(DType::I32, {channels});
  for (size_t i = 0; i < bias.as<int32_t>().size(); ++i) bias.as<int32_t>()[i] = static_cast<int32_t>(i) * 500 - 700;
  const float x_scale = 0.03f, y_scale = 0.4f;
  const int x_zero = 117, y_zero = -11;
  Attrs attrs = {{"group", k.group}, {"strides", Ints{k.stride, k.stride}}, {"pads", Ints{k.pad, k.pad, k.pad, k.pad}}};
  std::vector<Tensor> operands = {x,      f32({}, {x_scale}), u8({}, {x_zero}), w, w_scale,
                                  w_zero, f32({}, {y_scale}), i8({}, {y_zero})};
  if (k.has_bias) operands.push_back(bias);
  Tensor y = run("QLinearConv", operands, attrs)[0];
  Tensor sums = run("ConvInteger", {x, w, u8({}, {x_zero}), w_zero}, attrs)[0];
  ASSERT_EQ(y.shape(), sums.shape());
  size_t next = 0;
  const Shape& s = y.shape();
  for (int64_t n = 0; n < s[0]; ++n)
    for (int64_t m = 0; m < s[1]; ++m)
      for (int64_t i = 0; i < s[2]; ++i)
        for (int64_t j = 0; j < s[3]; ++j, ++next) {
          int32_t sum = sum_by_definition(k, x, x_zero, w, w_zero, {n, m, i, j});
          ASSERT_EQ(sums.as<int32_t>()[next], sum);
          if (k.has_bias) sum += bias.as<int32_t>()[static_cast<size_t>(m)];
          float factor = x_scale * w_scale.as<float>()[k.per_channel ? static_cast<size_t>(m) : 0] / y_scale;
          double scaled = std::nearbyint(static_cast<double>(sum) * factor) + y_zero;
          ASSERT_EQ(y.as<int8_t>()[next], std::clamp(scaled, -128.0, 127.0)) << "channel " << m;
        }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, QLinearConvTest,
    ::testing::Values(ConvCase{{1, 3, 7, 7}, {5, 3, 3, 3}, 1, 1, 1, true, true},
                      ConvCase{{2, 8, 6, 5}, {8, 1, 3, 3}, 8, 2, 1, true, true},
                      ConvCase{{1, 16, 9, 9}, {12, 16, 1, 1}, 1, 1, 0, false, false},
                      ConvCase{{1, 8, 5, 5}, {6, 4, 2, 2}, 2, 1, 1, false, true},
                      ConvCase{{1, 64, 33, 33}, {32, 64, 3, 3}, 1, 1, 1, true, false}));  // on several threads

TEST(ConvInteger, ZeroPointsAreOptional) {
  Tensor x = u8({1, 1, 2, 2}, {255, 255, 255, 255}), w = u8({1, 1, 2, 2}, {255, 255, 255, 255});
  expect_equal(run("ConvInteger", {x, w})[0], i32({1, 1, 1, 1}, {4 * 255 * 255}));
  expect_equal(run("ConvInteger", {x, w, absent(), u8({1}, {254})})[0], i32({1, 1, 1, 1}, {4 * 255}));
}

TEST(ConvInteger, SumsOverflowIn32Bits) {
  // 33100 * 255 * 255 = 2152327500 = 2^31 + 4843852
  int64_t length = 33100;
  Tensor ones = random_bytes<uint8_t>(DType::U8, {1, 1, length}, 1);
  std::fill(ones.as<uint8_t>().begin(), ones.as<uint8_t>().end(), uint8_t{255});
  int64_t exact = length * 255 * 255;
  expect_equal(run("ConvInteger", {ones, ones})[0], i32({1, 1, 1}, {static_cast<int32_t>(exact)}));
  EXPECT_GT(exact, std::numeric_limits<int32_t>::max());
}

TEST(MatMulInteger, ZeroPointsPerRowAndColumn) {
  Tensor a = u8({2, 2}, {1, 2, 3, 4}), b = i8({2, 2}, {1, -1, 2, -2});
  expect_equal(run("MatMulInteger", {a, b})[0], i32({2, 2}, {5, -5, 11, -11}));
  expect_equal(run("MatMulInteger", {a, b, u8({}, {1})})[0], i32({2, 2}, {2, -2, 8, -8}));
  // Rows (0, 1) and (0, 1); columns (0, 1) and (0, -1).
  expect_equal(run("MatMulInteger", {a, b, u8({2}, {1, 3}), i8({2}, {1, -1})})[0], i32({2, 2}, {1, -1, 1, -1}));
  expect_equal(run("MatMulInteger", {u8({2}, {1, 2}), b, absent(), i8({2}, {1, -1})})[0], i32({2}, {2, -2}));
  expect_equal(run("MatMulInteger", {u8({2}, {1, 2}), i8({2}, {3, 4})})[0], i32({}, {11}));
  // Each matrix of a stack has its own rows.
  expect_equal(run("MatMulInteger", {u8({2, 1, 2}, {1, 2, 3, 4}), i8({2, 1}, {1, 1}), u8({2, 1, 1}, {1, 3})})[0],
               i32({2, 1, 1}, {1, 1}));
}

TEST(QLinearMatMul, ScalesPerRowAndColumn) {
  Tensor a = u8({2, 2}, {1, 2, 3, 4}), b = i8({2, 2}, {1, -1, 2, -2});
  Tensor one = f32({}, {1}), none = u8({}, {0}), no = i8({}, {0});
  // Sums are 5 -5 11 -11; halves go to even: 2.5 -2.5 5.5 -5.5
  expect_equal(run("QLinearMatMul", {a, one, none, b, one, no, f32({}, {2}), no})[0], i8({2, 2}, {2, -2, 6, -6}));
  expect_equal(run("QLinearMatMul", {a, one, none, b, one, no, one, u8({}, {6})})[0], u8({2, 2}, {11, 1, 17, 0}));
  expect_equal(run("QLinearMatMul", {a, f32({2}, {1, 2}), none, b, f32({2}, {1, 10}), no, one, no})[0],
               i8({2, 2}, {5, -50, 22, -128}));
  expect_equal(run("QLinearMatMul", {u8({2}, {1, 2}), one, none, b, f32({2}, {1, 10}), no, one, no})[0],
               i8({2}, {5, -50}));
}

TEST(IntegerTensors, GoThroughWhatStandsBetweenConvolutions) {
  Tensor x = i8({1, 1, 2, 2}, {-3, 5, -128, 127});
  expect_equal(run("Relu", {x})[0], i8({1, 1, 2, 2}, {0, 5, 0, 127}));
  expect_equal(run("Clip", {x, i8({}, {-1}), i8({}, {6})})[0], i8({1, 1, 2, 2}, {-1, 5, -1, 6}));
  expect_equal(run("MaxPool", {x}, {{"kernel_shape", Ints{2, 2}}})[0], i8({1, 1, 1, 1}, {127}));
  expect_equal(run("MaxPool", {u8({1, 1, 2, 2}, {3, 200, 0, 1})}, {{"kernel_shape", Ints{2, 2}}})[0],
               u8({1, 1, 1, 1}, {200}));
  expect_equal(run("Concat", {x, x}, {{"axis", int64_t{1}}})[0],
               i8({1, 2, 2, 2}, {-3, 5, -128, 127, -3, 5, -128, 127}));
  expect_equal(run("Pad", {i8({2}, {1, 2}), i64({2}, {1, 1}), i8({}, {-7})})[0], i8({4}, {-7, 1, 2, -7}));
  expect_equal(run("Transpose", {x}, {{"perm", Ints{0, 1, 3, 2}}})[0], i8({1, 1, 2, 2}, {-3, -128, 5, 127}));
  expect_equal(run("Reshape", {x, i64({1}, {4})})[0], i8({4}, {-3, 5, -128, 127}));
  expect_equal(run("Add", {x, x})[0], i8({1, 1, 2, 2}, {-6, 10, 0, -2}));  // modulo 256
  expect_equal(run("ArgMax", {x}, {{"axis", int64_t{3}}})[0], i64({1, 1, 2, 1}, {1, 1}));
  expect_equal(run("Resize", {x, absent(), f32({4}, {1, 1, 1, 2})}, {{"mode", std::string("nearest")}})[0],
               i8({1, 1, 2, 4}, {-3, -3, 5, 5, -128, -128, 127, 127}));
}

}  // namespace
}  // namespace collage::runtime
