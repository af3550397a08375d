// SPDX-License-Identifier: Apache-2.0
#include "compiler/lint/checks/rule_keys.h"

#include <algorithm>
#include <optional>

#include "compiler/ir/ops/op_def.h"
#include "compiler/lint/logic/expr_text.h"
#include "compiler/match/matcher.h"

namespace collage::lint {
namespace {

/// Writes a pattern with its captures numbered in the order in which they come.
class PatternText {
 public:
  explicit PatternText(const ir::Rule& rule) : names_(rule.captures.size()) {
    is_plain_ = rule.others.empty() && add(rule.root);
  }

  /// Empty if the pattern has several forms.
  std::string text() const { return is_plain_ ? text_ : ""; }
  const CaptureNames& names() const { return names_; }

 private:
  bool add(const ir::Pattern& pattern) {
    if (pattern.capture >= 0) {
      std::string& name = names_[static_cast<size_t>(pattern.capture)];
      if (name.empty()) name = "$" + std::to_string(count_++);
      text_ += name + "=";
    }
    for (int result : pattern.results) {
      text_ += "r";
      if (result >= 0) names_[static_cast<size_t>(result)] = "$" + std::to_string(count_++);
    }
    if (pattern.kind == ir::Pattern::Kind::Value) {
      text_ += pattern.is_absent ? "-" : pattern.is_const ? "k" : "v";
      return pattern.is_absent || !pattern.may_be_absent;
    }
    if (pattern.kind != ir::Pattern::Kind::Op || pattern.last_is_each) return false;
    for (const ir::OpDef* op : pattern.ops) {
      if (op->commutative) return false;
      text_ += std::string(op->name) + "|";
    }
    text_ += pattern.takes_rest ? "(.." : "(";
    for (const ir::Pattern& operand : pattern.operands) {
      if (!add(operand)) return false;
      text_ += ",";
    }
    text_ += ")";
    return true;
  }

  CaptureNames names_;
  std::string text_;
  int count_ = 0;
  bool is_plain_ = false;
};

/// `a == 3 and b` => `a`: 3
void collect_equalities(const ir::Expr& condition, const CaptureNames& names, std::map<std::string, double>* equals) {
  if (ir::is_operation(condition, ir::ExprOp::And)) {
    for (const ir::Expr& arg : condition.args) collect_equalities(arg, names, equals);
    return;
  }
  if (!ir::is_operation(condition, ir::ExprOp::Equal)) return;
  for (size_t side : {0, 1}) {
    const std::optional<double> number = constant_of(condition.args[side], {});
    if (number) equals->emplace(text_of(condition.args[1 - side], names, {}), *number);
  }
}

std::string text_of_lowering(const ir::Rule& rule, const CaptureNames& names) {
  std::string text = rule.lowering.span.is_valid() ? rule.lowering.symbol : "";
  for (const ir::LoweringArg& arg : rule.lowering.args) {
    text += "," + arg.name + "=" + arg.encoding;
    if (arg.capture >= 0) text += names[static_cast<size_t>(arg.capture)];
    if (arg.value) text += text_of(*arg.value, names, {});
  }
  return text;
}

/// All that a rule with one kernel says.
std::string text_of_rule(const ir::Backend& backend, const ir::Rule& rule, const PatternText& pattern) {
  const CaptureNames& names = pattern.names();
  std::string text = pattern.text() + ";" + (rule.cost ? text_of(*rule.cost, names, {}) : "") +
                     (rule.measured ? ";measured;" : ";") + text_of_lowering(rule, names);
  for (const ir::Clause& clause : rule.clauses) text += ";" + text_of(clause.condition, names, {});
  for (const ir::FormatClause& format : rule.formats) {
    text += ";f" + std::to_string(format.same_as) + ir::format_text(format, backend);
    if (format.capture >= 0) text += names[static_cast<size_t>(format.capture)];
  }
  return text;
}

}  // namespace

RuleKeys::RuleKeys(const ir::Backend& backend) {
  std::map<std::string, int> first;
  for (const ir::Rule& rule : backend.rules) {
    const auto index = static_cast<int>(keys_.size());
    Key key;
    key.first = index;
    for (const ir::OpDef* op : match::root_operators(rule.root)) key.roots.insert(op);
    const PatternText pattern(rule);
    key.pattern = pattern.text();
    for (const ir::Clause& clause : rule.clauses) collect_equalities(clause.condition, pattern.names(), &key.equals);
    if (rule.cost) key.cost = text_of(*rule.cost, CaptureNames(rule.captures.size(), "?"), {});
    const bool is_simple = rule.kernels.size() == 1 && rule.kernels[0].knobs.empty() && rule.inners.empty() &&
                           rule.splits.empty() && rule.needs.empty() && rule.kernels[0].needs.empty();
    if (is_simple && !key.pattern.empty()) {
      key.first = first.emplace(text_of_rule(backend, rule, pattern), index).first->second;
    }
    keys_.push_back(std::move(key));
  }
}

bool RuleKeys::may_meet(int a, int b) const {
  const Key& left = keys_[static_cast<size_t>(a)];
  const Key& right = keys_[static_cast<size_t>(b)];
  const bool have_root = std::any_of(left.roots.begin(), left.roots.end(),
                                     [&](const ir::OpDef* op) { return right.roots.count(op) != 0; });
  if (!have_root) return false;
  if (left.pattern.empty() || left.pattern != right.pattern) return true;
  return std::none_of(left.equals.begin(), left.equals.end(), [&](const auto& equal) {
    auto other = right.equals.find(equal.first);
    return other != right.equals.end() && other->second != equal.second;
  });
}

}  // namespace collage::lint
