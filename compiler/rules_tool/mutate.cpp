// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/mutate.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "compiler/ir/rules/functions.h"
#include "compiler/lint/logic/condition_solver.h"
#include "compiler/lint/models/example_models.h"
#include "compiler/lint/models/meaning_search.h"
#include "compiler/rules_tool/mutate_lowering.h"
#include "compiler/rules_tool/rewrite_tests.h"
#include "compiler/rules_tool/rule_tests.h"

namespace collage::rules_tool {
namespace {

using support::Code;
using support::Diagnostics;

/// The comparison that differs from `op` at the bound alone; nullopt for other operators.
std::optional<ir::ExprOp> moved_bound(ir::ExprOp op) {
  switch (op) {
    case ir::ExprOp::Less: return ir::ExprOp::LessEqual;
    case ir::ExprOp::LessEqual: return ir::ExprOp::Less;
    case ir::ExprOp::Greater: return ir::ExprOp::GreaterEqual;
    case ir::ExprOp::GreaterEqual: return ir::ExprOp::Greater;
    default: return std::nullopt;
  }
}

/// No test can stand exactly at the bound of other numbers, such as `abs(value(a) - sqrt(2)) < 0.00001`.
bool has_whole_numbers(const ir::Expr& expr) {
  if (expr.kind == ir::Expr::Kind::Number && !expr.whole) return false;
  return std::all_of(expr.args.begin(), expr.args.end(), has_whole_numbers);
}

/// Comparisons with a bound, in `expr`.
void find_bounds(ir::Expr& expr, std::vector<ir::Expr*>* found) {
  const bool is_bound = expr.kind == ir::Expr::Kind::Binary && moved_bound(expr.op) && has_whole_numbers(expr);
  if (is_bound) found->push_back(&expr);
  for (ir::Expr& arg : expr.args) find_bounds(arg, found);
}

class FamilyMutation {
 public:
  FamilyMutation(const RuleTests& tests, const ir::Backend& backend, Diagnostics& diags)
      : tests_(tests), backend_(backend), rule_(backend.rules[tests.first()]), diags_(diags) {}

  MutationOutcome run() {
    for (size_t clause = 0; clause < clauses_of(rule_).size(); ++clause) {
      leave_out(clause);
      move_bounds(clause);
    }
    for (size_t kernel = 0; kernel < rule_.kernels.size(); ++kernel) change_arguments(kernel);
    return outcome_;
  }

 private:
  /// Those that refuse a match: the rule's, and of a rule with one kernel those that speak of its knobs.
  static std::vector<ir::Clause*> clauses_of(ir::Rule& rule) {
    std::vector<ir::Clause*> clauses;
    for (ir::Clause& clause : rule.clauses) clauses.push_back(&clause);
    if (rule.kernels.size() == 1) {
      for (ir::Clause& clause : rule.kernels[0].clauses) clauses.push_back(&clause);
    }
    return clauses;
  }

  static void erase(ir::Rule& rule, size_t clause) {
    bool is_kernels = clause >= rule.clauses.size();
    std::vector<ir::Clause>& owner = is_kernels ? rule.kernels[0].clauses : rule.clauses;
    owner.erase(owner.begin() + static_cast<std::ptrdiff_t>(is_kernels ? clause - rule.clauses.size() : clause));
  }

  /// A copy of the backend; `change` is applied to each member of the family.
  ir::Backend variant(const std::function<void(ir::Rule&)>& change) const {
    ir::Backend copy = backend_;
    for (size_t member = tests_.first(); member < tests_.end(); ++member) change(copy.rules[member]);
    return copy;
  }

  bool some_test_fails(const ir::Backend& changed) {
    Diagnostics unheard(diags_.sources());
    RuleTestOutcome lowered;
    for (size_t i = 0; i < rule_.tests.size(); ++i) {
      if (!tests_.holds(i, changed, unheard, &lowered)) return true;
    }
    return false;
  }

  bool is_noticed(const ir::Backend& changed) {
    ++outcome_.tried;
    bool noticed = some_test_fails(changed);
    if (!noticed) ++outcome_.unnoticed;
    return noticed;
  }

