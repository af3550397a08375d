// SPDX-License-Identifier: Apache-2.0
#include "compiler/lint/checks/subsumes.h"

#include <algorithm>
#include <functional>
#include <map>

#include "compiler/lint/checks/families.h"
#include "compiler/lint/logic/condition_solver.h"
#include "compiler/lint/logic/cost_order.h"
#include "compiler/lint/models/expand_pattern.h"

namespace collage::lint {
namespace {

using ir::Expr;
using ir::Pattern;
using Kind = Expr::Kind;

/// Names every value and operator of the pattern, so that conditions can refer to all of them.
void name_all(Pattern* pattern, ir::Rule* rule) {
  bool takes_name =
      pattern->kind == Pattern::Kind::Op || (pattern->kind == Pattern::Kind::Value && !pattern->is_absent);
  if (takes_name && pattern->capture < 0) {
    pattern->capture = static_cast<int>(rule->captures.size());
    ir::Capture capture;
    capture.name = "?" + std::to_string(pattern->capture);
    capture.type = pattern->kind == Pattern::Kind::Op ? ir::ExprType::Node : ir::ExprType::Value;
    rule->captures.push_back(std::move(capture));
  }
  for (Pattern& operand : pattern->operands) name_all(&operand, rule);
  for (Pattern& choice : pattern->choices) name_all(&choice, rule);
}

/// Capture of the general rule => capture of the special one.
using Mapping = std::map<int, int>;

/// Maps a form of the general rule onto one of the special rule such that both take the same nodes.
class FormCover {
 public:
  explicit FormCover(std::function<bool(const Mapping&)> on_cover) : on_cover_(std::move(on_cover)) {}

  bool run(const Form& general, const Form& special) { return cover({{&general, &special}}, {}); }

 private:
  using Pairs = std::vector<std::pair<const Form*, const Form*>>;

  bool cover(Pairs todo, Mapping mapping) {
    if (todo.empty()) return on_cover_(mapping);
    auto [general, special] = todo.back();
    todo.pop_back();
    if (general->kind != special->kind) return false;
    if (general->is_const && !special->is_const) return false;
    for (int capture : general->captures) {
      // Every form of the special rule has a capture here, and any of its captures denotes the value.
      if (special->captures.empty()) return false;
      auto [at, is_new] = mapping.emplace(capture, special->captures[0]);
      bool is_same =
          std::find(special->captures.begin(), special->captures.end(), at->second) != special->captures.end();
      if (!is_same) return false;
    }
    if (general->kind != Form::Kind::Op) return cover(std::move(todo), std::move(mapping));
    bool has_all = std::all_of(special->ops.begin(), special->ops.end(), [&, g = general](const ir::OpDef* op) {
      return std::find(g->ops.begin(), g->ops.end(), op) != g->ops.end();
    });
    if (!has_all || (special->takes_rest && !general->takes_rest)) return false;
    size_t wanted = general->operands.size();
    size_t given = special->operands.size();
    if (wanted > given || (wanted < given && !general->takes_rest)) return false;
    for (size_t i = wanted; i < given; ++i) {
      if (special->operands[i].kind == Form::Kind::Op) return false;
    }
    bool commutes = wanted == 2 && std::all_of(special->ops.begin(), special->ops.end(),
                                               [](const ir::OpDef* op) { return op->commutative; });
    for (bool swaps : {false, true}) {
      if (swaps && !commutes) break;
      Pairs next = todo;
      for (size_t i = wanted; i-- > 0;) {
        next.emplace_back(&general->operands[i], &special->operands[swaps ? wanted - 1 - i : i]);
      }
      if (cover(std::move(next), mapping)) return true;
    }
    return false;
  }

  std::function<bool(const Mapping&)> on_cover_;
};

/// Translates an expression of the general rule to one of the special rule. Absent captures are 0 in a cost; `present`
/// is known.
Expr translated(const Expr& expr, const Mapping& mapping) {
  auto number = [&](Kind kind, double value) {
    Expr result;
    result.kind = kind;
    result.type = kind == Kind::Bool ? ir::ExprType::Bool : ir::ExprType::Number;
    result.unit = expr.unit;
    result.number = value;
    return result;
  };
  bool is_present = std::all_of(expr.args.begin(), expr.args.end(), [&](const Expr& arg) {
    return arg.kind != Kind::Capture || mapping.count(arg.capture) != 0;
  });
  if (is_call(expr, ir::FunctionId::present)) return number(Kind::Bool, is_present ? 1 : 0);
  if (!is_present) return number(Kind::Number, 0);
  Expr result = expr;
  if (expr.kind == Kind::Capture) result.capture = mapping.at(expr.capture);
  result.args.clear();
  for (const Expr& arg : expr.args) result.args.push_back(translated(arg, mapping));
  return result;
}

bool mentions_only(const Expr& expr, const std::function<bool(int)>& is_bound) {
  std::vector<int> captures;
  collect_captures(expr, &captures);
  return std::all_of(captures.begin(), captures.end(), is_bound);
}

bool is_composite(const Expr& condition) {
  return condition.kind == Kind::If || is_operation(condition, ir::ExprOp::And) ||
         is_operation(condition, ir::ExprOp::Or) || is_operation(condition, ir::ExprOp::Not);
}

class RuleCover {
 public:
  RuleCover(const ir::Backend& backend, const ir::Rule& general, const ir::Rule& special)
      : backend_(backend), general_(general), special_(special) {
    name_all(&special_.root, &special_);
    names_ = names_of(special_);
  }

