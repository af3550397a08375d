// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/rules/number.h"

#include <fmt/format.h>

#include <limits>

#include "compiler/ir/rules/functions.h"

namespace collage::ir {
namespace {

constexpr double kTwoTo63 = 0x1p63;

std::partial_ordering exact_order(int64_t a, double b) {
  if (std::isnan(b)) return std::partial_ordering::unordered;
  if (b >= kTwoTo63) return std::partial_ordering::less;
  if (b < -kTwoTo63) return std::partial_ordering::greater;
  const auto whole = static_cast<int64_t>(b);
  if (a != whole) return a <=> whole;
  return static_cast<double>(whole) <=> b;  // |b| < 2^53 if it has a fraction, so this is exact
}

/// A result that is NaN though no operand is has no value.
std::optional<Number> defined(double result, double a, double b) {
  if (std::isnan(result) && !std::isnan(a) && !std::isnan(b)) return std::nullopt;
  return Number(result);
}

std::optional<Number> sum_of(const Number& a, const Number& b) {
  if (!a.is_whole() || !b.is_whole()) return defined(a.real() + b.real(), a.real(), b.real());
  int64_t result = 0;
  return __builtin_add_overflow(a.whole(), b.whole(), &result) ? std::nullopt : std::optional<Number>(result);
}

std::optional<Number> difference_of(const Number& a, const Number& b) {
  if (!a.is_whole() || !b.is_whole()) return defined(a.real() - b.real(), a.real(), b.real());
  int64_t result = 0;
  return __builtin_sub_overflow(a.whole(), b.whole(), &result) ? std::nullopt : std::optional<Number>(result);
}

std::optional<Number> product_of(const Number& a, const Number& b) {
  if (!a.is_whole() || !b.is_whole()) return defined(a.real() * b.real(), a.real(), b.real());
  int64_t result = 0;
  return __builtin_mul_overflow(a.whole(), b.whole(), &result) ? std::nullopt : std::optional<Number>(result);
}

std::optional<Number> quotient_of(const Number& a, const Number& b) {
  if (b == 0) return std::nullopt;
  if (!a.is_whole() || !b.is_whole()) return defined(a.real() / b.real(), a.real(), b.real());
  if (b == -1) return negated(a);
  if (a.whole() % b.whole() == 0) return Number(a.whole() / b.whole());
  return Number(a.real() / b.real());
}

/// It has the sign of the dividend.
std::optional<Number> remainder_of(const Number& a, const Number& b) {
  if (b == 0) return std::nullopt;
  if (!a.is_whole() || !b.is_whole()) return defined(std::fmod(a.real(), b.real()), a.real(), b.real());
  return Number(b == -1 ? 0 : a.whole() % b.whole());
}

std::optional<Number> truth_number(bool holds) {
  return Number(holds ? 1 : 0);
}

}  // namespace

std::partial_ordering operator<=>(const Number& a, const Number& b) {
  if (a.is_whole_ && b.is_whole_) return a.whole_ <=> b.whole_;
  if (a.is_whole_) return exact_order(a.whole_, b.real_);
  if (b.is_whole_) return 0 <=> exact_order(b.whole_, a.real_);
  return a.real_ <=> b.real_;
}

std::optional<int64_t> to_whole(const Number& number) {
  if (number.is_whole()) return number.whole();
  const double real = number.real();
  if (real != std::floor(real) || !(real >= -kTwoTo63 && real < kTwoTo63)) return std::nullopt;
  return static_cast<int64_t>(real);
}

NumberOperator number_operator(ExprOp op) {
  using N = const Number&;
  switch (op) {
    case ExprOp::Add: return sum_of;
    case ExprOp::Subtract: return difference_of;
    case ExprOp::Multiply: return product_of;
    case ExprOp::Divide: return quotient_of;
    case ExprOp::Remainder: return remainder_of;
    case ExprOp::Less: return [](N a, N b) { return truth_number(a < b); };
    case ExprOp::LessEqual: return [](N a, N b) { return truth_number(a <= b); };
    case ExprOp::Greater: return [](N a, N b) { return truth_number(a > b); };
    case ExprOp::GreaterEqual: return [](N a, N b) { return truth_number(a >= b); };
    case ExprOp::Equal: return [](N a, N b) { return truth_number(a == b); };
    case ExprOp::NotEqual: return [](N a, N b) { return truth_number(a != b); };
    case ExprOp::And: return [](N a, N b) { return truth_number(a != 0 && b != 0); };
    case ExprOp::Or: return [](N a, N b) { return truth_number(a != 0 || b != 0); };
    case ExprOp::Negate:
    case ExprOp::Not:
    case ExprOp::In: return nullptr;
  }
  return nullptr;
}

std::string why_no_value(ExprOp op, const Number& a, const Number& b) {
  const bool divides = op == ExprOp::Divide || op == ExprOp::Remainder;
  const bool are_whole = a.is_whole() && b.is_whole();
  return fmt::format("`{} {} {}` {}", to_text(a), spelling_of(op), to_text(b),
                     divides && b == 0 ? "divides by zero"
                     : are_whole       ? "does not fit 64 bits"
                                       : "is not a number");
}

std::optional<Number> negated(const Number& number) {
  if (!number.is_whole()) return Number(-number.real());
  if (number.whole() == std::numeric_limits<int64_t>::min()) return std::nullopt;
  return Number(-number.whole());
}

std::optional<Number> magnitude(const Number& number) {
  if (!number.is_whole()) return Number(std::abs(number.real()));
  return number.whole() < 0 ? negated(number) : number;
}

std::optional<Number> power(const Number& base, const Number& exponent) {
  if (!base.is_whole() || !exponent.is_whole() || exponent < 0)
    return defined(std::pow(base.real(), exponent.real()), base.real(), exponent.real());
  std::optional<Number> result = Number(1);
  std::optional<Number> factor = base;
  for (int64_t left = exponent.whole(); left > 0; left /= 2) {
    if (left % 2 == 1) result = factor ? product_of(*result, *factor) : std::nullopt;
    if (!result) return std::nullopt;
    if (left > 1 && factor) factor = product_of(*factor, *factor);
  }
  return result;
}

std::string to_text(const Number& number) {
  if (number.is_whole()) return std::to_string(number.whole());
  const double real = number.real();
  if (std::abs(real) < 0x1p53 && real == std::floor(real)) return std::to_string(static_cast<int64_t>(real));
  return fmt::format("{:.6g}", real);
}

}  // namespace collage::ir
