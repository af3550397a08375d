// SPDX-License-Identifier: Apache-2.0
// Comparisons turned round.
#pragma once

#include "compiler/ir/rules/expr.h"

namespace collage::lint {

/// Returns the comparison that holds exactly if `op` does not, for integers.
inline ir::ExprOp negated(ir::ExprOp op) {
  switch (op) {
    case ir::ExprOp::Less: return ir::ExprOp::GreaterEqual;
    case ir::ExprOp::LessEqual: return ir::ExprOp::Greater;
    case ir::ExprOp::Greater: return ir::ExprOp::LessEqual;
    case ir::ExprOp::GreaterEqual: return ir::ExprOp::Less;
    default: return op == ir::ExprOp::Equal ? ir::ExprOp::NotEqual : ir::ExprOp::Equal;
  }
}

/// `a < b` => `b > a`
inline ir::ExprOp mirrored(ir::ExprOp op) {
  switch (op) {
    case ir::ExprOp::Less: return ir::ExprOp::Greater;
    case ir::ExprOp::LessEqual: return ir::ExprOp::GreaterEqual;
    case ir::ExprOp::Greater: return ir::ExprOp::Less;
    case ir::ExprOp::GreaterEqual: return ir::ExprOp::LessEqual;
    default: return op;
  }
}

}  // namespace collage::lint
