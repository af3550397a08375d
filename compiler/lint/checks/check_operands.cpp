// SPDX-License-Identifier: Apache-2.0
// What a match holds and its kernel does not get: an operand without an argument of `lower`, a constant that the
// pattern takes whatever it is, an attribute that only the cost knows.
//
//     match y = Mul(MatMul(a, b), _: const)  lower "matmul"(a, b)     =>   the factor is lost
#include <map>
#include <set>
#include <string>
#include <utility>

#include "compiler/lint/checks/checks.h"
#include "compiler/lint/logic/expr_text.h"

namespace collage::lint {
namespace {

using support::Code;
using ExprKind = ir::Expr::Kind;

/// An attribute of a captured node.
using Attribute = std::pair<int, std::string>;

struct Mentions {
  std::set<int> captures;
  std::map<Attribute, support::Span> attributes;

  void add(const ir::Expr& expr) {
    if (expr.kind == ExprKind::Attribute) {
      attributes.emplace(Attribute{expr.args.at(0).capture, expr.text}, expr.span);
      return;
    }
    if (expr.kind == ExprKind::Capture) captures.insert(expr.capture);
    for (const ir::Expr& arg : expr.args) add(arg);
  }
};

class KernelCheck {
 public:
  KernelCheck(const ir::Rule& rule, const ir::Kernel& kernel, support::Diagnostics& diags)
      : rule_(rule), kernel_(kernel), diags_(diags) {
    for (const ir::LoweringArg& arg : kernel.lowering.args) {
      if (arg.capture >= 0) known_.captures.insert(arg.capture);
      if (arg.value) known_.add(*arg.value);
    }
    for (const auto* clauses : {&rule.clauses, &kernel.clauses}) {
      for (const ir::Clause& clause : *clauses) known_.add(clause.condition);
    }
    for (const ir::Kernel& other : rule.kernels) {
      for (const ir::LoweringArg& arg : other.lowering.args) told_.insert(arg.capture);
    }
    for (const ir::FormatClause& format : kernel.formats) priced_.captures.insert(format.capture);
    if (kernel.cost) priced_.add(*kernel.cost);
    if (rule.energy) priced_.add(*rule.energy);
  }

  void run() {
    operands(rule_.root);
    for (const ir::Pattern& other : rule_.others) operands(other);
    for (const auto& [attribute, span] : priced_.attributes) {
      if (known_.attributes.count(attribute) != 0) continue;
      diags_
          .warning(Code::LostOperand, span, "the cost depends on `{}`, which `lower \"{}\"` is not told",
                   attribute.second, kernel_.lowering.symbol)
          .note(kernel_.lowering.span, "an argument can be `{} = {}`, or a `where` can ask for one value",
                attribute.second, diags_.sources().text(span));
    }
  }

 private:
  void operands(const ir::Pattern& pattern) {
    if (pattern.kind == ir::Pattern::Kind::Value) return value(pattern);
    // `parts = each _`: the kernel is told all of them by that name.
    const bool is_told_each = pattern.last_is_each && known_.captures.count(pattern.rest) != 0;
    for (size_t i = 0; i < pattern.operands.size(); ++i) {
      const bool is_each = i + 1 == pattern.operands.size() && is_told_each;
      if (!is_each || pattern.operands[i].kind != ir::Pattern::Kind::Value) operands(pattern.operands[i]);
    }
    for (const ir::Pattern& choice : pattern.choices) operands(choice);
  }

  void value(const ir::Pattern& pattern) {
    if (pattern.is_absent || known_.captures.count(pattern.capture) != 0) return;
    const bool is_named = pattern.capture >= 0;
    // Captures that are named and never used are reported as unused.
    const bool is_used = priced_.captures.count(pattern.capture) != 0 || told_.count(pattern.capture) != 0;
    if (is_named && !is_used) return;
    const std::string what = is_named           ? "`" + rule_.captures[static_cast<size_t>(pattern.capture)].name + "`"
                             : pattern.is_const ? "this constant"
                                                : "this operand";
    diags_
        .warning(Code::LostOperand, pattern.span, "{} is no argument of `lower \"{}\"`, and no condition speaks of it",
                 what, kernel_.lowering.symbol)
        .note(kernel_.lowering.span, "the kernel computes without it");
  }

  const ir::Rule& rule_;
  const ir::Kernel& kernel_;
  support::Diagnostics& diags_;
  Mentions known_;      ///< arguments and conditions
  Mentions priced_;     ///< formats and costs
  std::set<int> told_;  ///< captures that some kernel of the rule gets
};

}  // namespace

void check_operands(const ir::RuleSet& rules, support::Diagnostics& diags) {
  for (const ir::Backend& backend : rules.backends) {
    for (const ir::Rule& rule : backend.rules) {
      for (const ir::Kernel& kernel : rule.kernels) {
        const bool is_told = ir::is_device(kernel.lowering.kind) || kernel.lowering.kind == ir::LoweringKind::Plugin;
        if (is_told && !kernel.lowering.args.empty()) KernelCheck(rule, kernel, diags).run();
      }
    }
  }
}

}  // namespace collage::lint
