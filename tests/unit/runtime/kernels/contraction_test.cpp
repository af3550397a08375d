// SPDX-License-Identifier: Apache-2.0
// Reference kernels of convolutions and matrix products: by hand where small, else against the definition, element by
// element.
#include <random>

#include "tests/unit/runtime/kernels/fixture.h"

namespace collage::runtime {
namespace {

Tensor random_tensor(Shape shape, uint32_t seed) {
  Tensor result(DType::F32, std::move(shape));
  std::mt19937 generator(seed);
  for (float& value : result.as<float>())
    value = static_cast<float>(static_cast<int>(generator() % 2001) - 1000) / 1000.f;
  return result;
}

float at(const Tensor& t, int64_t a, int64_t b, int64_t c, int64_t d) {
  const Shape& s = t.shape();
  return t.as<float>()[static_cast<size_t>(((a * s[1] + b) * s[2] + c) * s[3] + d)];
}

struct Case2d {
  int64_t batch, in_channels, height, width, out_channels, kernel_h, kernel_w, group;
  Ints strides, dilations, pads;
};

/// The definition of ONNX's Conv in two dimensions, one output element at a time.
Tensor conv_by_definition(const Case2d& k, const Tensor& x, const Tensor& w, const Tensor& bias, const Shape& shape) {
  Tensor y(DType::F32, shape);
  size_t next = 0;
  int64_t in_group = k.in_channels / k.group;
  int64_t out_group = k.out_channels / k.group;
  for (int64_t n = 0; n < shape[0]; ++n)
    for (int64_t m = 0; m < shape[1]; ++m)
      for (int64_t i = 0; i < shape[2]; ++i)
        for (int64_t j = 0; j < shape[3]; ++j) {
          double sum = bias.as<float>()[static_cast<size_t>(m)];
          for (int64_t c = 0; c < in_group; ++c)
            for (int64_t r = 0; r < k.kernel_h; ++r)
              for (int64_t s = 0; s < k.kernel_w; ++s) {
                int64_t row = i * k.strides[0] + r * k.dilations[0] - k.pads[0];
                int64_t column = j * k.strides[1] + s * k.dilations[1] - k.pads[1];
                if (row < 0 || row >= k.height || column < 0 || column >= k.width) continue;
                sum += static_cast<double>(at(x, n, m / out_group * in_group + c, row, column)) *
                       static_cast<double>(at(w, m, c, r, s));
              }
          y.as<float>()[next++] = static_cast<float>(sum);
        }
  return y;
}

TEST(ConvKernel, MatchesItsDefinition) {
  const Case2d cases[] = {
      {1, 3, 7, 9, 5, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}},  // odd channel counts: a block of 4 and a rest of 1
      {2, 4, 8, 5, 8, 1, 1, 1, {1, 1}, {1, 1}, {0, 0, 0, 0}},  // pointwise
      {1, 4, 8, 8, 6, 1, 1, 2, {2, 2}, {1, 1}, {0, 0, 0, 0}},  // pointwise with a stride, in groups
      {1, 6, 9, 6, 6, 3, 2, 6, {2, 1}, {1, 2}, {2, 0, 1, 3}},  // depthwise, everything uneven
      {1, 2, 5, 5, 4, 5, 5, 1, {3, 3}, {1, 1}, {4, 4, 4, 4}},  // pads larger than half the kernel
      {1, 1, 3, 40, 4, 1, 7, 1, {1, 5}, {1, 3}, {0, 9, 0, 10}},
  };
  uint32_t seed = 1;
  for (const Case2d& k : cases) {
    Tensor x = random_tensor({k.batch, k.in_channels, k.height, k.width}, seed++);
    Tensor w = random_tensor({k.out_channels, k.in_channels / k.group, k.kernel_h, k.kernel_w}, seed++);
    Tensor bias = random_tensor({k.out_channels}, seed++);
    Attrs attrs = {{"strides", k.strides}, {"dilations", k.dilations}, {"pads", k.pads}, {"group", k.group}};
    Tensor y = run("Conv", {x, w, bias}, attrs)[0];
    // The sums have few terms and both are rounded once from double.
    expect_equal(y, conv_by_definition(k, x, w, bias, y.shape()), 1e-6);
  }
}

TEST(ConvKernel, AutoPadAndOneDimension) {
  Tensor x = f32({1, 1, 4}, {1, 2, 3, 4});
  Tensor w = f32({1, 1, 2}, {1, 10});
  expect_equal(run("Conv", {x, w}, {{"auto_pad", std::string("SAME_UPPER")}})[0], f32({1, 1, 4}, {21, 32, 43, 4}));
  expect_equal(run("Conv", {x, w}, {{"auto_pad", std::string("SAME_LOWER")}})[0], f32({1, 1, 4}, {10, 21, 32, 43}));
  expect_equal(run("Conv", {x, w}, {{"auto_pad", std::string("VALID")}, {"strides", Ints{2}}})[0],
               f32({1, 1, 2}, {21, 43}));
}

TEST(ConvKernel, ThreeDimensions) {
  // 2 x 2 x 2 ones under a kernel of ones with a pad of 1: each corner of the result sees one element, the middle all
  // eight.
  Tensor x = f32({1, 1, 2, 2, 2}, std::vector<float>(8, 1));
  Tensor y = run("Conv", {x, x}, {{"pads", Ints{1, 1, 1, 1, 1, 1}}})[0];
  ASSERT_EQ(y.shape(), (Shape{1, 1, 3, 3, 3}));
  EXPECT_EQ(y.as<float>()[0], 1);
  EXPECT_EQ(y.as<float>()[1], 2);
  EXPECT_EQ(y.as<float>()[4], 4);
  EXPECT_EQ(y.as<float>()[13], 8);
}

TEST(ConvKernel, EmptyBatch) {
  expect_equal(run("Conv", {f32({0, 1, 3}, {}), f32({1, 1, 2}, {1, 1})})[0], f32({0, 1, 2}, {}));
}

TEST(ConvTransposeKernel, ByHand) {
  Tensor x = f32({1, 1, 3}, {1, 2, 3});
  Tensor w = f32({1, 1, 3}, {1, 10, 100});
  expect_equal(run("ConvTranspose", {x, w})[0], f32({1, 1, 5}, {1, 12, 123, 230, 300}));
  expect_equal(run("ConvTranspose", {x, w, f32({1}, {1000})},
                   {{"strides", Ints{2}}, {"pads", Ints{1, 0}}, {"output_padding", Ints{1}}})[0],
               f32({1, 1, 7}, {1010, 1102, 1020, 1203, 1030, 1300, 1000}));
  expect_equal(run("ConvTranspose", {x, w}, {{"dilations", Ints{2}}})[0],
               f32({1, 1, 7}, {1, 2, 13, 20, 130, 200, 300}));
  expect_equal(run("ConvTranspose", {x, w}, {{"strides", Ints{2}}, {"output_shape", Ints{6}}})[0],
               f32({1, 1, 6}, {10, 102, 20, 203, 30, 300}));
  expect_equal(run("ConvTranspose", {x, w}, {{"strides", Ints{2}}, {"auto_pad", std::string("SAME_UPPER")}})[0],
               f32({1, 1, 6}, {1, 10, 102, 20, 203, 30}));
}

TEST(ConvTransposeKernel, IsTheAdjointOfConv) {
  // <Conv(x, w), y> = <x, ConvTranspose(y, w)>, for every x and y
  for (int64_t group : {int64_t{1}, int64_t{2}}) {
    Tensor x = random_tensor({1, 4, 7, 6}, 11);
    Tensor w = random_tensor({6, 4 / group, 3, 2}, 12);
    Attrs attrs = {{"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 1, 1}}, {"group", group}};
    Tensor forward = run("Conv", {x, w}, attrs)[0];
    Tensor y = random_tensor(forward.shape(), 13);
    Tensor back = run("ConvTranspose", {y, w}, attrs)[0];
    ASSERT_EQ(back.shape(), x.shape());
    double left = 0, right = 0;
    for (int64_t i = 0; i < y.count(); ++i)
      left += element_as_double(forward.view(), i) * element_as_double(y.view(), i);
    for (int64_t i = 0; i < x.count(); ++i) right += element_as_double(back.view(), i) * element_as_double(x.view(), i);
    EXPECT_NEAR(left, right, 1e-5);
  }
}

TEST(GemmKernel, TransposesScalesAndBias) {
  Tensor a = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor a_t = f32({3, 2}, {1, 4, 2, 5, 3, 6});
  Tensor b = f32({3, 2}, {1, 0, 0, 1, 1, 1});
  Tensor b_t = f32({2, 3}, {1, 0, 1, 0, 1, 1});
  Tensor product = f32({2, 2}, {4, 5, 10, 11});
  expect_equal(run("Gemm", {a, b})[0], product);
  expect_equal(run("Gemm", {a_t, b}, {{"transA", int64_t{1}}})[0], product);
  expect_equal(run("Gemm", {a, b_t}, {{"transB", int64_t{1}}})[0], product);
  expect_equal(run("Gemm", {a_t, b_t}, {{"transA", int64_t{1}}, {"transB", int64_t{1}}})[0], product);
  expect_equal(run("Gemm", {a, b, f32({2, 1}, {10, 20})}, {{"alpha", 2.0}, {"beta", 0.5}})[0],
               f32({2, 2}, {13, 15, 30, 32}));
  expect_equal(run("Gemm", {i32({1, 2}, {2, 3}), i32({2, 1}, {5, 7}), i32({}, {1})})[0], i32({1, 1}, {32}));
}

TEST(GemmKernel, LongInnerDimensionBothWays) {
  Tensor a = random_tensor({3, 37}, 1);
  Tensor b = random_tensor({37, 5}, 2);
  Tensor b_t = run("Transpose", {b})[0];
  expect_equal(run("Gemm", {a, b_t}, {{"transB", int64_t{1}}})[0], run("Gemm", {a, b})[0], 1e-7);
  expect_equal(run("MatMul", {a, b})[0], run("Gemm", {a, b})[0]);
}

TEST(MatMulKernel, BatchesAndVectors) {
  Tensor a = iota({2, 1, 2, 2});
  Tensor b = f32({2, 2, 1}, {1, 0, 0, 1});
  // b[0] picks the first column of each matrix, b[1] the second
  expect_equal(run("MatMul", {a, b})[0], f32({2, 2, 2, 1}, {0, 2, 1, 3, 4, 6, 5, 7}));
  expect_equal(run("MatMul", {f32({3}, {1, 2, 3}), f32({3}, {4, 5, 6})})[0], f32({}, {32}));
  expect_equal(run("MatMul", {f32({2}, {1, 2}), iota({2, 2, 2})})[0], f32({2, 2}, {4, 7, 16, 19}));
  expect_equal(run("MatMul", {iota({2, 2, 2}), f32({2}, {1, 2})})[0], f32({2, 2}, {2, 8, 14, 20}));
  expect_equal(run("MatMul", {f32({2, 0}, {}), f32({0, 2}, {})})[0], f32({2, 2}, {0, 0, 0, 0}));
}

}  // namespace
}  // namespace collage::runtime
