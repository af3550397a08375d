// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/build_rule_test.h"

#include <algorithm>
#include <cmath>

namespace collage::sema {
namespace {

using support::Code;
using syntax::TestAst;

/// Tests are small examples: a larger size is a mistake.
constexpr double kMostElements = 1 << 26;

bool is_const_capture(const ir::Pattern& pattern, int capture) {
  if (pattern.kind == ir::Pattern::Kind::Value && pattern.capture == capture && pattern.is_const) return true;
  auto holds = [capture](const ir::Pattern& part) { return is_const_capture(part, capture); };
  return std::any_of(pattern.operands.begin(), pattern.operands.end(), holds) ||
         std::any_of(pattern.choices.begin(), pattern.choices.end(), holds);
}

std::optional<ir::TensorType> tensor_type(const syntax::TypedAst& ast, support::Diagnostics& diags) {
  ir::TensorType type;
  auto dtype = runtime::parse_dtype(ast.dtype.text);
  if (!dtype) {
    return diags.error(Code::UnknownName, ast.dtype.span, "unknown dtype `{}`", ast.dtype.text)
        .did_you_mean(support::closest(ast.dtype.text, runtime::dtype_names()));
  }
  type.dtype = *dtype;
  double elements = 1;
  for (const syntax::NumberAst& dim : ast.dims) {
    elements *= std::max(dim.value, 1.0);
    if (dim.value != std::floor(dim.value) || !dim.unit.empty() || elements > kMostElements) {
      return diags.error(Code::BadLiteral, dim.span,
                         "a dimension must be an integer, and a test has at most {:.0f} elements", kMostElements);
    }
    type.shape.push_back(static_cast<int64_t>(dim.value));
  }
  return type;
}

}  // namespace

std::optional<ir::RuleTest> build_rule_test(const syntax::TestAst& ast, const ir::Rule& rule,
                                            support::Diagnostics& diags, bool names_nodes) {
  ir::RuleTest test;
  test.span = ast.span;
  test.model = ast.model.text;
  test.model_span = ast.model.span;
  test.expects_match = ast.kind.text == "ok";
  if (ast.kind.text != "ok" && ast.kind.text != "no") {
    return diags.error(Code::SyntaxError, ast.kind.span, "expected `ok` or `no`, found `{}`", ast.kind.text);
  }
  if (test.expects_match && !ast.nodes && names_nodes) {
    return diags.error(Code::IncompleteRule, ast.span, "a `test ok` says which nodes match: `-> {{%c, %y}}`");
  }
  if (!test.expects_match && !ast.because) {
    return diags.error(Code::IncompleteRule, ast.span, "a `test no` says why: `because \"…\"`");
  }
  if (!ast.expectations.empty()) {
    return diags.error(Code::NotYetSupported, ast.expectations[0].span, "tests cannot say this yet");
  }
  bool ok = true;
  for (const syntax::TypedAst& input : ast.inputs) {
    auto type = tensor_type(input, diags);
    ok = ok && type;
    if (!type) continue;
    if (input.qualifier && input.qualifier->text != "const") {
      ok = diags.error(Code::SyntaxError, input.qualifier->span, "expected `const` or a dtype, found `{}`",
                       input.qualifier->text);
    }
    for (const auto& [name, other] : test.inputs) {
      if (name == input.name.text) {
        ok = diags.error(Code::DuplicateName, input.name.span, "`{}` is typed twice", input.name.text);
      }
    }
    int capture = rule.find_capture(input.name.text);
    auto is_const_in = [capture](const ir::Pattern& pattern) { return is_const_capture(pattern, capture); };
    bool is_const =
        input.qualifier ||
        (capture >= 0 && (is_const_in(rule.root) || std::any_of(rule.others.begin(), rule.others.end(), is_const_in)));
    if (is_const) test.constants.push_back(input.name.text);
    test.inputs.emplace_back(input.name.text, std::move(*type));
  }
  if (ast.nodes) {
    for (const syntax::Word& node : *ast.nodes) test.nodes.push_back(node.text);
    if (test.nodes.empty()) return diags.error(Code::IncompleteRule, ast.span, "a match has at least one node");
  }
  if (ast.because) test.because = ast.because->text;
  if (!ok) return std::nullopt;
  return test;
}

}  // namespace collage::sema
