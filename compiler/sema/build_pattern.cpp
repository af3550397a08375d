// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/build_pattern.h"

#include <algorithm>

namespace collage::sema {
namespace {

using ir::ExprType;
using ir::OpDef;
using ir::Pattern;
using support::Code;
using syntax::PatternAst;

/// `f?(e, …)` holds `e` twice, so nested optionals double their size each.
constexpr int kMaxPatternNodes = 10'000;

/// Captures that a derivation binds for certain.
using Bound = std::set<int>;

class PatternBuilder {
 public:
  PatternBuilder(const std::string& variable, const syntax::Word& member, support::Diagnostics& diags)
      : variable_(variable), member_(member), diags_(diags) {}

  std::optional<BuiltPattern> run(const PatternAst& ast) {
    Bound bound;
    count(ast);
    bool ok = build(ast, &result_.root, &bound);
    if (!ok || failed_) return std::nullopt;
    for (size_t i = 0; i < result_.captures.size(); ++i) {
      result_.captures[i].may_be_absent = bound.count(static_cast<int>(i)) == 0;
    }
    if (least_ops(result_.root) == 0) {
      return diags_.error(Code::BadPattern, ast.span, "the pattern can match without any operator");
    }
    return std::move(result_);
  }

 private:
  /// How often each name is written: once more than `build` visits it under an optional.
  void count(const PatternAst& ast) {
    if (ast.capture) ++written_[ast.capture->text];
    for (const PatternAst& operand : ast.operands) count(operand);
    for (const PatternAst& choice : ast.choices) count(choice);
  }

  bool build(const PatternAst& ast, Pattern* out, Bound* bound) {
    if (++nodes_ > kMaxPatternNodes) {
      if (!failed_)
        diags_.error(Code::BadPattern, ast.span, "the pattern has more than {} forms and parts", kMaxPatternNodes);
      failed_ = true;
      return false;
    }
    out->span = ast.span;
    switch (ast.kind) {
      case PatternAst::Kind::Value: return build_value(ast, out, bound);
      case PatternAst::Kind::Op: return ast.optional ? build_optional(ast, out, bound) : build_op(ast, out, bound);
      case PatternAst::Kind::Alternatives: return build_alternatives(ast, out, bound);
      case PatternAst::Kind::Via: return false;  // not_yet.h
    }
    return false;
  }

  bool build_value(const PatternAst& ast, Pattern* out, Bound* bound) {
    const std::string& name = ast.capture->text;
    out->kind = Pattern::Kind::Value;
    out->is_const = ast.is_const;
    out->may_be_absent = ast.may_be_absent;
    if (name == "none") {
      out->is_absent = true;
      out->may_be_absent = true;
      return true;
    }
    if (name == "_") return true;
    if (ir::find_op(name) != nullptr) {
      return diags_.error(Code::BadPattern, ast.span, "`{}` is an operator: its operands are missing", name)
          .note("`{}(..)` takes any operands", name);
    }
    out->capture = capture(*ast.capture, ExprType::Value, {});
    if (!ast.may_be_absent) bound->insert(out->capture);
    return true;
  }

  bool build_op(const PatternAst& ast, Pattern* out, Bound* bound) {
    out->kind = Pattern::Kind::Op;
    out->takes_rest = ast.takes_rest;
    bool ok = resolve_ops(ast, out);
    for (const PatternAst& operand : ast.operands) {
      out->operands.emplace_back();
      Pattern built;
      ok = build(operand, &built, bound) && ok;
      out->operands.back() = std::move(built);
    }
    if (!ok) return false;
    if (!check_arity(ast, *out)) return false;
    leave_out_rest(out);
    if (ast.capture) {
      out->capture = capture(*ast.capture, ExprType::Node, out->ops);
      if (!bound->insert(out->capture).second && is_node_twice(out->capture)) {
        return diags_.error(Code::DuplicateName, ast.capture->span, "`{}` names two nodes of one match",
                            ast.capture->text);
      }
      nodes_bound_.insert(out->capture);
    }
    return true;
  }

  bool is_node_twice(int capture) const { return nodes_bound_.count(capture) != 0; }

  bool resolve_ops(const PatternAst& ast, Pattern* out) {
    bool ok = true;
    for (const syntax::Word& written : ast.ops) {
      const syntax::Word& word = !variable_.empty() && written.text == variable_ ? member_ : written;
      const OpDef* op = ir::find_op(word.text);
      if (op == nullptr) {
        ok = diags_.error(Code::UnknownOperator, word.span, "unknown operator `{}`", word.text)
                 .did_you_mean(support::closest(word.text, ir::op_names()));
        continue;
      }
      if (std::find(out->ops.begin(), out->ops.end(), op) == out->ops.end()) out->ops.push_back(op);
    }
    return ok;
  }

  bool check_arity(const PatternAst& ast, const Pattern& pattern) {
    auto given = static_cast<int>(pattern.operands.size());
    int certain = 0;
    for (int i = 0; i < given; ++i) {
      const Pattern& operand = pattern.operands[static_cast<size_t>(i)];
      if (!operand.may_be_absent && !operand.is_absent) certain = i + 1;
    }
    for (const OpDef* op : pattern.ops) {
      if (certain > op->max_inputs || given > op->max_inputs) {
        return diags_.error(Code::BadPattern, ast.span, "`{}` takes at most {} operand{}, the pattern has {}", op->name,
                            op->max_inputs, op->max_inputs == 1 ? "" : "s", given);
      }
      if (given < op->min_inputs && !pattern.takes_rest) {
        return diags_
            .error(Code::BadPattern, ast.span, "`{}` takes at least {} operand{}, the pattern has {}", op->name,
                   op->min_inputs, op->min_inputs == 1 ? "" : "s", given)
            .note("`..` takes the rest, whatever it is");
      }
    }
    return true;
  }

