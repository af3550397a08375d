// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "compiler/lint/checks/checks.h"
#include "compiler/lint/checks/families.h"

namespace collage::lint {

namespace {

/// Does the model's text have `%name`?
bool has_value(std::string_view model, const std::string& name) {
  const std::string word = "%" + name;
  auto is_of_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; };
  for (size_t at = model.find(word); at != std::string_view::npos; at = model.find(word, at + 1)) {
    const size_t end = at + word.size();
    if (end == model.size() || !is_of_name(model[end])) return true;
  }
  return false;
}

void check_inputs(const ir::Rule& rule, support::Diagnostics& diags) {
  for (const ir::RuleTest& test : rule.tests) {
    for (const auto& [name, type] : test.inputs) {
      if (has_value(test.model, name) || test.model.find('"') != std::string::npos) continue;
      diags.warning(support::Code::UnusedName, test.model_span, "the model does not use `%{}`, which `with` declares",
                    name);
    }
  }
}

}  // namespace

void check_tests(const ir::RuleSet& rules, support::Diagnostics& diags) {
  using support::Code;
  for (const ir::Backend& backend : rules.backends) {
    for (const ir::Rewrite& rewrite : backend.rewrites) {
      check_inputs(rewrite.from, diags);
      bool is_run = std::any_of(rewrite.from.tests.begin(), rewrite.from.tests.end(),
                                [](const ir::RuleTest& test) { return test.expects_match; });
      if (is_run) continue;
      diags.warning(Code::UntestedRule, rewrite.span, "rewrite `{}` has no `test ok`", rewrite.name)
          .note("its two sides are compared only on the models of its tests");
    }
    for (const std::vector<int>& family : families_of(backend)) {
      const ir::Rule& rule = backend.rules[static_cast<size_t>(family[0])];
      auto has = [&rule](bool expects) {
        return std::any_of(rule.tests.begin(), rule.tests.end(),
                           [expects](const ir::RuleTest& test) { return test.expects_match == expects; });
      };
      check_inputs(rule, diags);
      if (!has(true)) {
        diags.warning(Code::UntestedRule, rule.span, "rule `{}` has no `test ok`", rule.family);
      }
      if (!rule.clauses.empty() && !has(false)) {
        diags.warning(Code::UntestedRule, rule.span, "rule `{}` refuses some matches and has no `test no`",
                      rule.family);
      }
    }
  }
}

}  // namespace collage::lint
