// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/rules/build_tests.h"

#include <algorithm>
#include <cmath>

#include "compiler/ir/rules/functions.h"
#include "compiler/sema/model/build_format.h"
#include "compiler/sema/rules/check_expr.h"

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

std::optional<runtime::AttrValue> literal(const syntax::ExprAst& ast, support::Diagnostics& diags) {
  using Kind = syntax::ExprAst::Kind;
  if (ast.kind == Kind::Name && (ast.text == "true" || ast.text == "false")) return int64_t{ast.text == "true"};
  if (ast.kind == Kind::String || ast.kind == Kind::Name) return ast.text;
  if (ast.kind == Kind::Number) {
    ir::Unit unit;
    return literal_value(ast, &unit);
  }
  return diags.error(Code::BadKnob, ast.span, "a value of a knob must be a number, a bool or a string");
}

bool build_by(const syntax::ExpectationAst& ast, const ir::Rule& rule, ir::Expectation* built,
              support::Diagnostics& diags) {
  std::vector<std::string> names;
  const ir::Kernel* kernel = nullptr;
  for (const ir::Kernel& known : rule.kernels) {
    if (known.name == ast.name.text) kernel = &known;
    if (!known.name.empty()) names.push_back(known.name);
  }
  if (kernel == nullptr || ast.name.text.empty()) {
    auto error = diags.error(Code::UnknownName, ast.name.span, "`{}` has no kernel `{}`", rule.family, ast.name.text);
    return error.did_you_mean(support::closest(ast.name.text, names));
  }
  built->name = ast.name.text;
  for (const auto& [name, value] : ast.knobs) {
    bool is_known = std::any_of(kernel->knobs.begin(), kernel->knobs.end(),
                                [&name = name](const ir::Knob& knob) { return knob.name == name.text; });
    if (!is_known) {
      return diags.error(Code::UnknownName, name.span, "kernel `{}` has no knob `{}`", kernel->name, name.text);
    }
    auto number = literal(value, diags);
    if (!number) return false;
    built->knobs.emplace_back(name.text, std::move(*number));
  }
  return true;
}

std::optional<ir::Expectation> build_expectation(const syntax::ExpectationAst& ast, const ir::Rule& rule,
                                                 support::Diagnostics& diags) {
  using Kind = syntax::ExpectationAst::Kind;
  ir::Expectation built;
  built.span = ast.span;
  switch (ast.kind) {
    case Kind::By:
      built.kind = ir::Expectation::Kind::By;
      if (!build_by(ast, rule, &built, diags)) return std::nullopt;
      break;
    case Kind::Cost: {
      built.kind = ir::Expectation::Kind::Cost;
      built.comparison = ir::find_binary(ast.name.text).value();
      ir::Unit unit;
      built.seconds = si_value(ast.number.value, ast.number.unit, &unit);
      if (unit != ir::Unit::Time)
        return diags.error(Code::UnitMismatch, ast.number.span, "a cost is a time, such as `2 us`");
      break;
    }
    case Kind::Lower:
      built.kind = ir::Expectation::Kind::Lower;
      built.text = ast.text.text;
      break;
    case Kind::Format: {
      built.kind = ir::Expectation::Kind::Format;
      built.name = ast.name.text;
      auto layout = build_memory_layout(ast.format, /*takes_any=*/false, diags);
      if (!layout) return std::nullopt;
      built.layout = layout->layout;
      built.storage = layout->storage;
      break;
    }
  }
  return built;
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
  if (!names_nodes && !ast.expectations.empty()) {
    return diags.error(Code::SyntaxError, ast.expectations[0].span, "a rewrite has no kernel, cost or format");
  }
  if (test.expects_match && ast.because) {
    return diags.error(Code::SyntaxError, ast.because->span, "a `test ok` has no reason: `because` is for `test no`");
  }
  if (!test.expects_match && !ast.expectations.empty()) {
    return diags.error(Code::SyntaxError, ast.expectations[0].span,
                       "what does not match has no kernel, cost or format");
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
  for (const syntax::ExpectationAst& expected : ast.expectations) {
    auto built = build_expectation(expected, rule, diags);
    ok = ok && built;
    if (built) test.expectations.push_back(std::move(*built));
  }
  if (ast.because && ast.because->text.empty()) {
    diags.warning(Code::UntestedRule, ast.because->span, "this reason is part of every message")
        .note("name what is refused: `because \"channels\"`");
  }
  if (ast.because) test.because = ast.because->text;
  if (!ok) return std::nullopt;
  return test;
}

}  // namespace collage::sema
