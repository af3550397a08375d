// SPDX-License-Identifier: Apache-2.0
// Bounds of a numeric expression of the rule language over all matches, by interval arithmetic. Rounding is monotone,
// so computed bounds hold for computed values. NaN is excluded: a result that is not NaN lies in the range.
#pragma once

#include <functional>
#include <limits>
#include <optional>

#include "compiler/ir/rules/expr.h"
#include "compiler/lint/logic/expr_text.h"

namespace collage::lint {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Range {
  double low = -kInfinity;
  double high = kInfinity;

  bool is_empty() const { return low > high; }
};

/// Returns a narrower range of a term than its kind implies, if one is known.
using KnownRange = std::function<std::optional<Range>(const ir::Expr&)>;

/// Range of a numeric expression; unbounded for other types and unknown functions.
Range range_of(const ir::Expr& expr, const Settings& settings, const KnownRange& known);

}  // namespace collage::lint
