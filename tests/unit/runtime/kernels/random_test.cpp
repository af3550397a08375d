// SPDX-License-Identifier: Apache-2.0
// Random tensors: their moments, and that a seed gives the same numbers again.
#include "tests/unit/runtime/kernels/fixture.h"

namespace collage::runtime {
namespace {

double mean_of(const Tensor& x) {
  double sum = 0;
  for (int64_t i = 0; i < x.count(); ++i) sum += element_as_double(x.view(), i);
  return sum / static_cast<double>(x.count());
}

double variance_of(const Tensor& x) {
  double mean = mean_of(x), sum = 0;
  for (int64_t i = 0; i < x.count(); ++i) sum += std::pow(element_as_double(x.view(), i) - mean, 2);
  return sum / static_cast<double>(x.count());
}

TEST(RandomKernels, MomentsOfNormalAndUniformNumbers) {
  Tensor like = f32({100, 100}, std::vector<float>(10000));
  Tensor normal = run("RandomNormalLike", {like}, {{"mean", 3.0}, {"scale", 2.0}, {"seed", 5.0}})[0];
  EXPECT_NEAR(mean_of(normal), 3, 0.1);
  EXPECT_NEAR(variance_of(normal), 4, 0.2);
  Tensor uniform = run("RandomUniformLike", {like}, {{"low", -1.0}, {"high", 2.0}, {"seed", 5.0}})[0];
  EXPECT_NEAR(mean_of(uniform), 0.5, 0.05);
  EXPECT_NEAR(variance_of(uniform), 0.75, 0.05);
  for (float x : uniform.as<float>()) EXPECT_TRUE(x >= -1 && x < 2);
}

TEST(RandomKernels, RoundingReachesNoEndOfTheInterval) {
  // Narrow enough that rounding to nearest would often give 1, which does not belong to it, or something below 0.1.
  for (const DType dtype : {DType::F16, DType::BF16, DType::F32}) {
    Tensor like(dtype, {2000});
    const auto all_within = [&](double low, double high) {
      const Tensor y = run("RandomUniformLike", {like}, {{"low", low}, {"high", high}, {"seed", 3.0}})[0];
      EXPECT_EQ(y.dtype(), dtype);
      for (int64_t i = 0; i < y.count(); ++i) {
        const double x = element_as_double(y.view(), i);
        ASSERT_TRUE(x >= low && x < high) << name_of(dtype) << " " << x << " in " << low << " to " << high;
      }
    };
    all_within(0.99, 1);
    all_within(-0.01, 0);
    all_within(-1, -0.99);
    all_within(0.1, 0.11);
  }
}

TEST(RandomKernels, TheSeedAloneDecides) {
  Tensor like = f32({6}, std::vector<float>(6));
  auto numbers = [&](double seed) { return run("RandomUniformLike", {like}, {{"seed", seed}})[0]; };
  EXPECT_TRUE(identical(numbers(1), numbers(1)));
  EXPECT_FALSE(identical(numbers(1), numbers(2)));
  EXPECT_TRUE(identical(numbers(0), run("RandomUniformLike", {like})[0]));
  // Another shape begins with the same numbers.
  Tensor fewer = run("RandomUniformLike", {f32({3}, {0, 0, 0})}, {{"seed", 1.0}})[0];
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(fewer.as<float>()[i], numbers(1).as<float>()[i]);
}

TEST(RandomKernels, BernoulliAndMultinomialFollowTheirOdds) {
  Tensor coins = run("Bernoulli", {f32({10000}, std::vector<float>(10000, 0.3F))}, {{"dtype", int64_t{9}}})[0];
  EXPECT_EQ(coins.dtype(), DType::Bool);
  EXPECT_NEAR(mean_of(coins), 0.3, 0.02);
  expect_equal(run("Bernoulli", {f32({2}, {0, 1})})[0], f32({2}, {0, 1}));
  // Odds 1 : 3; the second row never gives 0.
  Tensor drawn = run("Multinomial", {f32({2, 2}, {0, std::log(3.0F), -1e30F, 5})}, {{"sample_size", int64_t{4000}}})[0];
  ASSERT_EQ(drawn.shape(), (Shape{2, 4000}));
  double first = 0;
  for (size_t i = 0; i < 8000; ++i) {
    if (i < 4000) {
      first += drawn.as<int32_t>()[i];
    } else {
      EXPECT_EQ(drawn.as<int32_t>()[i], 1);
    }
  }
  EXPECT_NEAR(first / 4000, 0.75, 0.03);
}

}  // namespace
}  // namespace collage::runtime
