// SPDX-License-Identifier: Apache-2.0
// Rule files -> syntax tree -> rule set, with all that `collage-rules check` looks at: refused with a message, or
// accepted without an error. What parses is formatted, too.
#include <cstdint>

#include "compiler/lint/lint.h"
#include "compiler/rules_tool/format.h"
#include "compiler/rules_tool/outline.h"
#include "compiler/sema/rules/build_rules.h"
#include "compiler/syntax/parse_rules.h"
#include "runtime/support/check.h"
#include "tests/fuzz/check_input.h"

namespace collage::fuzz {
namespace {

/// What the formatter writes has the same tokens (it looks itself), and stays as it is the second time.
void check_format(support::SourceManager& sources, support::FileId file) {
  std::string once = rules_tool::format_rules(sources, file);
  std::string twice = rules_tool::format_rules(sources, sources.add("formatted.rules", once));
  COLLAGE_CHECK(once == twice, "formatting twice differs:\n{}\n{}", once, twice);
}

void check(const std::string& text) {
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  support::FileId file = sources.add("input.rules", text);
  auto ast = syntax::parse_rules(sources, file, diags);
  expect_told(ast.has_value(), diags);
  rules_tool::outline(sources, file);  // of broken files too
  if (!ast) return;
  check_format(sources, file);
  ir::RuleSet rules;
  bool built = sema::build_rules(*ast, sources, file, rules, diags);
  expect_told(built, diags);
  built = sema::check_rule_set(rules, diags) && built;
  expect_told(built, diags);
  lint::lint(rules, diags);
  expect_told(built, diags);
}

}  // namespace
}  // namespace collage::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  collage::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
