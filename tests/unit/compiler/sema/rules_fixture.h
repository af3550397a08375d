// SPDX-License-Identifier: Apache-2.0
// Text of rule files in, trees or rule sets out.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "compiler/sema/rules/build_rules.h"
#include "compiler/syntax/parse_rules.h"

namespace collage {

struct RulesFixture : ::testing::Test {
  support::SourceManager sources;
  support::Diagnostics diags{sources};

  std::optional<syntax::RulesAst> parse(const std::string& text) {
    return syntax::parse_rules(sources, sources.add("test.rules", text), diags);
  }

  std::optional<ir::RuleSet> build(const std::string& text) {
    support::FileId file = sources.add("test.rules", text);
    auto ast = syntax::parse_rules(sources, file, diags);
    ir::RuleSet rules;
    if (!ast || !sema::build_rules(*ast, sources, file, rules, diags)) return std::nullopt;
    if (!sema::check_rule_set(rules, diags)) return std::nullopt;
    return rules;
  }

  /// One rule of a backend in host memory.
  std::optional<ir::Rule> build_rule(const std::string& body) {
    auto rules = build("rules 1 backend a { attr lanes: int = 8 runtime host_jit rule r { " + body + " } }");
    if (!rules) return std::nullopt;
    return rules->backends.at(0).rules.at(0);
  }
};

}  // namespace collage