  /// Operands that the pattern does not name must be absent.
  static void leave_out_rest(Pattern* out) {
    if (out->takes_rest) return;
    int most = 0;
    for (const OpDef* op : out->ops) {
      if (op->max_inputs != OpDef::kVariadic) most = std::max(most, op->max_inputs);
    }
    while (static_cast<int>(out->operands.size()) < most) {
      Pattern absent;
      absent.is_absent = true;
      absent.may_be_absent = true;
      absent.span = out->span;
      out->operands.push_back(std::move(absent));
    }
  }

  /// `f?(e, …)` => Optional{f(e, …), e}
  bool build_optional(const PatternAst& ast, Pattern* out, Bound* bound) {
    if (ast.operands.empty()) {
      return diags_.error(Code::BadPattern, ast.span,
                          "an optional operator needs an operand, which stands where it is absent");
    }
    out->kind = Pattern::Kind::Optional;
    PatternAst plain = ast;
    plain.optional = false;
    plain.capture.reset();
    out->choices.resize(2);
    Bound with = *bound;
    Bound without = *bound;
    std::set<int> nodes_before = nodes_bound_;
    bool ok = build(plain, &out->choices[0], &with);
    std::set<int> nodes_with = nodes_bound_;
    nodes_bound_ = nodes_before;
    ok = ok && build(ast.operands[0], &out->choices[1], &without);
    nodes_bound_.insert(nodes_with.begin(), nodes_with.end());
    if (!ok) return false;
    std::set_intersection(with.begin(), with.end(), without.begin(), without.end(),
                          std::inserter(*bound, bound->end()));
    name_choice(ast, out, bound);
    return true;
  }

  bool build_alternatives(const PatternAst& ast, Pattern* out, Bound* bound) {
    out->kind = Pattern::Kind::Alternatives;
    std::optional<Bound> common;
    std::set<int> nodes_before = nodes_bound_;
    std::set<int> nodes_after = nodes_bound_;
    for (const PatternAst& choice : ast.choices) {
      Bound here = *bound;
      nodes_bound_ = nodes_before;
      Pattern built;
      if (!build(choice, &built, &here)) return false;
      nodes_after.insert(nodes_bound_.begin(), nodes_bound_.end());
      out->choices.push_back(std::move(built));
      if (!common) {
        common = here;
      } else {
        Bound both;
        std::set_intersection(common->begin(), common->end(), here.begin(), here.end(),
                              std::inserter(both, both.end()));
        common = std::move(both);
      }
    }
    nodes_bound_ = std::move(nodes_after);
    *bound = std::move(*common);
    name_choice(ast, out, bound);
    return true;
  }

  /// The name of an optional or of alternatives: a node if each choice is one.
  void name_choice(const PatternAst& ast, Pattern* out, Bound* bound) {
    if (!ast.capture) return;
    std::vector<const OpDef*> ops;
    ExprType type = collect_ops(*out, &ops) ? ExprType::Node : ExprType::Value;
    out->capture = capture(*ast.capture, type, ops);
    bound->insert(out->capture);
  }

  static bool collect_ops(const Pattern& pattern, std::vector<const OpDef*>* ops) {
    if (pattern.kind == Pattern::Kind::Value) return false;
    for (const OpDef* op : pattern.ops) {
      if (std::find(ops->begin(), ops->end(), op) == ops->end()) ops->push_back(op);
    }
    return std::all_of(pattern.choices.begin(), pattern.choices.end(),
                       [&](const Pattern& choice) { return collect_ops(choice, ops); });
  }

  /// Index of the capture called so. One that is a node anywhere is a node where it is named alone, too; one that is a
  /// node in some alternatives and a value in others is told apart by `bound`, and has the attributes of the node.
  int capture(const syntax::Word& word, ExprType type, const std::vector<const OpDef*>& ops) {
    auto at = std::find_if(result_.captures.begin(), result_.captures.end(),
                           [&](const ir::Capture& c) { return c.name == word.text; });
    auto index = static_cast<size_t>(at - result_.captures.begin());
    if (at == result_.captures.end()) {
      result_.captures.push_back({word.text, type, false, word.span});
      result_.capture_ops.push_back(ops);
      result_.occurrences.push_back(written_[word.text]);
      return static_cast<int>(index);
    }
    if (type == ExprType::Node) at->type = ExprType::Node;
    for (const OpDef* op : ops) {
      std::vector<const OpDef*>& known = result_.capture_ops[index];
      if (std::find(known.begin(), known.end(), op) == known.end()) known.push_back(op);
    }
    return static_cast<int>(index);
  }

  static int least_ops(const Pattern& pattern) {
    switch (pattern.kind) {
      case Pattern::Kind::Value: return 0;
      case Pattern::Kind::Op: return 1;
      case Pattern::Kind::Optional:
      case Pattern::Kind::Alternatives: {
        int least = 1;
        for (const Pattern& choice : pattern.choices) least = std::min(least, least_ops(choice));
        return least;
      }
    }
    return 0;
  }

  const std::string& variable_;
  const syntax::Word& member_;
  support::Diagnostics& diags_;
  BuiltPattern result_;
  std::map<std::string, int> written_;
  std::set<int> nodes_bound_;  ///< captures that an operator before has in the same derivation
  int nodes_ = 0;
  bool failed_ = false;
};

}  // namespace

std::optional<BuiltPattern> build_pattern(const syntax::PatternAst& ast, const std::string& variable,
                                          const syntax::Word& member, support::Diagnostics& diags) {
  return PatternBuilder(variable, member, diags).run(ast);
}

}  // namespace collage::sema
