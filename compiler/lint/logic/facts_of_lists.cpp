// SPDX-License-Identifier: Apache-2.0
// Facts about lists: their largest and least elements, and what holds for all or some of them.
#include "compiler/ir/rules/functions.h"
#include "compiler/lint/logic/comparison.h"
#include "compiler/lint/logic/facts.h"

namespace collage::lint {

using ir::Expr;
using ir::ExprOp;
using ir::ExprType;
using ir::FunctionId;

bool Facts::is_whole_list(const Expr& list) const {
  return is_call(list, FunctionId::shape) || rule_.whole.count(text(list)) != 0;
}

const Facts::Extremes& Facts::extremes_of(const Expr& list) {
  const std::string name = text(list);
  auto [at, is_new] = extremes_.emplace(name, Extremes{});
  if (is_new) {
    const bool is_whole = is_whole_list(list);
    const Range range{is_call(list, FunctionId::shape) ? least_dim_ : -kInfinity, kInfinity};
    at->second = {numbers_.add_number(is_whole, range), numbers_.add_number(is_whole, range)};
    index_["max(" + name + ")"] = at->second.max;
    index_["min(" + name + ")"] = at->second.min;
  }
  return at->second;
}

/// Notes `all(list <= 8)` and its like.
void Facts::quantify(const Expr& call, bool is_true) {
  const Expr& each = call.args.at(0);
  if (!is_comparison(each)) return;
  for (size_t side : {0, 1}) {
    const Expr& list = each.args.at(side);
    const auto constant = constant_of(each.args.at(1 - side), settings_);
    if (!constant || list.type != ExprType::Numbers) continue;
    // That a comparison is false says nothing of NaN.
    if (!is_true && !is_whole_list(list)) continue;
    ExprOp op = side == 0 ? each.op : mirrored(each.op);
    if (!is_true) op = negated(op);
    quantified_.push_back({&list, op, *constant, (call.function == FunctionId::all) == is_true});
  }
}

/// any(list > 8)  =>  max(list) > 8;  all(list <= 8)  =>  max(list) <= 8, where the list surely has elements
void Facts::link_quantified() {
  // That some element is such says that there is one.
  for (bool is_all : {false, true}) {
    for (const Quantified& one : quantified_) {
      if (one.is_all != is_all || (is_all && extremes_.count(text(*one.list)) == 0)) continue;
      const Extremes& extremes = extremes_of(*one.list);
      const bool bounds_above = one.op == ExprOp::Less || one.op == ExprOp::LessEqual;
      const bool bounds_below = one.op == ExprOp::Greater || one.op == ExprOp::GreaterEqual;
      if (one.op == ExprOp::Equal) {
        numbers_.bound(is_all ? extremes.max : extremes.min, ExprOp::LessEqual, one.constant);
        numbers_.bound(is_all ? extremes.min : extremes.max, ExprOp::GreaterEqual, one.constant);
      }
      if (bounds_above) numbers_.bound(is_all ? extremes.max : extremes.min, one.op, one.constant);
      if (bounds_below) numbers_.bound(is_all ? extremes.min : extremes.max, one.op, one.constant);
    }
  }
}

/// min(list) <= list[i] <= max(list)
void Facts::link_extremes() {
  for (const auto& [list, extremes] : extremes_) {
    const Range low = numbers_.range(extremes.min);
    const Range high = numbers_.range(extremes.max);
    numbers_.narrow(extremes.min, {-kInfinity, high.high});
    numbers_.narrow(extremes.max, {low.low, kInfinity});
    const Range all{low.low, high.high};
    for (const auto& [term, number] : index_) {
      if (term.starts_with("at(" + list + ",")) numbers_.narrow(number, all);
    }
    for (const Dim& dim : dims_) {
      if (list == "shape(" + dim.capture + ")") numbers_.narrow(dim.number, all);
    }
  }
}

}  // namespace collage::lint
