// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/mutate.h"

#include <algorithm>
#include <functional>

#include "compiler/rules_tool/rule_tests.h"

namespace collage::rules_tool {
namespace {

using support::Code;
using support::Diagnostics;

/// The comparison that differs from `op` at the bound alone.
std::string_view moved_bound(std::string_view op) {
  if (op == "<") return "<=";
  if (op == "<=") return "<";
  if (op == ">") return ">=";
  if (op == ">=") return ">";
  return "";
}

/// Comparisons with a bound, in `expr`.
void find_bounds(ir::Expr& expr, std::vector<ir::Expr*>* found) {
  if (expr.kind == ir::Expr::Kind::Binary && !moved_bound(expr.text).empty()) found->push_back(&expr);
  for (ir::Expr& arg : expr.args) find_bounds(arg, found);
}

class FamilyMutation {
 public:
  FamilyMutation(const RuleTests& tests, const ir::Backend& backend, Diagnostics& diags)
      : tests_(tests), backend_(backend), rule_(backend.rules[tests.first()]), diags_(diags) {}

  MutationOutcome run(bool bounds) {
    for (size_t clause = 0; clause < rule_.clauses.size(); ++clause) {
      leave_out(clause);
      if (bounds) move_bounds(clause);
    }
    return outcome_;
  }

 private:
  /// A copy of the backend; `change` is applied to each member of the family.
  ir::Backend variant(const std::function<void(ir::Rule&)>& change) const {
    ir::Backend copy = backend_;
    for (size_t member = tests_.first(); member < tests_.end(); ++member) change(copy.rules[member]);
    return copy;
  }

  bool is_noticed(const ir::Backend& changed) {
    ++outcome_.tried;
    Diagnostics unheard(diags_.sources());
    bool noticed = tests_.run(changed, unheard).failed > 0;
    if (!noticed) ++outcome_.unnoticed;
    return noticed;
  }

  void leave_out(size_t clause) {
    auto erase = [clause](ir::Rule& rule) {
      rule.clauses.erase(rule.clauses.begin() + static_cast<std::ptrdiff_t>(clause));
    };
    if (is_noticed(variant(erase))) return;
    const ir::Clause& left_out = rule_.clauses[clause];
    auto error = diags_.error(Code::UntestedClause, left_out.span, "no test of `{}` fails without `where {}`",
                              rule_.family, left_out.source);
    if (!note_near_miss(clause, error)) error.note("write a `test no` whose model breaks this clause and no other");
  }

  /// A test that breaks the clause, and was refused by an earlier one.
  bool note_near_miss(size_t clause, support::Diagnostic& error) {
    auto keep = [clause](ir::Rule& rule) { rule.clauses = {rule.clauses[clause]}; };
    ir::Backend alone = variant(keep);
    for (size_t i = 0; i < rule_.tests.size(); ++i) {
      if (rule_.tests[i].expects_match || !is_refused(i, alone)) continue;
      error.note(rule_.tests[i].span, "this test breaks it too, but breaks another clause before");
      return true;
    }
    return false;
  }

  /// Whatever the reason.
  bool is_refused(size_t test, ir::Backend& backend) {
    for (size_t member = tests_.first(); member < tests_.end(); ++member)
      backend.rules[member].tests[test].because = "";
    Diagnostics unheard(diags_.sources());
    return tests_.holds(test, backend, unheard);
  }

  void move_bounds(size_t clause) {
    ir::Expr condition = rule_.clauses[clause].condition;
    std::vector<ir::Expr*> bounds;
    find_bounds(condition, &bounds);
    for (size_t bound = 0; bound < bounds.size(); ++bound) {
      auto move = [clause, bound](ir::Rule& rule) {
        std::vector<ir::Expr*> own;
        find_bounds(rule.clauses[clause].condition, &own);
        own[bound]->text = moved_bound(own[bound]->text);
      };
      if (is_noticed(variant(move))) continue;
      diags_
          .error(Code::UntestedClause, bounds[bound]->span, "no test of `{}` fails with `{}` in place of `{}`",
                 rule_.family, moved_bound(bounds[bound]->text), bounds[bound]->text)
          .note("write a test with the value at the bound");
    }
  }

  const RuleTests& tests_;
  const ir::Backend& backend_;
  const ir::Rule& rule_;
  Diagnostics& diags_;
  MutationOutcome outcome_;
};

}  // namespace

MutationOutcome mutate_rules(support::SourceManager& sources, const ir::RuleSet& rules, bool bounds,
                             Diagnostics& diags) {
  MutationOutcome all;
  for (const ir::Backend& backend : rules.backends) {
    for (size_t first = 0; first < backend.rules.size();) {
      Diagnostics unheard(sources);  // of the tests themselves, which were run before
      RuleTests tests(sources, backend, first, unheard);
      MutationOutcome outcome = FamilyMutation(tests, backend, diags).run(bounds);
      all.tried += outcome.tried;
      all.unnoticed += outcome.unnoticed;
      first = tests.end();
    }
  }
  return all;
}

}  // namespace collage::rules_tool
