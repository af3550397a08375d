// SPDX-License-Identifier: Apache-2.0
// Mistakes in the arguments of a `lower`, made on purpose: two operands exchanged, one that may be missing left out.
//
//     lower "conv"(x, xs, w, ws, b)   =>   lower "conv"(x, xs = ws, w, ws = xs, b),   lower "conv"(x, xs, w, ws)
//
// Only where the kernel has `semantics`, and only if these then compute something else.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/rules/rule_set.h"

namespace collage::rules_tool {

struct LoweringMutant {
  std::string what;  ///< "`xs` and `ws` exchanged"
  ir::Lowering lowering;
  support::Span span;  ///< of the argument
};

std::vector<LoweringMutant> mutants_of(const ir::Rule& rule, const ir::Lowering& lowering);

}  // namespace collage::rules_tool
