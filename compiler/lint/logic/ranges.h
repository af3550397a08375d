// SPDX-License-Identifier: Apache-2.0
// Between which bounds a number of the rule language lies, whatever the match: interval arithmetic. Rounding is
// monotone, so bounds computed by the machine hold for values computed by it. Says nothing of NaN: a result that is not
// NaN lies in the range.
#pragma once

#include <functional>
#include <limits>
#include <optional>

#include "compiler/ir/expr.h"
#include "compiler/lint/logic/expr_text.h"

namespace collage::lint {

struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  bool is_empty() const { return low > high; }
};

/// Tells the range of a term that it knows more about than its kind says.
using KnownRange = std::function<std::optional<Range>(const ir::Expr&)>;

/// Of a Number; everything for others and for kinds that it does not know.
Range range_of(const ir::Expr& expr, const Settings& settings, const KnownRange& known);

}  // namespace collage::lint
