// SPDX-License-Identifier: Apache-2.0
#include "compiler/lint/logic/condition_solver.h"

#include <algorithm>
#include <functional>

#include "compiler/ir/rules/functions.h"

namespace collage::lint {
namespace {

using ir::Expr;
using ir::ExprOp;
using Kind = Expr::Kind;

constexpr size_t kMostSettings = 64;
constexpr int kMostCases = 256;

/// Splits a conjunction into cases that have no `and`, `or` and `not`:
///
///     a or b             =>  a   |   not a, b
///     not (a and b), c   =>  not a, c   |   a, not b, c
///
/// An operand that is not evaluated appears in no literal of the case.
class CaseSplit {
 public:
  /// `on_case` returns whether to continue.
  explicit CaseSplit(std::function<bool(const std::vector<Literal>&)> on_case) : on_case_(std::move(on_case)) {}

  /// Returns false if it was stopped, or if there are too many cases.
  bool run(const std::vector<Literal>& todo) {
    cases_ = 0;
    return split(todo, {});
  }

 private:
  bool split(std::vector<Literal> todo, std::vector<Literal> done) {
    while (!todo.empty()) {
      auto [expr, is_true] = todo.back();
      todo.pop_back();
      bool joins = is_operation(*expr, ExprOp::And) || is_operation(*expr, ExprOp::Or);
      if (is_operation(*expr, ExprOp::Not)) {
        todo.push_back({&expr->args.at(0), !is_true});
      } else if (!joins) {
        done.push_back({expr, is_true});
      } else {
        const Expr* left = &expr->args.at(0);
        const Expr* right = &expr->args.at(1);
        bool needs_both = (expr->op == ExprOp::And) == is_true;
        if (!needs_both) {
          std::vector<Literal> left_decides = todo;
          left_decides.push_back({left, is_true});
          if (!split(std::move(left_decides), done)) return false;
        }
        todo.push_back({right, is_true});
        todo.push_back({left, needs_both ? is_true : !is_true});
      }
    }
    return ++cases_ <= kMostCases && on_case_(done);
  }

