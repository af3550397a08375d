// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/model/rule_test_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/sema/model/build_graph.h"
#include "compiler/syntax/parse_model.h"
#include "runtime/core/joined.h"

namespace collage::sema {

using support::Code;
using support::Diagnostics;

namespace {

/// `const` of a test: numbers of both signs, whole ones small enough to be indices, axes or zero points.
std::string constant_text(const ir::TensorType& type) {
  const std::string dtype = to_string(type);
  if (runtime::is_float(type.dtype)) return fmt::format("const random seed 1 : {}", dtype);
  if (type.dtype == ir::DType::Bool) return fmt::format("const splat true : {}", dtype);
  if (type.dtype == ir::DType::I8) return fmt::format("const random seed 1 in [-8, 7] : {}", dtype);
  return fmt::format("const random seed 1 in [0, 1] : {}", dtype);
}

/// The statements of a test, with its free values declared.
std::string model_text(const ir::RuleTest& test) {
  std::string inputs;
  std::string constants;
  for (const auto& [name, type] : test.inputs) {
    bool is_constant = std::find(test.constants.begin(), test.constants.end(), name) != test.constants.end();
    if (is_constant) {
      constants += fmt::format("  %{} = {}\n", name, constant_text(type));
    } else {
      runtime::add_to_list(inputs, fmt::format("%{}: {}", name, to_string(type)));
    }
  }
  return fmt::format("model @test({}) -> () {{\n{}{}\n}}\n", inputs, constants, test.model);
}

}  // namespace

std::optional<ir::Graph> build_test_model(support::SourceManager& sources, const std::string& owner,
                                          const ir::RuleTest& test, Diagnostics& diags) {
  support::FileId file = sources.add(fmt::format("<test of {}>", owner), model_text(test));
  // Separate diagnostics: mistakes in the model become notes of the test's failure.
  Diagnostics inner(sources);
  auto ast = syntax::parse_model(sources, file, inner);
  std::optional<Model> model;
  if (ast) {
    ast->implicit_outputs = true;
    model = build_graph(*ast, "", inner);
  }
  if (model && !inner.has_errors()) return std::move(model->graph);
  auto error = diags.error(Code::RuleTestFailed, test.model_span, "the model of this test is malformed");
  for (const support::DiagnosticRecord& record : inner.records()) {
    if (record.severity == support::Severity::Error) error.note(record.span, "{}", record.message);
  }
  return std::nullopt;
}

}  // namespace collage::sema
