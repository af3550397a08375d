// SPDX-License-Identifier: Apache-2.0
#include "compiler/lint/logic/cost_order.h"

#include <map>

#include "compiler/lint/logic/ranges.h"

namespace collage::lint {
namespace {

using ir::Expr;
using ir::ExprOp;
using ir::FunctionId;
using Kind = Expr::Kind;

/// `2 * macs / (lanes * 4)` => 0.5 and {macs: 1, lanes: -1}
struct Product {
  double factor = 1;
  std::map<std::string, int> powers;
  bool is_sure = true;  ///< no factor is negative
};

void multiply(const Expr& expr, int power, const CaptureNames& names, Product* product) {
  if (auto constant = constant_of(expr, {})) {
    product->factor = power > 0 ? product->factor * *constant : product->factor / *constant;
  } else if (is_operation(expr, ExprOp::Multiply) || is_operation(expr, ExprOp::Divide)) {
    multiply(expr.args[0], power, names, product);
    multiply(expr.args[1], is_operation(expr, ExprOp::Multiply) ? power : -power, names, product);
  } else {
    int& sum = product->powers[text_of(expr, names)];
    sum += power;
    if (sum == 0) product->powers.erase(text_of(expr, names));
    // A setting is the same number in both formulas. Its value matters only if it is negative, and then both costs are.
    if (expr.kind != Kind::BackendAttr && !(range_of(expr, {}, nullptr).low >= 0)) product->is_sure = false;
  }
}

}  // namespace

bool is_never_more(const Expr& a, const Expr& b, const CaptureNames& names) {
  if (text_of(a, names) == text_of(b, names)) return true;
  auto number_a = constant_of(a, {});
  auto number_b = constant_of(b, {});
  if (number_a && number_b) return *number_a <= *number_b;
  bool both_sums = is_operation(a, ExprOp::Add) && is_operation(b, ExprOp::Add);
  auto both_call = [&](FunctionId function) {
    return is_call(a, function) && is_call(b, function) && a.args.size() == b.args.size();
  };
  if (both_sums || both_call(FunctionId::max) || both_call(FunctionId::min)) {
    bool all = true;
    for (size_t i = 0; i < a.args.size(); ++i) all = all && is_never_more(a.args[i], b.args[i], names);
    if (all) return true;
  }
  if (is_operation(b, ExprOp::Add)) {
    for (size_t i : {0, 1}) {
      bool adds = range_of(b.args[1 - i], {}, nullptr).low >= 0;
      if (adds && is_never_more(a, b.args[i], names)) return true;
    }
  }
  Product of_a;
  Product of_b;
  multiply(a, 1, names, &of_a);
  multiply(b, 1, names, &of_b);
  return of_a.is_sure && of_b.is_sure && of_a.powers == of_b.powers && of_a.factor >= 0 && of_a.factor <= of_b.factor;
}

}  // namespace collage::lint