  std::optional<Cover> run() {
    // A restriction of the special rule alone does not matter; one of the general rule may.
    bool are_plain = has_one_plain_kernel(general_) && has_one_plain_kernel(special_) && special_.splits.empty();
    if (!general_.inners.empty() || !are_plain) return std::nullopt;
    if (general_.measured != special_.measured || general_.cost.has_value() != special_.cost.has_value())
      return std::nullopt;
    auto general_forms = forms_of(general_);
    auto special_forms = forms_of(special_);
    if (!general_forms || !special_forms) return std::nullopt;
    Conditions conditions(backend_, special_);
    for (const Form& special : *special_forms) {
      if (special.kind != Form::Kind::Op) continue;  // every match has an operator
      special_bound_ = bound_captures(special);
      bool is_covered = std::any_of(general_forms->begin(), general_forms->end(), [&](const Form& general) {
        return FormCover([&](const Mapping& mapping) { return fits(mapping, conditions); }).run(general, special);
      });
      if (!is_covered) return std::nullopt;
    }
    return cover_;
  }

 private:
  bool is_bound(int capture) const { return std::binary_search(special_bound_.begin(), special_bound_.end(), capture); }

  bool fits(const Mapping& mapping, const Conditions& conditions) {
    std::vector<Expr> known;
    Mapping identity;
    for (int capture : special_bound_) identity[capture] = capture;
    for (const ir::Clause& clause : special_.clauses) {
      bool counts = mentions_only(clause.condition, [&](int capture) { return is_bound(capture); });
      if (counts) known.push_back(translated(clause.condition, identity));
    }
    ExprList before;
    for (const Expr& condition : known) before.push_back(&condition);
    for (const ir::Clause& clause : general_.clauses) {
      bool counts = mentions_only(clause.condition, [&](int capture) { return mapping.count(capture) != 0; });
      // A part about names that are there can decide alone: `present(high) and value(high) == 6`.
      if (!counts && (clause.is_workspace || is_composite(clause.condition))) return false;
      if (counts && !conditions.imply(before, translated(clause.condition, mapping))) return false;
    }
    if (formats(general_, mapping) != formats(special_, identity)) return false;
    if (general_.cost) {
      Expr general_cost = translated(*general_.cost, mapping);
      Expr special_cost = translated(*special_.cost, identity);
      if (!is_never_more(general_cost, special_cost, names_)) return false;
      if (!is_never_more(special_cost, general_cost, names_)) cover_.equal_cost = false;
    }
    cover_.same_lowering = cover_.same_lowering && lowering(general_, mapping) == lowering(special_, identity);
    return true;
  }

  /// Capture of the special rule => format, if it is not the backend's.
  std::map<int, std::string> formats(const ir::Rule& rule, const Mapping& mapping) const {
    std::map<int, std::string> formats;
    for (const ir::FormatClause& format : rule.formats) {
      auto at = mapping.find(format.capture);
      if (at == mapping.end()) continue;
      std::string text = ir::format_text(format, backend_);
      if (format.same_as >= 0) {
        auto same = mapping.find(format.same_as);
        text = same == mapping.end() ? "as nothing" : "as " + std::to_string(same->second);
      }
      if (text != ir::default_format_text(backend_)) formats[at->second] = text;
    }
    return formats;
  }

  /// The lowering as text. If neither rule has `lower`, only the nodes determine it.
  std::string lowering(const ir::Rule& rule, const Mapping& mapping) const {
    if (!rule.lowering.span.is_valid()) return "";
    std::string text = rule.lowering.symbol;
    for (const ir::LoweringArg& arg : rule.lowering.args) {
      text += "," + (arg.capture >= 0 ? "" : arg.name + "=");
      auto at = mapping.find(arg.capture);
      if (at != mapping.end()) text += std::to_string(at->second);
      if (arg.value) text += text_of(translated(*arg.value, mapping), names_);
    }
    return text;
  }

  const ir::Backend& backend_;
  const ir::Rule& general_;
  ir::Rule special_;
  CaptureNames names_;
  std::vector<int> special_bound_;
  Cover cover_;
};

}  // namespace

std::optional<Cover> covers(const ir::Backend& backend, const ir::Rule& general, const ir::Rule& special) {
  return RuleCover(backend, general, special).run();
}

}  // namespace collage::lint
