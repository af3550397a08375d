// SPDX-License-Identifier: Apache-2.0
// Narrow floats and integers: every pattern comes back, rounding is to the nearest, and what lies beyond the greatest
// number. Expected values are from the formats' definitions: greatest numbers, smallest ones, special patterns.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "runtime/core/element.h"
#include "runtime/core/storage.h"

namespace collage::runtime {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <typename T>
class NarrowFloats : public testing::Test {};

using Types = testing::Types<Half, BFloat16, Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, Float4E2M1>;
TYPED_TEST_SUITE(NarrowFloats, Types);

template <typename T>
std::vector<T> all_numbers() {
  std::vector<T> numbers;
  for (uint32_t bits = 0; bits < 1U << T::kBits; ++bits) {
    const T number = T::of_bits(static_cast<typename T::Bits>(bits));
    if (!number.is_nan() && std::isfinite(static_cast<float>(number))) numbers.push_back(number);
  }
  return numbers;
}

TYPED_TEST(NarrowFloats, EveryNumberComesBackAsItself) {
  for (TypeParam number : all_numbers<TypeParam>()) {
    EXPECT_EQ(TypeParam(static_cast<float>(number)).bits(), number.bits());
    EXPECT_EQ(TypeParam::saturated(static_cast<double>(number)).bits(), number.bits());
  }
}

// Between neighbours: what is nearer, and of ties the one whose last bit is 0.
TYPED_TEST(NarrowFloats, RoundsToNearestEven) {
  for (TypeParam number : all_numbers<TypeParam>()) {
    const auto low = static_cast<double>(number);
    const auto next = TypeParam::of_bits(static_cast<typename TypeParam::Bits>(number.bits() + 1));
    const auto high = static_cast<double>(next);
    if (low < 0 || !(high > low) || std::isinf(high)) continue;
    const double middle = (low + high) / 2;
    const TypeParam even = (number.bits() & 1) == 0 ? number : next;
    EXPECT_EQ(TypeParam(middle).bits(), even.bits()) << low;
    EXPECT_EQ(TypeParam(std::nextafter(middle, 0.0)).bits(), number.bits()) << low;
    EXPECT_EQ(TypeParam(std::nextafter(middle, kInfinity)).bits(), next.bits()) << low;
  }
}

template <typename T>
double greatest() {
  return static_cast<double>(T::saturated(kInfinity));
}

TEST(NarrowFloat, GreatestNumbersAreThoseOfTheFormats) {
  EXPECT_EQ(greatest<Half>(), 65504);
  EXPECT_EQ(greatest<BFloat16>(), 0x1.fep127);
  EXPECT_EQ(greatest<Float8E4M3FN>(), 448);
  EXPECT_EQ(greatest<Float8E4M3FNUZ>(), 240);
  EXPECT_EQ(greatest<Float8E5M2>(), 57344);
  EXPECT_EQ(greatest<Float8E5M2FNUZ>(), 57344);
  EXPECT_EQ(greatest<Float4E2M1>(), 6);
  EXPECT_EQ(static_cast<float>(Float8E8M0::saturated(kInfinity)), 0x1p127F);
}

TEST(NarrowFloat, BeyondTheGreatestNumber) {
  EXPECT_EQ(Half(65520).bits(), 0x7c00);
  EXPECT_EQ(Float8E5M2(1e6).bits(), 0x7c);
  EXPECT_TRUE(Float8E4M3FN(465).is_nan());  // rounds to 480, which the pattern of NaN would be
  EXPECT_EQ(Float8E4M3FN(464).bits(), 0x7e);
  EXPECT_TRUE(Float8E4M3FNUZ(-1e6).is_nan());
  EXPECT_TRUE(Float8E5M2FNUZ(kInfinity).is_nan());
  EXPECT_EQ(static_cast<float>(Float4E2M1(-100)), -6);
  EXPECT_EQ(Float4E2M1(NAN).bits(), 0x8);
  EXPECT_EQ(Float8E5M2::saturated(-kInfinity).bits(), 0xfb);
}

TEST(NarrowFloat, NansAndZeros) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(Half(nan).is_nan());
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(nan))));
  EXPECT_TRUE(Float8E4M3FN::saturated(nan).is_nan());
  EXPECT_EQ(Float8E4M3FNUZ(nan).bits(), 0x80);
  EXPECT_EQ(Float8E4M3FNUZ(-0.0).bits(), 0x00);
  EXPECT_EQ(Float8E4M3FNUZ(-1e-9).bits(), 0x00);
  EXPECT_EQ(Float8E4M3FN(-0.0).bits(), 0x80);
  // A quiet NaN keeps its bits on the way through f32.
  EXPECT_EQ(Half(static_cast<float>(Half::of_bits(0xfe12))).bits(), 0xfe12);
}

TEST(NarrowFloat, PowersRoundAsAsked) {
  using enum PowerRounding;
  const auto power = [](double value, PowerRounding rounding, bool saturates = true) {
    return static_cast<float>(Float8E8M0::rounded(value, rounding, saturates));
  };
  EXPECT_EQ(power(1.1, Up), 2);
  EXPECT_EQ(power(1.1, Nearest), 1);
  EXPECT_EQ(power(1.5, Nearest), 2);
  EXPECT_EQ(power(1.9, Down), 1);
  EXPECT_EQ(power(0, Up), 0x1p-127F);
  EXPECT_TRUE(std::isnan(power(0, Nearest, false)));
  EXPECT_TRUE(std::isnan(power(kInfinity, Nearest, false)));
  EXPECT_EQ(power(0x1.8p127, Down, false), 0x1p127F);
}

TEST(NarrowInteger, KeepsLowBits) {
  EXPECT_EQ(static_cast<int>(Int4(-9)), 7);
  EXPECT_EQ(static_cast<int>(Int4(8)), -8);
  EXPECT_EQ(static_cast<int>(UInt4(-1)), 15);
  EXPECT_EQ(static_cast<int>(Int2(2)), -2);
  EXPECT_EQ(static_cast<int>(UInt2(5)), 1);
}

TEST(NarrowInteger, UnsignedIntegersOf64BitsHaveAllNumbers) {
  Tensor tensor(DType::U64, {1});
  tensor.as<uint64_t>()[0] = UINT64_MAX;
  EXPECT_EQ(integer_text(tensor.view(), 0), "18446744073709551615");
  EXPECT_EQ(element_as_double(tensor.view(), 0), 0x1p64);
  EXPECT_TRUE(can_store(StorageType::U64, UINT64_MAX));
  EXPECT_FALSE(can_store(StorageType::I64, UINT64_MAX));
  EXPECT_FALSE(can_store(StorageType::U64, int64_t{-1}));
  int64_t clamped = 0;
  convert_storage(DType::U64, 1, tensor.data(), {}, reinterpret_cast<std::byte*>(&clamped), Storage{StorageType::I64});
  EXPECT_EQ(clamped, INT64_MAX);
}

TEST(NarrowFloat, HoldsWhatRoundsToANumber) {
  EXPECT_TRUE(holds(DType::F16, 65519));
  EXPECT_FALSE(holds(DType::F16, 65520));
  EXPECT_FALSE(holds(DType::F8E4M3FN, 500));
  EXPECT_TRUE(holds(DType::F4E2M1, 7));
  EXPECT_FALSE(holds(DType::F4E2M1, 7.5));
  EXPECT_TRUE(holds(DType::I4, -8));
  EXPECT_FALSE(holds(DType::U2, 4));
}

}  // namespace
}  // namespace collage::runtime
