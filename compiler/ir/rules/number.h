// SPDX-License-Identifier: Apache-2.0
// Numbers of the rule language: integers of 64 bits, which are exact, and doubles for all else.
//
//     9007199254740993 == 9007199254740992  =>  false        7 / 2    =>  3.5
//     6 / 2                                 =>  3, whole     7 % 0    =>  no value
#pragma once

#include <cmath>
#include <compare>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>

#include "compiler/ir/rules/expr.h"

namespace collage::ir {

class Number {
 public:
  Number() : whole_(0) {}
  template <std::integral T>
  Number(T n) : whole_(static_cast<int64_t>(n)) {}  // NOLINT: implicit on purpose
  template <std::floating_point T>
  Number(T n) : real_(n), is_whole_(false) {}  // NOLINT: implicit on purpose

  /// True for integers; doubles are none, whatever their value.
  bool is_whole() const { return is_whole_; }
  /// The value of an integer.
  int64_t whole() const { return whole_; }
  /// The nearest double.
  double real() const { return is_whole_ ? static_cast<double>(whole_) : real_; }
  bool is_nan() const { return !is_whole_ && std::isnan(real_); }

  /// Exact, also between an integer and a double.
  friend std::partial_ordering operator<=>(const Number& a, const Number& b);
  friend bool operator==(const Number& a, const Number& b) { return (a <=> b) == 0; }

 private:
  union {
    int64_t whole_;
    double real_;
  };
  bool is_whole_ = true;
};

/// The integer that the number is, if it is one of 64 bits; also of a double without fraction.
std::optional<int64_t> to_whole(const Number& number);

/// `a OP b`: arithmetic, or a comparison or `and`, `or`, which give 0 and 1. Integers give an integer, but for a
/// quotient with a remainder. Returns nullopt for a division by zero, for an integer that does not fit 64 bits, and
/// where doubles give none.
using NumberOperator = std::optional<Number> (*)(const Number& a, const Number& b);
/// Null for other operators.
NumberOperator number_operator(ExprOp op);

/// Why `a OP b` has no value: "`7 % 0` divides by zero".
std::string why_no_value(ExprOp op, const Number& a, const Number& b);

/// Returns nullopt for the least integer.
std::optional<Number> negated(const Number& number);
std::optional<Number> magnitude(const Number& number);
/// An integer if both are and the exponent is not negative.
std::optional<Number> power(const Number& base, const Number& exponent);

/// `12`, `2.5`
std::string to_text(const Number& number);

}  // namespace collage::ir
