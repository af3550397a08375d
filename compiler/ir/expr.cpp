// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/expr.h"

#include <algorithm>

namespace collage::ir {

bool refers_to_rules(const Expr& expr) {
  bool is_sum = expr.kind == Expr::Kind::Quantity && expr.quantity == QuantityId::rules;
  return is_sum || std::any_of(expr.args.begin(), expr.args.end(), refers_to_rules);
}

bool refers_to_knobs(const Expr& expr) {
  return expr.kind == Expr::Kind::Knob || std::any_of(expr.args.begin(), expr.args.end(), refers_to_knobs);
}

bool refers_to_quantities(const Expr& expr) {
  return expr.kind == Expr::Kind::Quantity || std::any_of(expr.args.begin(), expr.args.end(), refers_to_quantities);
}

}  // namespace collage::ir