  /// Two arguments of a lowering exchanged, or one left out. Where no test notices and no model is known on which that
  /// shows, there may be none: the product of two scales is the same.
  void change_arguments(size_t kernel) {
    for (LoweringMutant& mutant : mutants_of(rule_, rule_.kernels[kernel].lowering)) {
      const ir::Backend changed = variant([&](ir::Rule& rule) {
        ir::Lowering& lowering = rule.kernels[kernel].lowering;
        for (LoweringMutant& own : mutants_of(rule, lowering)) {
          if (own.what == mutant.what) lowering = std::move(own.lowering);
        }
      });
      if (some_test_fails(changed)) {
        ++outcome_.tried;
        continue;
      }
      ir::Kernel alone = rule_.kernels[kernel];
      alone.lowering = std::move(mutant.lowering);
      const auto shown = lint::find_meaning_misfit(backend_, rule_, alone);
      if (!shown) continue;
      ++outcome_.tried;
      ++outcome_.unnoticed;
      diags_
          .error(Code::UntestedClause, mutant.span, "no test of `{}` fails with {} in this lowering", rule_.family,
                 mutant.what)
          .note("a `test ok` with this model would:\n{}", lint::text_of(shown->model));
    }
  }

  void leave_out(size_t clause) {
    if (ir::asks_machine(clauses_of(rule_)[clause]->condition) || always_fits(clause)) return;
    if (is_noticed(variant([clause](ir::Rule& rule) { erase(rule, clause); }))) return;
    const ir::Clause& left_out = *clauses_of(rule_)[clause];
    auto error = diags_.error(Code::UntestedClause, left_out.span, "no test of `{}` fails without `{}{}`", rule_.family,
                              left_out.is_workspace ? "" : "where ", left_out.source);
    if (!note_near_miss(clause, error)) error.note("write a `test no` whose model breaks this clause and no other");
  }

  /// A workspace that no match exceeds: no test can show what it is for.
  bool always_fits(size_t clause) {
    const ir::Clause& workspace = *clauses_of(rule_)[clause];
    if (!workspace.is_workspace) return false;
    lint::ExprList others;
    for (const ir::Clause& other : rule_.clauses) {
      if (&other != &workspace) others.push_back(&other.condition);
    }
    return lint::Conditions(backend_, rule_).imply(others, workspace.condition);
  }

  /// A test that breaks the clause, and was refused by an earlier one.
  bool note_near_miss(size_t clause, support::Diagnostic& error) {
    auto without_others = [&](bool keep) {
      ir::Backend copy = variant([&](ir::Rule& rule) {
        for (size_t other = clauses_of(rule).size(); other-- > 0;) {
          if (other != clause || !keep) erase(rule, other);
        }
      });
      copy.denies.clear();
      return copy;
    };
    ir::Backend alone = without_others(true);
    ir::Backend bare = without_others(false);
    for (size_t i = 0; i < rule_.tests.size(); ++i) {
      if (rule_.tests[i].expects_match || !is_refused(i, alone) || is_refused(i, bare)) continue;
      error.note(rule_.tests[i].span, "this test breaks it too, but breaks another clause before");
      return true;
    }
    return false;
  }

  /// Whether the test is refused, for any reason.
  bool is_refused(size_t test, ir::Backend& backend) {
    for (size_t member = tests_.first(); member < tests_.end(); ++member)
      backend.rules[member].tests[test].because = "";
    Diagnostics unheard(diags_.sources());
    return tests_.holds(test, backend, unheard);
  }

  void move_bounds(size_t clause) {
    const ir::Clause& whole = *clauses_of(rule_)[clause];
    if (whole.is_workspace || ir::asks_machine(whole.condition)) return;
    ir::Expr condition = clauses_of(rule_)[clause]->condition;
    std::vector<ir::Expr*> bounds;
    find_bounds(condition, &bounds);
    for (size_t bound = 0; bound < bounds.size(); ++bound) {
      auto move = [clause, bound](ir::Rule& rule) {
        std::vector<ir::Expr*> own;
        find_bounds(clauses_of(rule)[clause]->condition, &own);
        own[bound]->op = *moved_bound(own[bound]->op);
      };
      if (is_noticed(variant(move))) continue;
      diags_
          .error(Code::UntestedClause, bounds[bound]->span, "no test of `{}` fails with `{}` in place of `{}`",
                 rule_.family, ir::spelling_of(*moved_bound(bounds[bound]->op)), ir::spelling_of(bounds[bound]->op))
          .note("write a test with the value at the bound");
    }
  }

  const RuleTests& tests_;
  const ir::Backend& backend_;
  ir::Rule rule_;
  Diagnostics& diags_;
  MutationOutcome outcome_;
};

/// The `when` of a rewrite: each part that `and` joins is left out in turn.
class RewriteMutation {
 public:
  RewriteMutation(support::SourceManager& sources, const ir::Backend& backend, const ir::Rewrite& rewrite,
                  Diagnostics& diags)
      : sources_(sources), backend_(backend), rewrite_(rewrite), diags_(diags) {}

  MutationOutcome run() {
    for (size_t clause = 0; clause < rewrite_.from.clauses.size(); ++clause) {
      std::vector<ir::Expr> parts;
      split(rewrite_.from.clauses[clause].condition, &parts);
      for (size_t part = 0; part < parts.size(); ++part) leave_out(clause, parts, part);
      move_bounds(clause);
    }
    return outcome_;
  }

