// SPDX-License-Identifier: Apache-2.0
// Lists of numbers in expressions: `[1, 1]`, attributes, and the elements of constants, which keep their shape.
// A list of truth values has 0 and 1.
#pragma once

#include <vector>

#include "compiler/ir/graph/graph.h"
#include "compiler/ir/rules/number.h"
#include "runtime/core/status.h"

namespace collage::match {

using ir::Number;

struct NumberList {
  std::vector<Number> items;
  ir::Shape shape;  ///< of as many elements

  NumberList() = default;
  explicit NumberList(std::vector<Number> numbers)
      : items(std::move(numbers)), shape{static_cast<int64_t>(items.size())} {}
  template <typename T>
  explicit NumberList(const std::vector<T>& numbers)
      : NumberList(std::vector<Number>(numbers.begin(), numbers.end())) {}

  /// Compares the elements: the shape does not count.
  friend bool operator==(const NumberList& a, const NumberList& b) { return a.items == b.items; }
};

/// Element by element. A list of one element goes with every other; a plain list of n with one of shape [n, …], per
/// index of its first axis. Fails if the shapes do not fit or some element has no value.
runtime::Result<NumberList> combine(const NumberList& a, const NumberList& b, ir::ExprOp op);

enum class Reduction { Sum, Product, Min, Max };

/// Fails for the smallest or largest of an empty list, and for a sum or product that does not fit 64 bits.
runtime::Result<Number> reduce(Reduction how, const NumberList& list);

/// For each index of the axis the sum over all others. Fails if there is no such axis, or a sum does not fit 64 bits.
///
///     sum_per([[1, 2], [3, 4]], 0) => [3, 7]
runtime::Result<NumberList> sum_per(const NumberList& list, double axis);

}  // namespace collage::match
