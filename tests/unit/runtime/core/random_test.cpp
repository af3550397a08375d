// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace collage::runtime {
namespace {

TEST(Random, IsFixedBySeedAndPlace) {
  Tensor a = random_tensor(DType::F32, {1000}, 7);
  Tensor b = random_tensor(DType::F32, {1000}, 7);
  Tensor c = random_tensor(DType::F32, {1000}, 8);
  EXPECT_TRUE(identical(a, b));
  EXPECT_FALSE(identical(a, c));
  double sum = 0;
  for (float value : a.as<float>()) {
    EXPECT_GE(value, -1.0f);
    EXPECT_LT(value, 1.0f);
    sum += value;
  }
  EXPECT_LT(std::abs(sum / 1000), 0.1);
}

TEST(Random, StaysWithinARange) {
  for (DType dtype : {DType::F32, DType::F64}) {
    Tensor usual = random_tensor(dtype, {1000}, 7);
    Tensor scaled = random_tensor(dtype, {1000}, 7, -0.25, 0.25);
    Tensor shifted = random_tensor(dtype, {1000}, 7, 0.5, 1.5);
    Tensor single = random_tensor(dtype, {1000}, 7, 0.25, 0.25);
    for (int64_t i = 0; i < 1000; ++i) {
      double value = element_as_double(usual.view(), i);
      EXPECT_EQ(element_as_double(scaled.view(), i), value / 4);
      EXPECT_NEAR(element_as_double(shifted.view(), i), 1 + value / 2, 1e-7);
      EXPECT_EQ(element_as_double(single.view(), i), 0.25);
    }
  }
}

TEST(Random, IntegersReachBothBounds) {
  for (DType dtype : {DType::I8, DType::U8, DType::I16, DType::I32, DType::I64}) {
    Tensor made = random_tensor(dtype, {1000}, 7, 3, 6);
    std::array<int, 4> counts{};
    for (int64_t i = 0; i < 1000; ++i) {
      int64_t value = element_as_int(made.view(), i);
      ASSERT_TRUE(value >= 3 && value <= 6) << value;
      counts[static_cast<size_t>(value - 3)]++;
    }
    for (int count : counts) EXPECT_NEAR(count, 250, 60);
  }
  Tensor wide = random_tensor(DType::I64, {1000}, 7, -0x1p31, 0x1p31 - 1);
  for (int64_t value : wide.as<int64_t>()) EXPECT_EQ(value, static_cast<int32_t>(value));
}

}  // namespace
}  // namespace collage::runtime
