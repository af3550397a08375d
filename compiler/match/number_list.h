// SPDX-License-Identifier: Apache-2.0
// Lists of numbers in expressions: `[1, 1]`, attributes, and the elements of constants, which keep their shape.
// A list of truth values has 0 and 1.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/expr.h"
#include "compiler/ir/graph.h"

namespace collage::match {

struct NumberList {
  std::vector<double> items;
  ir::Shape shape;  ///< of as many elements

  NumberList() = default;
  NumberList(std::vector<double> numbers)  // NOLINT: implicit on purpose
      : items(std::move(numbers)), shape{static_cast<int64_t>(items.size())} {}

  /// Compares the elements: the shape does not count.
  friend bool operator==(const NumberList& a, const NumberList& b) { return a.items == b.items; }
};

/// `a OP b` of two numbers: arithmetic, or a comparison or `and`, `or`, which give 0 and 1. Null for other operators.
using NumberOperator = double (*)(double a, double b);
NumberOperator number_operator(ir::ExprOp op);

/// Element by element. A list of one element goes with every other; a plain list of n with one of shape [n, …], per
/// index of its first axis. Returns nullopt if the shapes do not fit, and `*why` has them.
std::optional<NumberList> combine(const NumberList& a, const NumberList& b, NumberOperator op, std::string* why);

enum class Reduction { Sum, Product, Min, Max };

/// Returns nullopt for the smallest or largest of an empty list.
std::optional<double> reduce(Reduction how, const NumberList& list);

/// For each index of the axis the sum, … over all others.
///
///     sum_per([[1, 2], [3, 4]], 0) => [3, 7]
std::optional<NumberList> reduce_per(Reduction how, const NumberList& list, double axis, std::string* why);

}  // namespace collage::match
