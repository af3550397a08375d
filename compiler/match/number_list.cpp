// SPDX-License-Identifier: Apache-2.0
#include "compiler/match/number_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace collage::match {

using runtime::Result;
using runtime::Status;

namespace {

/// How two numbers become one; a NaN stays.
ir::NumberOperator joiner(Reduction how) {
  using N = const Number&;
  switch (how) {
    case Reduction::Sum: return ir::number_operator(ir::ExprOp::Add);
    case Reduction::Product: return ir::number_operator(ir::ExprOp::Multiply);
    case Reduction::Min: return [](N a, N b) { return std::optional(a < b || a.is_nan() ? a : b); };
    case Reduction::Max: return [](N a, N b) { return std::optional(a > b || a.is_nan() ? a : b); };
  }
  return nullptr;
}

constexpr const char* kTooLarge = "the sum or product of a list does not fit 64 bits";

bool has_neutral(Reduction how) {
  return how == Reduction::Sum || how == Reduction::Product;
}

Number neutral(Reduction how) {
  return how == Reduction::Product ? 1 : 0;
}

}  // namespace

Result<NumberList> combine(const NumberList& a, const NumberList& b, ir::ExprOp op) {
  const ir::NumberOperator run = ir::number_operator(op);
  // Elements of one list that go with each element of the other.
  auto per_first_index = [](const NumberList& few, const NumberList& many) -> size_t {
    bool fits = few.shape.size() == 1 && many.shape.size() > 1 && many.shape[0] == few.shape[0] && many.shape[0] > 0;
    return fits ? many.items.size() / few.items.size() : 0;
  };
  const NumberList& larger = a.items.size() >= b.items.size() ? a : b;
  size_t step_a = 1;
  size_t step_b = 1;
  if (a.shape != b.shape && a.items.size() != 1 && b.items.size() != 1) {
    if (size_t count = per_first_index(a, b)) {
      step_a = count;
    } else if (size_t other = per_first_index(b, a)) {
      step_b = other;
    } else {
      return Status::error(fmt::format("a list of shape {} does not go with one of shape {}",
                                       runtime::to_string(a.shape), runtime::to_string(b.shape)));
    }
  }
  const NumberList& shaped = step_a > 1            ? b
                             : step_b > 1          ? a
                             : a.items.size() == 1 ? b
                             : b.items.size() == 1 ? a
                                                   : larger;
  NumberList result;
  result.shape = shaped.shape;
  result.items.reserve(shaped.items.size());
  for (size_t i = 0; i < shaped.items.size(); ++i) {
    const Number& left = a.items[a.items.size() == 1 ? 0 : i / step_a];
    const Number& right = b.items[b.items.size() == 1 ? 0 : i / step_b];
    const std::optional<Number> item = run(left, right);
    if (!item) return Status::error(ir::why_no_value(op, left, right));
    result.items.push_back(*item);
  }
  return result;
}

Result<Number> reduce(Reduction how, const NumberList& list) {
  if (list.items.empty() && !has_neutral(how)) return Status::error("an empty list has no smallest or largest element");
  ir::NumberOperator join = joiner(how);
  std::optional<Number> result = has_neutral(how) ? neutral(how) : list.items[0];
  for (size_t i = has_neutral(how) ? 0 : 1; result && i < list.items.size(); ++i) result = join(*result, list.items[i]);
  if (!result) return Status::error(kTooLarge);
  return *result;
}

Result<NumberList> sum_per(const NumberList& list, double axis) {
  auto rank = static_cast<double>(list.shape.size());
  double at = axis < 0 ? axis + rank : axis;
  if (!(at >= 0 && at < rank) || at != std::floor(at))
    return Status::error(fmt::format("a list of shape {} has no axis {:g}", runtime::to_string(list.shape), axis));
  auto dim = static_cast<size_t>(at);
  auto extent = static_cast<size_t>(list.shape[dim]);
  size_t inner = 1;
  for (size_t i = dim + 1; i < list.shape.size(); ++i) inner *= static_cast<size_t>(list.shape[i]);
  const ir::NumberOperator add = ir::number_operator(ir::ExprOp::Add);
  std::vector<Number> sums(extent, Number(0));
  for (size_t i = 0; i < list.items.size(); ++i) {
    size_t index = i / inner % extent;
    const std::optional<Number> next = add(sums[index], list.items[i]);
    if (!next) return Status::error(kTooLarge);
    sums[index] = *next;
  }
  return NumberList(std::move(sums));
}

}  // namespace collage::match
