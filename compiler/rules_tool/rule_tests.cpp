// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/rule_tests.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/match/matcher.h"
#include "compiler/sema/test_model.h"

namespace collage::rules_tool {
namespace {

using support::Code;
using support::Diagnostics;

std::string node_list(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes) {
  std::string text;
  for (ir::NodeId node : nodes) text += (text.empty() ? "%" : ", %") + graph.node_name(node);
  return "{" + text + "}";
}

/// Where an attempt to match came furthest, first: it took most operators, and was refused for more than the operators
/// around it.
void sort_by_progress(std::vector<match::Refusal>* refusals) {
  std::stable_sort(refusals->begin(), refusals->end(), [](const match::Refusal& a, const match::Refusal& b) {
    auto progress = [](const match::Refusal& r) {
      return std::pair(r.kind != match::Refusal::Kind::Structure, r.nodes.size());
    };
    return progress(a) > progress(b);
  });
}

/// A test of a family: all members, one model.
class TestRun {
 public:
  TestRun(const ir::Backend& backend, size_t first, size_t end, const ir::RuleTest& test, const ir::Graph& graph,
          Diagnostics& diags)
      : backend_(backend), test_(test), graph_(graph), diags_(diags) {
    for (size_t member = first; member < end; ++member) {
      match::MatchReport report;
      for (match::Match& match : match::match_rule(graph_, backend_, static_cast<int>(member), {}, &report)) {
        matches_.push_back(std::move(match.nodes));
      }
      for (match::Refusal& refusal : report.refusals) refusals_.push_back(std::move(refusal));
    }
    sort_by_progress(&refusals_);
  }

  bool run() { return test_.expects_match ? expect_match() : expect_refusal(); }

 private:
  bool expect_match() {
    std::vector<ir::NodeId> wanted;
    for (const std::string& name : test_.nodes) {
      ir::NodeId node = graph_.find_node(name);
      if (!node.is_valid()) {
        return diags_.error(Code::RuleTestFailed, test_.span, "the test's model has no node `%{}`", name);
      }
      wanted.push_back(node);
    }
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    if (std::find(matches_.begin(), matches_.end(), wanted) != matches_.end()) return true;
    auto error =
        diags_.error(Code::RuleTestFailed, test_.span, "no match has exactly the nodes {}", node_list(graph_, wanted));
    for (const auto& nodes : matches_) error.note("it matches {}", node_list(graph_, nodes));
    explain(error);
    return false;
  }

  bool expect_refusal() {
    if (!matches_.empty()) {
      return diags_.error(Code::RuleTestFailed, test_.span, "the rule matches {}", node_list(graph_, matches_[0]));
    }
    if (!refusals_.empty() && refusals_[0].message.find(test_.because) != std::string::npos) return true;
    auto error = diags_.error(Code::RuleTestFailed, test_.span, "the rule does not match, but not because \"{}\"",
                              test_.because);
    explain(error);
    return false;
  }

  void explain(support::Diagnostic& error) {
    constexpr size_t kMost = 3;
    std::vector<std::string> reported;
    for (const match::Refusal& refusal : refusals_) {
      std::string text = fmt::format("refused at `%{}`: {}", graph_.node_name(refusal.root), refusal.message);
      if (reported.size() >= kMost || std::find(reported.begin(), reported.end(), text) != reported.end()) continue;
      reported.push_back(text);
      const ir::Rule& rule = backend_.rules[static_cast<size_t>(refusal.rule)];
      support::Span span = refusal.clause >= 0 ? rule.clauses[static_cast<size_t>(refusal.clause)].span : refusal.span;
      error.note(span, "{}", text);
    }
  }

  const ir::Backend& backend_;
  const ir::RuleTest& test_;
  const ir::Graph& graph_;
  Diagnostics& diags_;
  std::vector<std::vector<ir::NodeId>> matches_;
  std::vector<match::Refusal> refusals_;
};

}  // namespace

RuleTests::RuleTests(support::SourceManager& sources, const ir::Backend& backend, size_t first, Diagnostics& diags)
    : first_(first), end_(first) {
  const ir::Rule& rule = backend.rules[first];
  while (end_ < backend.rules.size() && backend.rules[end_].family == rule.family) ++end_;
  for (const ir::RuleTest& test : rule.tests)
    models_.push_back(sema::build_test_model(sources, "rule " + rule.family, test, diags));
}

bool RuleTests::holds(size_t index, const ir::Backend& backend, Diagnostics& diags) const {
  const std::optional<ir::Graph>& model = models_[index];
  return model && TestRun(backend, first_, end_, backend.rules[first_].tests[index], *model, diags).run();
}

RuleTestOutcome RuleTests::run(const ir::Backend& backend, Diagnostics& diags) const {
  RuleTestOutcome outcome{backend.name, backend.rules[first_].family};
  for (size_t i = 0; i < models_.size(); ++i) ++(holds(i, backend, diags) ? outcome.passed : outcome.failed);
  return outcome;
}

std::vector<RuleTestOutcome> run_rule_tests(support::SourceManager& sources, const ir::RuleSet& rules,
                                            Diagnostics& diags) {
  std::vector<RuleTestOutcome> outcomes;
  for (const ir::Backend& backend : rules.backends) {
    for (size_t first = 0; first < backend.rules.size();) {
      RuleTests tests(sources, backend, first, diags);
      first = tests.end();
      if (!backend.rules[tests.first()].tests.empty()) outcomes.push_back(tests.run(backend, diags));
    }
  }
  return outcomes;
}

}  // namespace collage::rules_tool
