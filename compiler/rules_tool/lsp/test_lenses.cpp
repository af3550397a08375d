// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/lsp/test_lenses.h"

#include "compiler/rules_tool/rewrite_tests.h"
#include "compiler/rules_tool/rule_tests.h"
#include "runtime/core/text.h"

namespace collage::rules_tool::lsp {
namespace {

class LensWriter {
 public:
  explicit LensWriter(const Document& document) : document_(document), positions_(document.text()) {}

  Json run() {
    visit(document_.statements());
    return std::move(lenses_);
  }

 private:
  void visit(const std::vector<Statement>& statements) {
    for (const Statement& statement : statements) {
      const bool can_have_tests = statement.head == "rule" || statement.head == "rewrite";
      if (can_have_tests && statement.name() != nullptr) {
        add_tests(statement);
      } else {
        visit(statement.inner);
      }
    }
  }

  void add_tests(const Statement& statement) {
    std::vector<const Statement*> tests;
    for (const Statement& inner : statement.inner) {
      if (inner.head == "test") tests.push_back(&inner);
    }
    if (tests.empty()) return;
    const std::string title = "Run " + runtime::counted(tests.size(), "test");
    Json which = {{"uri", document_.uri()}, {"rule", std::string(statement.name()->text)}};
    add(title, statement.name()->span, which);
    for (const Statement* test : tests) {
      which["line"] = positions_.line_of(test->span.begin);
      add("Run test", test->tokens.front().span, which);
    }
  }

  void add(const std::string& title, const support::Span& span, const Json& which) {
    lenses_.push_back({{"range", positions_.range(span)},
                       {"command", {{"title", title}, {"command", kRunTests}, {"arguments", Json::array({which})}}}});
  }

  const Document& document_;
  Positions positions_;
  Json lenses_ = Json::array();
};

}  // namespace

Json test_lenses(const Document& document) {
  return LensWriter(document).run();
}

std::optional<Json> run_tests(const Document& document, const Json& which) {
  support::SourceManager& sources = document.sources();
  support::Diagnostics diags(sources);
  const std::optional<ir::RuleSet> rules = document.rules(diags);
  if (!rules) return std::nullopt;
  RuleFilter filter;
  if (which.contains("rule")) filter.push_back(which.at("rule").get<std::string>());
  const auto is_wanted = [&](uint32_t line) {
    return !which.contains("line") || which.at("line").get<uint32_t>() == line;
  };
  std::vector<RuleTestOutcome> outcomes = run_rule_tests(sources, *rules, filter, diags);
  for (RuleTestOutcome& outcome : run_rewrite_tests(sources, *rules, filter, diags))
    outcomes.push_back(std::move(outcome));
  const Positions positions(document.text());
  Json tests = Json::array();
  int passed = 0;
  int failed = 0;
  for (const RuleTestOutcome& outcome : outcomes) {
    for (const TestResult& result : outcome.tests) {
      if (result.span.file != document.file() || !is_wanted(positions.line_of(result.span.begin))) continue;
      ++(result.passed ? passed : failed);
      tests.push_back({{"backend", outcome.backend},
                       {"rule", outcome.rule},
                       {"range", positions.range(result.span)},
                       {"kind", result.expects_match ? "ok" : "no"},
                       {"passed", result.passed},
                       {"message", result.message}});
    }
  }
  return Json{{"passed", passed}, {"failed", failed}, {"tests", std::move(tests)}};
}

}  // namespace collage::rules_tool::lsp
