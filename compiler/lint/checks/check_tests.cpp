// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "compiler/lint/checks/checks.h"
#include "compiler/lint/checks/families.h"

namespace collage::lint {

void check_tests(const ir::RuleSet& rules, support::Diagnostics& diags) {
  using support::Code;
  for (const ir::Backend& backend : rules.backends) {
    for (const ir::Rewrite& rewrite : backend.rewrites) {
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