  std::function<bool(const std::vector<Literal>&)> on_case_;
  int cases_ = 0;
};

using OpsOfCapture = std::vector<std::vector<const ir::OpDef*>>;

struct CaptureUse {
  OpsOfCapture ops;
  std::vector<bool> is_const;  ///< some leaf demands a constant
  std::vector<bool> is_plain;  ///< some leaf does not
  std::vector<bool> is_odd;    ///< matches a part that is not analysed here
};

/// Records that the capture names whatever `part` matches.
void collect_named(const ir::Pattern& part, size_t capture, CaptureUse* use) {
  switch (part.kind) {
    case ir::Pattern::Kind::Value: (part.is_const ? use->is_const : use->is_plain)[capture] = true; return;
    case ir::Pattern::Kind::Op:
      use->ops[capture].insert(use->ops[capture].end(), part.ops.begin(), part.ops.end());
      return;
    case ir::Pattern::Kind::Optional:
    case ir::Pattern::Kind::Alternatives:
      for (const ir::Pattern& choice : part.choices) collect_named(choice, capture, use);
      return;
    default: use->is_odd[capture] = true;
  }
}

void collect_uses(const ir::Pattern& pattern, CaptureUse* use) {
  if (pattern.capture >= 0) collect_named(pattern, static_cast<size_t>(pattern.capture), use);
  for (int result : pattern.results) {
    if (result >= 0) use->is_odd[static_cast<size_t>(result)] = true;
  }
  for (const ir::Pattern& operand : pattern.operands) collect_uses(operand, use);
  for (const ir::Pattern& choice : pattern.choices) collect_uses(choice, use);
}

bool is_whole_kind(ir::AttrKind kind) {
  return kind == ir::AttrKind::Int || kind == ir::AttrKind::Ints;
}

RuleFacts facts_of(const ir::Backend& backend, const ir::Rule& rule) {
  RuleFacts facts;
  facts.names = names_of(rule);
  for (const ir::AttrDecl& attr : backend.attrs) {
    if (attr.is_integer) facts.whole.insert("$" + attr.name);
  }
  CaptureUse use;
  use.ops.resize(rule.captures.size());
  use.is_const.resize(rule.captures.size());
  use.is_plain.resize(rule.captures.size());
  use.is_odd.resize(rule.captures.size());
  collect_uses(rule.root, &use);
  for (const ir::Pattern& other : rule.others) collect_uses(other, &use);
  for (size_t i = 0; i < rule.captures.size(); ++i) {
    if (use.is_odd[i]) continue;
    if (use.ops[i].empty() && use.is_const[i] && !use.is_plain[i]) facts.is_const[static_cast<int>(i)] = true;
    if (!use.ops[i].empty() && !use.is_plain[i]) facts.is_const[static_cast<int>(i)] = false;
    std::map<std::string_view, bool> is_whole;
    for (const ir::OpDef* op : use.ops[i]) {
      for (const ir::AttrDef& attr : op->attrs) {
        auto [at, is_new] = is_whole.emplace(attr.name, true);
        at->second = at->second && is_whole_kind(attr.kind);
      }
    }
    for (const auto& [name, whole] : is_whole) {
      if (!whole) continue;
      std::string term = "%" + facts.names[i] + "." + std::string(name);
      facts.whole.insert(term);
      bool is_conv = std::all_of(use.ops[i].begin(), use.ops[i].end(),
                                 [](const ir::OpDef* op) { return op->name == "Conv" || op->name == "ConvTranspose"; });
      if (is_conv && name == "group") facts.positive.insert(term);
    }
  }
  return facts;
}

std::vector<Settings> settings_of(const ir::Backend& backend) {
  std::vector<Settings> all = {{}};
  for (const ir::AttrDecl& attr : backend.attrs) {
    if (attr.allowed.empty() || all.size() * attr.allowed.size() > kMostSettings) continue;
    std::vector<Settings> extended;
    for (const Settings& settings : all) {
      for (const runtime::AttrValue& value : attr.allowed) {
        extended.push_back(settings);
        extended.back()[attr.name] = value;
      }
    }
    all = std::move(extended);
  }
  return all;
}

/// Collects terms that are certainly evaluated if `expr` has this value.
void collect_evaluated(const Expr& expr, bool is_true, const CaptureNames& names, std::vector<std::string>* texts) {
  texts->push_back(text_of(expr, names));
  if (expr.kind == Kind::Unary) return collect_evaluated(expr.args.at(0), !is_true, names, texts);
  bool joins = is_operation(expr, ExprOp::And) || is_operation(expr, ExprOp::Or);
  bool has_both = !joins || (expr.op == ExprOp::And) == is_true;
  // The items of a set are tried until one fits.
  const bool chooses = expr.kind == Kind::If || expr.kind == Kind::OrElse;
  size_t count = has_both && !chooses && !is_operation(expr, ExprOp::In) ? expr.args.size() : 1;
  for (size_t i = 0; i < std::min(count, expr.args.size()); ++i) collect_evaluated(expr.args[i], is_true, names, texts);
}

std::vector<Literal> all_true(const ExprList& conditions) {
  std::vector<Literal> literals;
  for (const Expr* condition : conditions) literals.push_back({condition, true});
  return literals;
}

}  // namespace

Conditions::Conditions(const ir::Backend& backend, const ir::Rule& rule)
    : facts_(facts_of(backend, rule)), settings_(settings_of(backend)) {}

bool Conditions::has_no_case(const std::vector<Literal>& literals, const std::function<void(Facts&)>& assume) const {
  return std::all_of(settings_.begin(), settings_.end(), [&](const Settings& settings) {
    return CaseSplit([&](const std::vector<Literal>& one_case) {
             Facts facts(facts_, settings);
             if (assume) assume(facts);
             for (const Literal& literal : one_case) facts.add(literal);
             return facts.are_impossible();
           })
        .run(literals);
  });
}

bool Conditions::contradict(const ExprList& conditions) const {
  return has_no_case(all_true(conditions), {});
}

bool Conditions::contradict_with_elements(const ExprList& conditions) const {
  return has_no_case(all_true(conditions), [](Facts& facts) { facts.assume_elements(); });
}

bool Conditions::imply(const ExprList& before, const Expr& condition) const {
  std::vector<Literal> literals = all_true(before);
  std::vector<std::string> evaluated;
  for (const Expr* earlier : before) collect_evaluated(*earlier, true, facts_.names, &evaluated);
  if (!always_evaluates(condition, before, evaluated)) return false;
  literals.push_back({&condition, false});
  return has_no_case(literals, {});
}

/// True if the expression is a division whose divisor may be 0.
bool Conditions::divides_by_zero(const Expr& expr) const {
  if (expr.op != ExprOp::Divide && expr.op != ExprOp::Remainder) return false;
  return std::any_of(settings_.begin(), settings_.end(), [&](const Settings& settings) {
    const Range divisor = range_of(expr.args.at(1), settings, nullptr);
    return divisor.low <= 0 && divisor.high >= 0;
  });
}

bool Conditions::always_evaluates(const Expr& expr, const ExprList& before,
                                  const std::vector<std::string>& evaluated) const {
  std::string text = text_of(expr, facts_.names);
  if (std::find(evaluated.begin(), evaluated.end(), text) != evaluated.end()) return true;
  switch (expr.kind) {
    case Kind::Number:
    case Kind::String:
    case Kind::DType:
    case Kind::Bool:
    case Kind::Capture:
    case Kind::BackendAttr: return true;
    case Kind::Unary:
    case Kind::List: break;
    case Kind::Binary:
      if (divides_by_zero(expr)) return false;
      break;
    case Kind::Call: {
      if (ir::function_def(expr.function).has(ir::Total)) break;
      auto index = expr.function == ir::FunctionId::dim ? constant_of(expr.args[1], {}) : std::nullopt;
      if (!index || expr.args[0].kind != Kind::Capture) return false;
      const double most_rank = *index < 0 ? -*index - 1 : *index;
      return has_no_case(all_true(before), [&](Facts& facts) { facts.add_rank_at_most(expr.args[0], most_rank); });
    }
    default: return false;
  }
  return std::all_of(expr.args.begin(), expr.args.end(),
                     [&](const Expr& arg) { return always_evaluates(arg, before, evaluated); });
}

}  // namespace collage::lint
