// SPDX-License-Identifier: Apache-2.0
// Ranges by each method, and the scales made of them.
#include "compiler/quantize/range.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "compiler/quantize/scale.h"

namespace collage::quantize {
namespace {

using runtime::DType;
using runtime::Shape;
using runtime::Tensor;

Range range_of(const std::vector<float>& elements, RangeMethod method, double percentile = kUsualPercentile) {
  RangeObserver observer;
  observer.add(elements);
  return observer.range({method, percentile});
}

std::vector<float> normal(size_t count, float outlier) {
  std::mt19937 random(5);
  std::normal_distribution<float> number(0, 1);
  std::vector<float> elements;
  for (size_t i = 0; i < count; ++i) elements.push_back(number(random));
  elements.push_back(outlier);
  return elements;
}

Tensor tensor(const Shape& shape, const std::vector<float>& elements) {
  Tensor made(DType::F32, shape);
  std::copy(elements.begin(), elements.end(), made.as<float>().begin());
  return made;
}

TEST(Ranges, MinMaxIsWhatWasSeen) {
  EXPECT_EQ(range_of({3, -1, 2}, RangeMethod::MinMax), (Range{-1, 3}));
  EXPECT_EQ(range_of({3, 2}, RangeMethod::MinMax), (Range{2, 3}));
  EXPECT_EQ(range_of({-3, -2}, RangeMethod::MinMax), (Range{-3, -2}));
  EXPECT_EQ(range_of({}, RangeMethod::MinMax), Range());
}

TEST(Ranges, OfZerosIsZeroForEveryMethod) {
  for (const RangeMethodRow& row : kRangeMethodRows) {
    EXPECT_EQ(range_of({0, -0.0f, 0}, row.method), Range()) << row.name;
    EXPECT_EQ(range_of({}, row.method), Range()) << row.name;
  }
}

TEST(Ranges, SpecialElementsAreCountedAndInNoRange) {
  RangeObserver observer;
  const float infinity = std::numeric_limits<float>::infinity();
  observer.add(std::vector<float>{1, std::numeric_limits<float>::quiet_NaN(), -infinity, 2});
  EXPECT_EQ(observer.special_count(), 2);
  EXPECT_EQ(observer.range({}), (Range{1, 2}));
}

TEST(Ranges, DoNotDependOnTheOrderOfRuns) {
  const std::vector<float> all = normal(3000, 1000);
  for (const RangeMethodRow& row : kRangeMethodRows) {
    RangeObserver forwards, backwards;
    for (size_t i = 0; i < all.size(); ++i) {
      forwards.add({&all[i], 1});
      backwards.add({&all[all.size() - 1 - i], 1});
    }
    EXPECT_EQ(forwards.range({row.method}), backwards.range({row.method})) << row.name;
    EXPECT_EQ(forwards.range({row.method}), range_of(all, row.method)) << row.name;
  }
}

TEST(Ranges, PercentileAndEntropyLeaveOutAnOutlier) {
  const std::vector<float> all = normal(100'000, 60);
  EXPECT_EQ(range_of(all, RangeMethod::MinMax).high, 60);
  for (RangeMethod method : {RangeMethod::Percentile, RangeMethod::Entropy}) {
    const Range range = range_of(all, method);
    EXPECT_LT(range.high, 12);
    EXPECT_GT(range.high, 2.5);
    EXPECT_GT(range.low, -12);
    EXPECT_LT(range.low, -2.5);
  }
}

TEST(Ranges, PercentileCutsBothEndsAlike) {
  std::vector<float> elements;
  for (int i = 1; i <= 1000; ++i) elements.push_back(static_cast<float>(i) / 1000);
  const Range range = range_of(elements, RangeMethod::Percentile, 90);
  EXPECT_NEAR(range.high, 0.95, 2e-3);
  EXPECT_GE(range.low, 0.001);
  EXPECT_NEAR(range.low, 0.05, 2e-3);
  EXPECT_EQ(range_of(elements, RangeMethod::Percentile, 100), (Range{0.001f, 1}));
}

TEST(Scales, CoverTheRangeAndRepresentZero) {
  for (const Range& range : {Range{-1, 3}, Range{0, 6}, Range{2, 3}, Range{-5, -4}, Range{-1e-3, 1e3}, Range{-7, 0}}) {
    const Scale scale = scale_of(range);
    const double low = (-128 - scale.zero) * double{scale.scale}, high = (127 - scale.zero) * double{scale.scale};
    EXPECT_NEAR(low, std::min(range.low, 0.0), scale.scale);
    EXPECT_NEAR(high, std::max(range.high, 0.0), scale.scale);
    EXPECT_LE(low, 0);
    EXPECT_GE(high, 0);
  }
  EXPECT_EQ(scale_of({0, 255}), (Scale{1, -128}));
  EXPECT_EQ(scale_of({0, 0}), (Scale{1, 0}));
}

TEST(Scales, OfTinyAndHugeRangesAreNormalNumbers) {
  const double tiny = std::numeric_limits<float>::denorm_min(), huge = std::numeric_limits<float>::max();
  EXPECT_GE(scale_of({0, tiny}).scale, std::numeric_limits<float>::min());
  EXPECT_TRUE(std::isfinite(scale_of({-huge, huge}).scale));
}

TEST(Weights, HaveAScaleForEachChannelOrOne) {
  const Tensor weights = tensor({2, 3}, {1, -2, 0.5f, 10, 20, -40});
  const auto rows = quantize_weights(weights, 0, WeightScales::PerChannel);
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->scale.shape(), (Shape{2}));
  EXPECT_FLOAT_EQ(rows->scale.as<float>()[0], 2.0f / 127);
  EXPECT_FLOAT_EQ(rows->scale.as<float>()[1], 40.0f / 127);
  EXPECT_EQ(rows->values.as<int8_t>()[1], -127);
  EXPECT_EQ(rows->values.as<int8_t>()[5], -127);
  const auto columns = quantize_weights(weights, 1, WeightScales::PerChannel);
  EXPECT_EQ(columns->scale.shape(), (Shape{3}));
  EXPECT_FLOAT_EQ(columns->scale.as<float>()[1], 20.0f / 127);
  EXPECT_EQ(columns->values.as<int8_t>()[4], 127);
  const auto one = quantize_weights(weights, 0, WeightScales::PerTensor);
  EXPECT_EQ(one->scale.shape(), Shape());
  EXPECT_EQ(one->values.as<int8_t>()[0], 3);
}

TEST(Weights, OfZerosKeepTheirBias) {
  const Tensor weights = tensor({2, 1}, {0, 1});
  const std::vector<double> bias = {0.3, 0};
  const auto least = least_scales_for(bias, 0.01);
  ASSERT_TRUE(least);
  const auto integers = quantize_weights(weights, 0, WeightScales::PerChannel, *least);
  ASSERT_TRUE(integers);
  const Tensor integer_bias = quantize_bias(bias, 0.01, integers->scale);
  EXPECT_EQ(integers->values.as<int8_t>()[0], 0);
  EXPECT_NEAR(integer_bias.as<int32_t>()[0] * 0.01 * double{integers->scale.as<float>()[0]}, 0.3, 1e-4);
}

TEST(Weights, ScalesGrowUntilTheBiasFits) {
  const Tensor weights = tensor({1, 1}, {1e-9f});
  const std::vector<double> bias = {100};
  const auto integers = quantize_weights(weights, 0, WeightScales::PerChannel, *least_scales_for(bias, 0.01));
  ASSERT_TRUE(integers);
  const double unit = 0.01 * double{integers->scale.as<float>()[0]};
  EXPECT_NEAR(quantize_bias(bias, 0.01, integers->scale).as<int32_t>()[0] * unit, 100, 1e-4);
}

TEST(Weights, ThatAreNoNumbersAreRefused) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(quantize_weights(tensor({1, 2}, {1, nan}), 0, WeightScales::PerChannel));
  EXPECT_FALSE(least_scales_for({nan}, 1));
}

}  // namespace
}  // namespace collage::quantize
