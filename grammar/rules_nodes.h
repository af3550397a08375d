// SPDX-License-Identifier: Apache-2.0
// Builds the nodes of syntax/rules_ast.h for the actions of rules.yy. Where the text cannot be a node, the error is
// reported and some node is returned, so that parsing goes on.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/syntax/rules_ast.h"
#include "grammar/rules_scanner.h"

namespace collage::grammar::rules {

using namespace collage::syntax;  // seen by the generated parser and its one caller only

/// Returns `list` with `item` appended.
template <typename T>
std::vector<T> append(std::vector<T> list, T item) {
  list.push_back(std::move(item));
  return list;
}

/// Builds an expression over `args`; gives up on the file where it would be too deep to recurse over.
ExprAst make(ScanState& state, ExprAst::Kind kind, std::string text, Span text_span, std::vector<ExprAst> args,
             Span span);
ExprAst binary(ScanState& state, ExprAst left, std::string op, Span op_span, ExprAst right, Span span);
ExprAst number(NumberAst literal);
/// `12` of `%12`
std::string digits_of(const NumberAst& literal);
/// `-8`
ExprAst negative(ExprAst literal, Span span);
/// Builds `(Relu | Sigmoid)(operands)`: the alternatives were operator names.
PatternAst make_class(ScanState& state, PatternAst group, bool optional, PatternAst operands, Span span);
PatternAst make_op(Word name, bool optional, PatternAst operands, Span span);
PatternAst make_value(Word name, bool may_be_absent, bool is_const, Span span);
PatternAst make_via(PatternAst op, RepeatAst repeat);
/// Gives `op` the names of `(a, _) = Split(x)`, which were read as patterns.
void name_results(ScanState& state, PatternAst* op, PatternAst first, std::vector<PatternAst> others);
/// Builds a template over `operands`; gives up on the file where it would be too deep to recurse over.
TemplateAst make_template(ScanState& state, TemplateAst::Kind kind, std::vector<TemplateAst> operands, Span span);
Word to_word(StringAst text);
/// `x: as y`, `x: NHWC f16`
FormatItemAst make_format(Word value, FormatParts parts);
FormatPart to_part(Word word);
FormatPart to_part(const NumberAst& number, bool is_negative, Span span);

}  // namespace collage::grammar::rules
