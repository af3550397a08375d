// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/lsp/missing_tests.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/rules_tool/make_test.h"

namespace collage::rules_tool::lsp {
namespace {

/// The rule or rewrite that starts on the line of `offset`, or holds it; null if there is none.
const Statement* tested_at(const Document& document, uint32_t offset) {
  for (const Statement* statement : statements_at(document.statements(), offset)) {
    const bool can_have_tests = statement->head == "rule" || statement->head == "rewrite";
    if (can_have_tests && statement->name() != nullptr) return statement;
  }
  return nullptr;
}

bool has_inner(const Statement& statement, std::string_view head, std::string_view word) {
  return std::any_of(statement.inner.begin(), statement.inner.end(), [&](const Statement& inner) {
    return inner.head == head && (word.empty() || (inner.tokens.size() > 1 && inner.tokens[1].is(word)));
  });
}

/// Blanks at the start of the line that holds `offset`.
std::string indent_at(std::string_view text, uint32_t offset) {
  const size_t before = text.substr(0, offset).rfind('\n');
  const size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const size_t end = std::min(text.find_first_not_of(" \t", begin), static_cast<size_t>(offset));
  return std::string(text.substr(begin, end - begin));
}

/// The test as a line after what the statement holds, or, of a rewrite, after it.
Edit insertion(const Document& document, const Statement& statement, const std::string& test) {
  std::string indent = indent_at(document.text(), statement.span.begin) + "  ";
  uint32_t at = statement.span.end;
  if (statement.has_block) {
    const bool is_empty = statement.inner.empty();
    at = is_empty ? statement.span.end - 1 : statement.inner.back().span.end;
    if (!is_empty) indent = indent_at(document.text(), statement.inner.back().span.begin);
  }
  return {{statement.span.file, at, at}, "\n" + indent + test};
}

std::optional<std::string> made_test(const Document& document, const Statement& statement, std::string_view backend,
                                     bool expects_match) {
  support::Diagnostics diags(document.sources());
  const std::optional<ir::RuleSet> rules = document.rules(diags);
  if (!rules) return std::nullopt;
  const std::string name(statement.name()->text);
  for (const ir::Backend& each : rules->backends) {
    if (each.name != backend) continue;
    for (size_t i = 0; i < each.rules.size(); ++i) {
      if (statement.head == "rule" && each.rules[i].family == name)
        return make_rule_test(document.sources(), each, i, expects_match);
    }
    for (const ir::Rewrite& rewrite : each.rewrites) {
      if (statement.head == "rewrite" && rewrite.name == name)
        return make_rewrite_test(document.sources(), each, rewrite);
    }
  }
  return std::nullopt;
}

}  // namespace

Json missing_tests(const Document& document, uint32_t offset) {
  Json actions = Json::array();
  const Statement* statement = tested_at(document, offset);
  if (statement == nullptr || offset > statement->name()->span.end) return actions;
  const auto offer = [&](const char* kind) {
    actions.push_back(
        {{"title", fmt::format("Add a `test {}` of {} `{}`", kind, statement->head, statement->name()->text)},
         {"kind", "quickfix"},
         {"data",
          {{"uri", document.uri()},
           {"offset", statement->span.begin},
           {"name", std::string(statement->name()->text)},
           {"test", kind}}}});
  };
  if (!has_inner(*statement, "test", "ok")) offer("ok");
  const bool refuses = statement->head == "rule" && has_inner(*statement, "where", "");
  if (refuses && !has_inner(*statement, "test", "no")) offer("no");
  return actions;
}

std::vector<Edit> missing_test_edit(const Document& document, const Json& data) {
  const auto offset = data.at("offset").get<uint32_t>();
  const std::string kind = data.at("test").get<std::string>();
  const Statement* statement = tested_at(document, offset);
  // The text may have changed since the action was offered.
  const bool is_meant = statement != nullptr && statement->name()->is(data.at("name").get<std::string>());
  if (!is_meant) return {};
  std::string_view backend;
  for (const Statement* around : statements_at(document.statements(), offset)) {
    if (around->head == "backend" && around->name() != nullptr) backend = around->name()->text;
  }
  const std::optional<std::string> test = made_test(document, *statement, backend, kind == "ok");
  if (!test) return {};
  return {insertion(document, *statement, *test)};
}

}  // namespace collage::rules_tool::lsp
