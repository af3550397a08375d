// SPDX-License-Identifier: Apache-2.0
#include "compiler/match/predicate_boundary.h"

#include <algorithm>

#include "compiler/ir/rules/functions.h"

namespace collage::match {
namespace {

using ir::Expr;
using ir::ExprOp;
using ExprKind = Expr::Kind;

/// The same for every match of a backend instance.
bool is_fixed(const Expr& expr) {
  if (expr.kind == ExprKind::Capture || expr.kind == ExprKind::Attribute || expr.kind == ExprKind::Quantity)
    return false;
  return std::all_of(expr.args.begin(), expr.args.end(), is_fixed);
}

class BoundaryPrinter {
 public:
  BoundaryPrinter(const EvalContext& context, const support::SourceManager& sources)
      : context_(context), sources_(sources) {}

  /// `a and b` where both are bounds.
  std::string conjunction(const Expr& expr) const {
    if (expr.kind != ExprKind::Binary) return "";
    if (expr.op != ExprOp::And) return comparison(expr);
    std::string left = conjunction(expr.args[0]), right = conjunction(expr.args[1]);
    return left.empty() || right.empty() ? "" : left + " and " + right;
  }

 private:
  std::string comparison(const Expr& expr) const {
    bool orders = is_comparison(expr) && expr.op != ExprOp::Equal && expr.op != ExprOp::NotEqual;
    bool divides =
        expr.op == ExprOp::Equal && is_operation(expr.args[0], ExprOp::Remainder) && is_fixed(expr.args[0].args[1]);
    if ((!orders && !divides) || is_fixed(expr.args[0]) == is_fixed(expr.args[1])) return "";
    std::string left = text(expr.args[0]), right = text(expr.args[1]);
    return left.empty() || right.empty() ? "" : left + " " + std::string(ir::spelling_of(expr.op)) + " " + right;
  }

  /// As written, but for attributes of the backend.
  std::string text(const Expr& expr) const {
    if (!expr.span.is_valid()) return "";
    std::string result(sources_.text(expr.span));
    std::vector<const Expr*> attributes;
    collect_attributes(expr, &attributes);
    std::sort(attributes.begin(), attributes.end(),
              [](const Expr* a, const Expr* b) { return a->span.begin > b->span.begin; });
    for (const Expr* attribute : attributes) {
      Evaluated value = evaluate(*attribute, context_);
      if (!value || attribute->span.begin < expr.span.begin || attribute->span.end > expr.span.end) return "";
      result.replace(attribute->span.begin - expr.span.begin, attribute->span.end - attribute->span.begin,
                     to_text(*value.value, attribute->unit));
    }
    return result;
  }

  static void collect_attributes(const Expr& expr, std::vector<const Expr*>* found) {
    if (expr.kind == ExprKind::BackendAttr) found->push_back(&expr);
    for (const Expr& arg : expr.args) collect_attributes(arg, found);
  }

  const EvalContext& context_;
  const support::SourceManager& sources_;
};

}  // namespace

std::string predicate_boundary(const ir::Clause& clause, const Graph& graph, const ir::Backend& backend,
                               const AttrValues& attrs, const support::SourceManager& sources) {
  EvalContext context{graph, backend, attrs, {}};
  return BoundaryPrinter(context, sources).conjunction(clause.condition);
}

}  // namespace collage::match
