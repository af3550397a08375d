// SPDX-License-Identifier: Apache-2.0
#include "compiler/lint/logic/ranges.h"

#include <algorithm>
#include <cmath>

#include "compiler/ir/rules/functions.h"

namespace collage::lint {
namespace {

using ir::ExprOp;
using Kind = ir::Expr::Kind;

constexpr Range kNatural{0, kInfinity};

/// 0 * infinity is NaN, which ranges exclude: here it is 0.
double times(double a, double b) {
  return a == 0 || b == 0 ? 0 : a * b;
}

Range product(Range a, Range b) {
  double corners[] = {times(a.low, b.low), times(a.low, b.high), times(a.high, b.low), times(a.high, b.high)};
  return {*std::min_element(std::begin(corners), std::end(corners)),
          *std::max_element(std::begin(corners), std::end(corners))};
}

Range quotient(Range a, Range b) {
  bool is_positive = b.low >= 0;
  bool is_negative = b.high <= 0;
  if (!is_positive && !is_negative) return {};
  // The sign of a zero determines the sign of an infinity, so a divisor that may be -0 gives no bound.
  if (is_negative) return {};
  if (a.low >= 0) return {b.high == kInfinity ? 0 : a.low / b.high, b.low > 0 ? a.high / b.low : kInfinity};
  if (b.low > 0) return {a.low / b.low, a.high >= 0 ? a.high / b.low : 0};
  return {};
}

Range sum(Range a, Range b) {
  double low = a.low + b.low;
  double high = a.high + b.high;
  return {std::isnan(low) ? -kInfinity : low, std::isnan(high) ? kInfinity : high};
}

/// Range of the smallest or of the largest argument.
template <typename Pick>
Range picked(const ir::Expr& expr, const Settings& settings, const KnownRange& known, Pick pick) {
  Range all = range_of(expr.args.at(0), settings, known);
  for (size_t i = 1; i < expr.args.size(); ++i) {
    Range next = range_of(expr.args[i], settings, known);
    all = {pick(all.low, next.low), pick(all.high, next.high)};
  }
  return all;
}

Range call(const ir::Expr& expr, const Settings& settings, const KnownRange& known) {
  auto arg = [&](size_t i) { return range_of(expr.args.at(i), settings, known); };
  switch (expr.function) {
    case ir::FunctionId::min: return picked(expr, settings, known, [](double a, double b) { return std::min(a, b); });
    case ir::FunctionId::max: return picked(expr, settings, known, [](double a, double b) { return std::max(a, b); });
    case ir::FunctionId::abs: {
      Range a = arg(0);
      double high = std::max(std::abs(a.low), std::abs(a.high));
      return {a.low >= 0 ? a.low : a.high <= 0 ? -a.high : 0, high};
    }
    case ir::FunctionId::sqrt: {
      Range a = arg(0);
      return {a.low > 0 ? std::sqrt(a.low) : 0, a.high > 0 ? std::sqrt(a.high) : 0};
    }
    case ir::FunctionId::ceil: return {std::ceil(arg(0).low), std::ceil(arg(0).high)};
    case ir::FunctionId::floor: return {std::floor(arg(0).low), std::floor(arg(0).high)};
    default: return ir::function_def(expr.function).has(ir::Natural) ? kNatural : Range{};
  }
}

/// May return NaN as a bound if infinities cancel.
Range unchecked_range(const ir::Expr& expr, const Settings& settings, const KnownRange& known) {
  if (known) {
    if (auto range = known(expr)) return *range;
  }
  auto arg = [&](size_t i) { return range_of(expr.args.at(i), settings, known); };
  switch (expr.kind) {
    case Kind::Quantity: return kNatural;
    case Kind::Call: return call(expr, settings, known);
    case Kind::If:
    case Kind::OrElse: {
      const Range a = arg(expr.args.size() - 2);
      const Range b = arg(expr.args.size() - 1);
      return {std::min(a.low, b.low), std::max(a.high, b.high)};
    }
    case Kind::Unary:
      if (expr.op == ExprOp::Negate) return {-arg(0).high, -arg(0).low};
      return {};
    case Kind::Binary: {
      if (expr.type != ir::ExprType::Number) return {};
      Range a = arg(0);
      Range b = arg(1);
      switch (expr.op) {
        case ExprOp::Add: return sum(a, b);
        case ExprOp::Subtract: return sum(a, {-b.high, -b.low});
        case ExprOp::Multiply: return product(a, b);
        case ExprOp::Divide: return quotient(a, b);
        // fmod has the sign of the dividend and is not larger in size.
        case ExprOp::Remainder: return {std::min(a.low, 0.0), std::max(a.high, 0.0)};
        default: return {};
      }
    }
    default: return {};
  }
}

}  // namespace

Range range_of(const ir::Expr& expr, const Settings& settings, const KnownRange& known) {
  if (auto number = constant_of(expr, settings)) return std::isnan(*number) ? Range{} : Range{*number, *number};
  Range range = unchecked_range(expr, settings, known);
  if (std::isnan(range.low)) range.low = -kInfinity;
  if (std::isnan(range.high)) range.high = kInfinity;
  return range;
}

}  // namespace collage::lint
