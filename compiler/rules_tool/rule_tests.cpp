// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/rule_tests.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/match/matcher.h"
#include "compiler/rules_tool/expectations.h"
#include "compiler/rules_tool/semantics_tests.h"
#include "compiler/sema/model/rule_test_model.h"
#include "runtime/core/joined.h"

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
      report.keeps_all = !test.expects_match && !test.nodes.empty();
      for (match::Match& match : match::match_rule(graph_, backend_, static_cast<int>(member), {}, &report)) {
        matches_.push_back(std::move(match));
      }
      for (match::Refusal& refusal : report.refusals) refusals_.push_back(std::move(refusal));
    }
    sort_by_progress(&refusals_);
  }

  bool run() {
    for (const std::string& name : test_.nodes) {
      ir::NodeId node = graph_.find_node(name);
      if (!node.is_valid()) {
        return diags_.error(Code::RuleTestFailed, test_.span, "the test's model has no node `%{}`", name);
      }
      wanted_.push_back(node);
    }
    std::sort(wanted_.begin(), wanted_.end());
    wanted_.erase(std::unique(wanted_.begin(), wanted_.end()), wanted_.end());
    if (test_.expects_match) return expect_match(wanted_);
    return wanted_.empty() ? expect_refusal() : expect_refusal_of(wanted_);
  }

  const std::vector<match::Match>& matches() const { return matches_; }
  const std::vector<match::Refusal>& refusals() const { return refusals_; }
  /// The nodes that the test names.
  const std::vector<ir::NodeId>& wanted() const { return wanted_; }

 private:
  bool expect_match(const std::vector<ir::NodeId>& wanted) {
    std::vector<const match::Match*> found;
    for (const match::Match& match : matches_) {
      if (match.nodes == wanted) found.push_back(&match);
    }
    if (!found.empty()) return expect_of(found);
    auto error =
        diags_.error(Code::RuleTestFailed, test_.span, "no match has exactly the nodes {}", node_list(graph_, wanted));
    for (const match::Match& match : matches_) error.note("it matches {}", node_list(graph_, match.nodes));
    explain(error);
    return false;
  }

  /// One of the matches is all that the test says.
  bool expect_of(const std::vector<const match::Match*>& found) {
    std::vector<std::pair<const ir::Expectation*, std::string>> wrong;
    for (const match::Match* match : found) {
      wrong.clear();
      for (const ir::Expectation& expected : test_.expectations) {
        std::string instead = found_instead(graph_, backend_, *match, expected);
        if (!instead.empty()) wrong.emplace_back(&expected, std::move(instead));
      }
      if (wrong.empty()) return true;
    }
    for (const auto& [expected, instead] : wrong) {
      auto error = diags_.error(Code::RuleTestFailed, expected->span, "{}", instead);
      if (found.size() > 1) error.note("the rule has {} matches of these nodes, this is the last", found.size());
    }
    return false;
  }

  /// These nodes do not match, whatever fewer or others do.
  bool expect_refusal_of(const std::vector<ir::NodeId>& wanted) {
    auto is_wanted = [&](const auto& found) { return found.nodes == wanted; };
    if (std::any_of(matches_.begin(), matches_.end(), is_wanted)) {
      return diags_.error(Code::RuleTestFailed, test_.span, "the rule matches {}", node_list(graph_, wanted));
    }
    // A pattern that does not fit has no nodes yet but its root.
    if (std::any_of(refusals_.begin(), refusals_.end(), is_wanted)) {
      std::erase_if(refusals_, [&](const match::Refusal& refusal) { return !is_wanted(refusal); });
    } else {
      std::erase_if(refusals_, [&](const match::Refusal& refusal) {
        return !std::binary_search(wanted.begin(), wanted.end(), refusal.root);
      });
    }
    bool is_told = std::any_of(refusals_.begin(), refusals_.end(), [&](const match::Refusal& refusal) {
      return refusal.message.find(test_.because) != std::string::npos;
    });
    constexpr std::string_view kNoDerivation = "the pattern does not have these nodes";
    if (is_told || (refusals_.empty() && kNoDerivation.find(test_.because) != std::string_view::npos)) return true;
    auto error = diags_.error(Code::RuleTestFailed, test_.span, "{} does not match, but not because \"{}\"",
                              node_list(graph_, wanted), test_.because);
    if (refusals_.empty()) error.note("{}", kNoDerivation);
    explain(error);
    return false;
  }

  bool expect_refusal() {
    if (!matches_.empty()) {
      auto error =
          diags_.error(Code::RuleTestFailed, test_.span, "the rule matches {}", node_list(graph_, matches_[0].nodes));
      if (matches_[0].nodes.size() < graph_.node_count())
        error.note("where fewer nodes may match, name those that may not: `-> {{%c, %y}} because \"…\"`");
      return false;
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
  std::vector<ir::NodeId> wanted_;
  std::vector<match::Match> matches_;
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

void RuleTestOutcome::add(TestResult result) {
  ++(result.passed ? passed : failed);
  tests.push_back(std::move(result));
}

TestResult result_of(const ir::RuleTest& test, Diagnostics& diags, const std::function<bool()>& run) {
  const size_t before = diags.records().size();
  TestResult result{test.span, test.expects_match, run(), ""};
  for (size_t i = before; i < diags.records().size(); ++i) {
    const support::DiagnosticRecord& record = diags.records()[i];
    runtime::add_to_list(result.message, record.message, "\n");
    for (const support::Note& note : record.notes) result.message += "\n" + note.message;
  }
  return result;
}

bool RuleTests::holds(size_t index, const ir::Backend& backend, Diagnostics& diags, RuleTestOutcome* outcome) const {
  const std::optional<ir::Graph>& model = models_[index];
  if (!model) return false;
  const ir::RuleTest& test = backend.rules[first_].tests[index];
  TestRun run(backend, first_, end_, test, *model, diags);
  bool holds = run.run();
  if (outcome == nullptr) return holds;
  for (const match::Match& match : run.matches()) outcome->kernels.insert({match.rule, match.kernel});
  for (const match::Refusal& refusal : run.refusals()) {
    if (refusal.kind == match::Refusal::Kind::Denied) outcome->denials.insert(refusal.span.begin);
  }
  if (holds && test.expects_match) return lowerings_hold(*model, backend, first_, end_, test, run.wanted(), diags);
  return holds;
}

RuleTestOutcome RuleTests::run(const ir::Backend& backend, Diagnostics& diags) const {
  RuleTestOutcome outcome{backend.name, backend.rules[first_].family};
  for (size_t i = 0; i < models_.size(); ++i) {
    outcome.add(result_of(backend.rules[first_].tests[i], diags, [&] { return holds(i, backend, diags, &outcome); }));
    if (!models_[i]) outcome.tests.back().message = "the model of this test is malformed";
  }
  return outcome;
}

void check_test_models(support::SourceManager& sources, const ir::RuleSet& rules, Diagnostics& diags) {
  const auto check = [&](const std::string& owner, const ir::Rule& rule) {
    for (const ir::RuleTest& test : rule.tests) {
      const std::optional<ir::Graph> graph = sema::build_test_model(sources, owner, test, diags);
      if (!graph) continue;
      for (const std::string& name : test.nodes) {
        if (graph->find_node(name).is_valid()) continue;
        diags.error(Code::RuleTestFailed, test.span, "the test's model has no node `%{}`", name);
      }
    }
  };
  for (const ir::Backend& backend : rules.backends) {
    for (const ir::Rewrite& rewrite : backend.rewrites) check("rewrite " + rewrite.name, rewrite.from);
    std::string last;  // members of a family have the same tests, and stand together
    for (const ir::Rule& rule : backend.rules) {
      if (rule.family != last) check("rule " + rule.family, rule);
      last = rule.family;
    }
  }
}

bool passes(const RuleFilter& filter, const std::string& name) {
  return filter.empty() || std::find(filter.begin(), filter.end(), name) != filter.end();
}

std::vector<RuleTestOutcome> run_rule_tests(support::SourceManager& sources, const ir::RuleSet& rules,
                                            const RuleFilter& filter, Diagnostics& diags) {
  std::vector<RuleTestOutcome> outcomes;
  for (const ir::Backend& backend : rules.backends) {
    for (size_t first = 0; first < backend.rules.size();) {
      const ir::Rule& rule = backend.rules[first];
      if (!passes(filter, rule.family)) {
        ++first;
        continue;
      }
      RuleTests tests(sources, backend, first, diags);
      first = tests.end();
      if (!rule.tests.empty()) outcomes.push_back(tests.run(backend, diags));
    }
  }
  return outcomes;
}

}  // namespace collage::rules_tool
