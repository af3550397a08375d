// SPDX-License-Identifier: Apache-2.0
#include "grammar/rules_nodes.h"

#include <fmt/format.h>

#include <algorithm>

namespace collage::grammar::rules {

using support::Code;

ExprAst make(ScanState& state, ExprAst::Kind kind, std::string text, Span text_span, std::vector<ExprAst> args,
             Span span) {
  ExprAst expr;
  for (const ExprAst& arg : args) expr.depth = std::max(expr.depth, arg.depth + 1);
  expr.kind = kind;
  expr.text = std::move(text);
  expr.text_span = text_span;
  expr.span = span;
  if (expr.depth > kMaxDepth) {
    if (!state.gave_up)
      state.error(Code::SyntaxError, span, fmt::format("the expression is more than {} operators deep", kMaxDepth));
    state.gave_up = true;
    expr.depth = 1;
    return expr;
  }
  expr.args = std::move(args);
  return expr;
}

ExprAst binary(ScanState& state, ExprAst left, std::string op, Span op_span, ExprAst right, Span span) {
  std::vector<ExprAst> args;
  args.push_back(std::move(left));
  args.push_back(std::move(right));
  return make(state, ExprAst::Kind::Binary, std::move(op), op_span, std::move(args), span);
}

ExprAst number(NumberAst literal) {
  ExprAst expr;
  expr.number = literal.value;
  expr.whole = literal.whole;
  expr.text = literal.unit;
  expr.span = literal.span;
  return expr;
}

std::string digits_of(const NumberAst& literal) {
  return literal.whole ? fmt::format("{}", *literal.whole) : fmt::format("{}", literal.value);
}

ExprAst negative(ExprAst literal, Span span) {
  literal.number = -literal.number;
  if (literal.whole) literal.whole = -*literal.whole;
  literal.span = span;
  return literal;
}

PatternAst make_class(ScanState& state, PatternAst group, bool optional, PatternAst operands, Span span) {
  PatternAst op = std::move(operands);
  op.kind = PatternAst::Kind::Op;
  op.optional = optional;
  op.span = span;
  std::vector<PatternAst> names;
  if (group.kind == PatternAst::Kind::Alternatives) {
    names = std::move(group.choices);
  } else {
    names.push_back(std::move(group));
  }
  for (PatternAst& name : names) {
    bool is_name = name.kind == PatternAst::Kind::Value && name.capture && !name.is_const && !name.may_be_absent;
    if (!is_name) {
      state.error(Code::SyntaxError, name.span, "expected the name of an operator: operands follow the brackets");
      continue;
    }
    op.ops.push_back(std::move(*name.capture));
  }
  return op;
}

PatternAst make_op(Word name, bool optional, PatternAst operands, Span span) {
  operands.kind = PatternAst::Kind::Op;
  operands.optional = optional;
  operands.ops.push_back(std::move(name));
  operands.span = span;
  return operands;
}

PatternAst make_value(Word name, bool may_be_absent, bool is_const, Span span) {
  PatternAst value;
  value.span = span;
  value.may_be_absent = may_be_absent;
  value.capture = std::move(name);
  value.is_const = is_const;
  return value;
}

PatternAst make_via(PatternAst op, RepeatAst repeat) {
  op.kind = PatternAst::Kind::Via;
  op.repeat = std::move(repeat);
  return op;
}

void name_results(ScanState& state, PatternAst* op, PatternAst first, std::vector<PatternAst> others) {
  if (op->kind != PatternAst::Kind::Op || op->optional || op->repeat || op->capture) {
    state.error(Code::BadPattern, op->span, "names of results stand before one operator: `(a, b) = Split(x)`");
  }
  others.insert(others.begin(), std::move(first));
  for (PatternAst& name : others) {
    bool is_name = name.kind == PatternAst::Kind::Value && name.capture && !name.is_const && !name.may_be_absent;
    if (is_name) {
      op->results.push_back(std::move(*name.capture));
    } else {
      state.error(Code::BadPattern, name.span, "expected the name of a result, or `_`");
    }
  }
}

TemplateAst make_template(ScanState& state, TemplateAst::Kind kind, std::vector<TemplateAst> operands, Span span) {
  TemplateAst made;
  for (const TemplateAst& operand : operands) made.depth = std::max(made.depth, operand.depth + 1);
  made.kind = kind;
  made.span = span;
  if (made.depth > kMaxDepth) {
    if (!state.gave_up)
      state.error(Code::SyntaxError, span, fmt::format("the operators are more than {} deep", kMaxDepth));
    state.gave_up = true;
    made.depth = 1;
    operands.resize(std::min<size_t>(operands.size(), 2));
    for (TemplateAst& operand : operands) operand = {};
  }
  made.operands = std::move(operands);
  return made;
}

Word to_word(StringAst text) {
  return {std::move(text.text), text.span};
}

FormatItemAst make_format(Word value, FormatParts parts) {
  FormatItemAst item;
  item.value = std::move(value);
  bool is_same = parts.size() == 2 && parts[0].word == "as" && !parts[1].word.empty();
  if (is_same) {
    item.same_as = Word{parts[1].word, parts[1].span};
  } else {
    item.format = std::move(parts);
  }
  return item;
}

FormatPart to_part(Word word) {
  return {std::move(word.text), 0, word.span};
}

FormatPart to_part(const NumberAst& number, bool is_negative, Span span) {
  return {"", is_negative ? -number.value : number.value, span};
}

}  // namespace collage::grammar::rules