 private:
  static void split(const ir::Expr& condition, std::vector<ir::Expr>* parts) {
    if (!ir::is_operation(condition, ir::ExprOp::And) || condition.type != ir::ExprType::Bool) {
      parts->push_back(condition);
      return;
    }
    for (const ir::Expr& arg : condition.args) split(arg, parts);
  }

  static ir::Expr joined(std::vector<ir::Expr> parts) {
    ir::Expr all = std::move(parts.front());
    for (size_t i = 1; i < parts.size(); ++i) {
      ir::Expr both;
      both.kind = ir::Expr::Kind::Binary;
      both.type = ir::ExprType::Bool;
      both.op = ir::ExprOp::And;
      both.args.push_back(std::move(all));
      both.args.push_back(std::move(parts[i]));
      all = std::move(both);
    }
    return all;
  }

  bool is_noticed(const ir::Rewrite& changed) {
    ++outcome_.tried;
    Diagnostics unheard(sources_);
    bool noticed = test_rewrite(sources_, backend_, changed, unheard).failed > 0;
    if (!noticed) ++outcome_.unnoticed;
    return noticed;
  }

  void leave_out(size_t clause, const std::vector<ir::Expr>& parts, size_t part) {
    ir::Rewrite changed = rewrite_;
    std::vector<ir::Expr> rest = parts;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(part));
    if (rest.empty()) {
      changed.from.clauses.erase(changed.from.clauses.begin() + static_cast<std::ptrdiff_t>(clause));
    } else {
      changed.from.clauses[clause].condition = joined(std::move(rest));
    }
    if (is_noticed(changed)) return;
    diags_
        .error(Code::UntestedClause, parts[part].span, "no test of rewrite `{}` fails without `{}`", rewrite_.name,
               diags_.sources().text(parts[part].span))
        .note("write a `test no` whose model breaks this part of the `when` and no other");
  }

  void move_bounds(size_t clause) {
    std::vector<ir::Expr*> bounds;
    ir::Rewrite changed = rewrite_;
    find_bounds(changed.from.clauses[clause].condition, &bounds);
    for (ir::Expr* bound : bounds) {
      const ir::ExprOp before = std::exchange(bound->op, *moved_bound(bound->op));
      bool noticed = is_noticed(changed);
      const ir::ExprOp after = std::exchange(bound->op, before);
      if (noticed) continue;
      diags_
          .error(Code::UntestedClause, bound->span, "no test of rewrite `{}` fails with `{}` in place of `{}`",
                 rewrite_.name, ir::spelling_of(after), ir::spelling_of(before))
          .note("write a test with the value at the bound");
    }
  }

  support::SourceManager& sources_;
  const ir::Backend& backend_;
  const ir::Rewrite& rewrite_;
  Diagnostics& diags_;
  MutationOutcome outcome_;
};

}  // namespace

MutationOutcome mutate_rules(support::SourceManager& sources, const ir::RuleSet& rules, const RuleFilter& filter,
                             Diagnostics& diags) {
  MutationOutcome all;
  for (const ir::Backend& backend : rules.backends) {
    Diagnostics unheard(sources);  // of the tests themselves, which were run before
    std::vector<RuleTests> families;
    for (size_t first = 0; first < backend.rules.size(); first = families.back().end()) {
      families.emplace_back(sources, backend, first, unheard);
      if (!passes(filter, backend.rules[first].family)) continue;
      MutationOutcome outcome = FamilyMutation(families.back(), backend, diags).run();
      all.tried += outcome.tried;
      all.unnoticed += outcome.unnoticed;
    }
    for (const ir::Rewrite& rewrite : backend.rewrites) {
      if (!passes(filter, rewrite.name)) continue;
      MutationOutcome outcome = RewriteMutation(sources, backend, rewrite, diags).run();
      all.tried += outcome.tried;
      all.unnoticed += outcome.unnoticed;
    }
    for (size_t deny = 0; deny < backend.denies.size() && filter.empty(); ++deny) {
      if (backend.denies[deny].asks_machine()) continue;
      ir::Backend lenient = backend;
      lenient.denies.erase(lenient.denies.begin() + static_cast<std::ptrdiff_t>(deny));
      bool noticed = std::any_of(families.begin(), families.end(),
                                 [&](const RuleTests& tests) { return tests.run(lenient, unheard).failed > 0; });
      ++all.tried;
      if (noticed) continue;
      ++all.unnoticed;
      diags.error(Code::UntestedClause, backend.denies[deny].span, "no test of `{}` fails without this `deny`",
                  backend.name);
    }
  }
  return all;
}

}  // namespace collage::rules_tool
