// SPDX-License-Identifier: Apache-2.0
// Lists of numbers in expressions: `[1, 1]`, attributes, and the elements of constants, which keep their shape.
// A list of truth values has 0 and 1.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"

namespace collage::match {

struct NumberList {
  std::vector<double> items;
  ir::Shape shape;  ///< of as many elements

  NumberList() = default;
  NumberList(std::vector<double> numbers)  // NOLINT: implicit on purpose
      : items(std::move(numbers)), shape{static_cast<int64_t>(items.size())} {}

  /// As lists: the shape does not count.
  friend bool operator==(const NumberList& a, const NumberList& b) { return a.items == b.items; }
};

/// `a OP b` of two numbers, by name: arithmetic, or a comparison or `and`, `or`, which give 0 and 1. Null if there is
/// none.
using NumberOperator = double (*)(double a, double b);
NumberOperator find_operator(std::string_view name);

/// Element by element. A list of one element goes with every other; a plain list of n with one of shape [n, …], per
/// index of its first axis. Nothing if the shapes do not fit, and `*why` has them.
std::optional<NumberList> combine(const NumberList& a, const NumberList& b, NumberOperator op, std::string* why);

/// `sum`, `product`, `min`, `max`. Nothing of an empty list that has no smallest or largest.
std::optional<double> reduce(std::string_view how, const NumberList& list);

/// `sum_per`, `min_per`, `max_per`: for each index of the axis the sum, … over all others.
///
///     sum_per([[1, 2], [3, 4]], 0) => [3, 7]
std::optional<NumberList> reduce_per(std::string_view how, const NumberList& list, double axis, std::string* why);

}  // namespace collage::match
