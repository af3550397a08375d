// SPDX-License-Identifier: Apache-2.0
// Rule files -> syntax tree -> rule set, with all that `collage-rules check` looks at: refused with a message, or
// accepted without an error.
#include <cstdint>

#include "compiler/sema/build_rules.h"
#include "compiler/syntax/parse_rules.h"
#include "tests/fuzz/check_input.h"

namespace collage::fuzz {
namespace {

void check(const std::string& text) {
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  support::FileId file = sources.add("input.rules", text);
  auto ast = syntax::parse_rules(sources, file, diags);
  expect_told(ast.has_value(), diags);
  if (!ast) return;
  ir::RuleSet rules;
  bool built = sema::build_rules(*ast, sources, file, rules, diags);
  expect_told(built, diags);
  built = sema::check_rule_set(rules, diags) && built;
  expect_told(built, diags);
  sema::lint_rules(rules, diags);
  expect_told(built, diags);
}

}  // namespace
}  // namespace collage::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  collage::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
