// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/rules/pattern_shape.h"

#include <algorithm>

#include "runtime/core/text.h"

namespace collage::sema {
namespace {

using ir::OpDef;
using ir::Pattern;
using support::Code;

/// Number of operands of the pattern up to the last required one.
int certain_operands(const Pattern& pattern) {
  int certain = 0;
  for (size_t i = 0; i < pattern.operands.size(); ++i) {
    const Pattern& operand = pattern.operands[i];
    if (!operand.may_be_absent && !operand.is_absent) certain = static_cast<int>(i) + 1;
  }
  return certain;
}

bool has_too_many(const OpDef& op, const Pattern& pattern) {
  return certain_operands(pattern) > op.max_inputs || static_cast<int>(pattern.operands.size()) > op.max_inputs;
}

bool has_too_few(const OpDef& op, const Pattern& pattern) {
  return static_cast<int>(pattern.operands.size()) < op.min_inputs && !pattern.takes_rest && !pattern.last_is_each;
}

bool may_have_no_operator(const Pattern& pattern) {
  bool repeats = pattern.kind == Pattern::Kind::Repeat || pattern.kind == Pattern::Kind::Via;
  return repeats && pattern.at_least == 0;
}

}  // namespace

bool takes_operands(const OpDef& op, const Pattern& pattern) {
  return !has_too_many(op, pattern) && !has_too_few(op, pattern);
}

bool check_arity(const Pattern& pattern, support::Diagnostics& diags) {
  size_t given = pattern.operands.size();
  for (const OpDef* op : pattern.ops) {
    if (has_too_many(*op, pattern)) {
      return diags.error(Code::BadPattern, pattern.span, "`{}` takes at most {}, the pattern has {}", op->name,
                         runtime::counted(op->max_inputs, "operand"), given);
    }
    if (has_too_few(*op, pattern)) {
      return diags
          .error(Code::BadPattern, pattern.span, "`{}` takes at least {}, the pattern has {}", op->name,
                 runtime::counted(op->min_inputs, "operand"), given)
          .note("`..` takes the rest, whatever it is");
    }
  }
  return true;
}

void leave_out_further_operands(Pattern* pattern) {
  if (pattern->takes_rest || pattern->last_is_each) return;
  int most = 0;
  for (const OpDef* op : pattern->ops) {
    if (op->max_inputs != OpDef::kVariadic) most = std::max(most, op->max_inputs);
  }
  while (static_cast<int>(pattern->operands.size()) < most) {
    Pattern absent;
    absent.is_absent = true;
    absent.may_be_absent = true;
    absent.span = pattern->span;
    pattern->operands.push_back(std::move(absent));
  }
}

int least_operators(const Pattern& pattern) {
  if (pattern.kind == Pattern::Kind::Value) return 0;
  if (may_have_no_operator(pattern)) return least_operators(pattern.operands[0]);
  int least = 1;
  for (const Pattern& choice : pattern.choices) least = std::min(least, least_operators(choice));
  return least;
}

bool is_node(const Pattern& pattern, std::vector<const OpDef*>* ops) {
  if (pattern.kind == Pattern::Kind::Value) return false;
  for (const OpDef* op : pattern.ops) {
    if (std::find(ops->begin(), ops->end(), op) == ops->end()) ops->push_back(op);
  }
  if (may_have_no_operator(pattern)) return is_node(pattern.operands[0], ops);
  return std::all_of(pattern.choices.begin(), pattern.choices.end(),
                     [&](const Pattern& choice) { return is_node(choice, ops); });
}

}  // namespace collage::sema
