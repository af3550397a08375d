// SPDX-License-Identifier: Apache-2.0
// Integers of 64 bits are exact in arithmetic and comparisons; what has no value says so.
#include "compiler/ir/rules/number.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "compiler/ir/rules/functions.h"

namespace collage::testing {
namespace {

using ir::ExprOp;
using ir::Number;

__extension__ using Wide = __int128;

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kTwoTo53 = int64_t{1} << 53;

std::optional<Number> apply(ExprOp op, Number a, Number b) {
  return ir::number_operator(op)(a, b);
}

TEST(Number, IntegersBeyondDoublesDiffer) {
  EXPECT_NE(Number(kTwoTo53 + 1), Number(kTwoTo53));
  EXPECT_LT(Number(kLargest - 1), Number(kLargest));
  EXPECT_EQ(apply(ExprOp::Add, kTwoTo53, 1), Number(kTwoTo53 + 1));
  EXPECT_EQ(apply(ExprOp::Remainder, kTwoTo53 + 1, 2), Number(1));
  EXPECT_EQ(apply(ExprOp::Divide, kLargest - 1, 2)->whole(), (kLargest - 1) / 2);
}

TEST(Number, ComparesIntegersWithDoublesExactly) {
  const double near = 0x1p53;
  EXPECT_GT(Number(kTwoTo53 + 1), Number(near));
  EXPECT_EQ(Number(kTwoTo53), Number(near));
  EXPECT_LT(Number(kLargest), Number(0x1p63));
  EXPECT_EQ(Number(kLeast), Number(-0x1p63));
  EXPECT_GT(Number(kLeast), Number(-std::numeric_limits<double>::infinity()));
  EXPECT_LT(Number(-1), Number(-0.5));
  EXPECT_GT(Number(1), Number(0.5));
  const Number nan(std::nan(""));
  EXPECT_FALSE(Number(0) == nan || Number(0) < nan || Number(0) > nan);
}

TEST(Number, QuotientsAreWholeWhereNothingRemains) {
  EXPECT_TRUE(apply(ExprOp::Divide, 6, 2)->is_whole());
  EXPECT_EQ(apply(ExprOp::Divide, 7, 2), Number(3.5));
  EXPECT_EQ(apply(ExprOp::Remainder, -7, 2), Number(-1));
  EXPECT_EQ(apply(ExprOp::Remainder, kLeast, -1), Number(0));
}

TEST(Number, WhatHasNoValue) {
  for (ExprOp op : {ExprOp::Divide, ExprOp::Remainder}) {
    EXPECT_FALSE(apply(op, 7, 0));
    EXPECT_FALSE(apply(op, 7.5, 0.0));
    EXPECT_FALSE(apply(op, 7, -0.0));
  }
  EXPECT_FALSE(apply(ExprOp::Add, kLargest, 1));
  EXPECT_FALSE(apply(ExprOp::Subtract, kLeast, 1));
  EXPECT_FALSE(apply(ExprOp::Multiply, kTwoTo53, kTwoTo53));
  EXPECT_FALSE(apply(ExprOp::Divide, kLeast, -1));
  EXPECT_FALSE(
      apply(ExprOp::Subtract, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(ir::negated(kLeast));
  EXPECT_FALSE(ir::magnitude(kLeast));
  EXPECT_EQ(ir::why_no_value(ExprOp::Remainder, 7, 0), "`7 % 0` divides by zero");
  EXPECT_EQ(ir::why_no_value(ExprOp::Add, kLargest, 1), "`9223372036854775807 + 1` does not fit 64 bits");
}

TEST(Number, Powers) {
  EXPECT_EQ(ir::power(3, 39)->whole(), 4052555153018976267);
  EXPECT_FALSE(ir::power(3, 40));
  EXPECT_EQ(ir::power(-1, kLargest), Number(-1));
  EXPECT_EQ(ir::power(0, kLargest), Number(0));
  EXPECT_EQ(ir::power(-2, 63)->whole(), kLeast);
  EXPECT_EQ(ir::power(2, -1), Number(0.5));
  EXPECT_FALSE(ir::power(-1.0, 0.5));
}

TEST(Number, AgreesWithWiderIntegers) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20'000; ++round) {
    const auto draw = [&] { return static_cast<int64_t>(random()) >> (random() % 64); };
    const int64_t a = draw(), b = draw();
    const auto check = [&](ExprOp op, Wide wanted) {
      const std::optional<Number> found = apply(op, a, b);
      ASSERT_EQ(found.has_value(), wanted >= kLeast && wanted <= kLargest)
          << a << " " << ir::spelling_of(op) << " " << b;
      if (!found) return;
      ASSERT_EQ(found->whole(), static_cast<int64_t>(wanted));
    };
    check(ExprOp::Add, static_cast<Wide>(a) + b);
    check(ExprOp::Subtract, static_cast<Wide>(a) - b);
    check(ExprOp::Multiply, static_cast<Wide>(a) * b);
    if (b != 0) check(ExprOp::Remainder, static_cast<Wide>(a) % b);
    ASSERT_EQ(Number(a) < Number(b), a < b);
  }
}

}  // namespace
}  // namespace collage::testing
