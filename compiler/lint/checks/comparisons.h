// SPDX-License-Identifier: Apache-2.0
// How many pairs of rules a check looks at: enough for thousands of rules on one operator, and an end for files that
// have ever more.
#pragma once

#include <cstdint>

#include "compiler/ir/rules/rule_set.h"
#include "runtime/support/diagnostic.h"

namespace collage::lint {

class Comparisons {
 public:
  /// Whether so many steps may still be taken: one looks whether two rules have an operator in common.
  bool may_take(int64_t steps) { return (left_ -= steps) >= 0; }

  /// A warning where some were not taken. `check`: what for, `shadowed`.
  void report(const ir::Backend& backend, const char* check, support::Diagnostics& diags) const;

 private:
  int64_t left_ = 30'000'000;
};

/// Steps of a comparison of two rules' conditions, formats and costs.
inline constexpr int64_t kWholeComparison = 300;

}  // namespace collage::lint
