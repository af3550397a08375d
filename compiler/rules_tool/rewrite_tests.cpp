// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/rewrite_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/lint/models/rebuild.h"
#include "compiler/lint/models/trials.h"
#include "compiler/match/rewrite.h"
#include "compiler/sema/model/rule_test_model.h"
#include "runtime/core/element.h"

namespace collage::rules_tool {
namespace {

using ir::Tensor;
using lint::kTrials;
using lint::random_tensor;
using lint::Trial;
using support::Code;
using support::Diagnostics;

class RewriteTestRun {
 public:
  RewriteTestRun(const ir::Backend& backend, const ir::Rewrite& rewrite, const ir::RuleTest& test, Diagnostics& diags)
      : backend_(backend), rewrite_(rewrite), test_(test), diags_(diags) {}

  bool run(const ir::Graph& graph) {
    ir::Graph rewritten = graph;
    match::RewriteReport report;
    bool applies = match::apply_rewrite(rewritten, backend_, rewrite_, {}, &report);
    if (applies && !test_.expects_match) {
      return diags_.error(Code::RuleTestFailed, test_.span, "the rewrite applies to this model");
    }
    if (applies) return matches_nodes(graph) && computes_the_same(graph) && computes_the_same_in_other_sizes(graph);
    std::vector<std::string> reasons;
    for (const match::Refusal& refusal : report.refusals) reasons.push_back(refusal.message);
    match::MatchReport matching;
    match::match_rule(graph, match::left_side_alone(backend_, rewrite_), 0, {}, &matching);
    for (const match::Refusal& refusal : matching.refusals) reasons.push_back(refusal.message);
    bool is_told = std::any_of(reasons.begin(), reasons.end(), [&](const std::string& reason) {
      return reason.find(test_.because) != std::string::npos;
    });
    if (!test_.expects_match && is_told) return true;
    auto error = test_.expects_match
                     ? diags_.error(Code::RuleTestFailed, test_.span, "the rewrite does not apply")
                     : diags_.error(Code::RuleTestFailed, test_.span,
                                    "the rewrite does not apply, but not because \"{}\"", test_.because);
    for (const std::string& reason : reasons) error.note("{}", reason);
    return false;
  }

 private:
  /// `-> {%c, %y}`, where it stands.
  bool matches_nodes(const ir::Graph& graph) {
    if (test_.nodes.empty()) return true;
    std::vector<ir::NodeId> wanted;
    for (const std::string& name : test_.nodes) {
      wanted.push_back(graph.find_node(name));
      if (wanted.back().is_valid()) continue;
      return diags_.error(Code::RuleTestFailed, test_.span, "the test's model has no node `%{}`", name);
    }
    std::sort(wanted.begin(), wanted.end());
    for (const match::Match& match :
         match::match_rule(graph, match::left_side_alone(backend_, rewrite_), 0, {}, nullptr)) {
      if (match.nodes == wanted) return true;
    }
    return diags_.error(Code::RuleTestFailed, test_.span, "the rewrite applies, but to other nodes");
  }

  bool computes_the_same(const ir::Graph& graph) {
    for (const Trial& trial : kTrials) {
      std::mt19937_64 random(1);
      ir::Graph left = graph;
      if (trial.changes_constants) lint::change_constants(left, trial, random);
      if (!is_same_on(left, trial, random, "")) return false;
    }
    return computes_the_same_for_others(graph);
  }

  /// What holds for one size may not hold for its neighbours: for odd ones, and not for even ones.
  bool computes_the_same_in_other_sizes(const ir::Graph& graph) {
    for (const ir::Graph& other : lint::with_other_sizes(graph)) {
      const std::string note =
          fmt::format("where {}, which the rewrite takes too", lint::changed_types_text(graph, other));
      for (const Trial& trial : {kTrials[0], kTrials[1]}) {
        std::mt19937_64 random(1);
        if (!is_same_on(other, trial, random, note)) return false;
      }
    }
    return true;
  }

  /// Gives each captured constant that the test writes as a number other numbers: those of the `when` and their
  /// neighbours.
  bool computes_the_same_for_others(const ir::Graph& graph) {
    std::vector<double> samples = {0, 1, 2, 3, -1, 0.5};
    for (const ir::Clause& clause : rewrite_.from.clauses) collect_numbers(clause.condition, &samples);
    for (ir::ValueId id : written_constants(graph)) {
      for (double sample : samples) {
        const ir::Value& value = graph.value(id);
        if (!runtime::is_float(value.type.dtype) || !runtime::holds(value.type.dtype, sample)) continue;
        ir::Graph left = graph;
        Tensor tensor(value.type.dtype, value.type.shape);
        for (int64_t i = 0; i < tensor.count(); ++i) runtime::set_element(tensor.view(), i, sample);
        left.value(id).constant = ir::make_constant(std::move(tensor));
        if (!lint::has_inferred_types(left)) continue;
        std::mt19937_64 random(1);
        std::string note =
            fmt::format("where the constant `%{}` is {:g}, which the rewrite takes too", value.name, sample);
        if (!is_same_on(left, kTrials[0], random, note)) return false;
      }
    }
    return true;
  }

  static void collect_numbers(const ir::Expr& expr, std::vector<double>* samples) {
    if (expr.kind == ir::Expr::Kind::Number && expr.unit == ir::Unit::None) {
      for (double sample : {expr.number, expr.number + 1, expr.number - 1, expr.number / 2, -expr.number}) {
        if (std::find(samples->begin(), samples->end(), sample) == samples->end()) samples->push_back(sample);
      }
    }
    for (const ir::Expr& arg : expr.args) collect_numbers(arg, samples);
  }

  /// Constants that the left side names and the test's model writes out.
  std::vector<ir::ValueId> written_constants(const ir::Graph& graph) const {
    std::vector<ir::ValueId> found;
    for (const match::Match& match :
         match::match_rule(graph, match::left_side_alone(backend_, rewrite_), 0, {}, nullptr)) {
      for (const ir::Binding& binding : match.bindings) {
        if (!binding.value.is_valid()) continue;
        const ir::Value& value = graph.value(binding.value);
        bool is_written = value.is_constant() && value.constant->form != ir::Constant::Form::Random;
        if (is_written && std::find(found.begin(), found.end(), binding.value) == found.end())
          found.push_back(binding.value);
      }
    }
    return found;
  }

  /// True where both sides compute the same, or the rewrite does not apply: the condition may depend on the constants.
  bool is_same_on(const ir::Graph& left, const Trial& trial, std::mt19937_64& random, const std::string& note) {
    ir::Graph right = left;
    if (!match::apply_rewrite(right, backend_, rewrite_, {})) return true;
    std::vector<Tensor> inputs;
    for (ir::ValueId input : left.inputs()) inputs.push_back(random_tensor(left.value(input).type, trial, random));
    auto wanted = ir::evaluate_graph(left, inputs);
    auto got = ir::evaluate_graph(right, inputs);
    if (!wanted || !got) {
      return diags_.error(Code::RuleTestFailed, test_.span, "the {} side does not run: {}", wanted ? "right" : "left",
                          wanted ? got.message() : wanted.message());
    }
    return compare(left, *wanted, *got, trial, note);
  }

  bool compare(const ir::Graph& graph, const std::vector<Tensor>& wanted, const std::vector<Tensor>& got,
               const Trial& trial, const std::string& note) {
    for (size_t i = 0; i < wanted.size(); ++i) {
      int64_t at = lint::first_difference(wanted[i], got[i]);
      if (at < 0) continue;
      auto error = diags_.error(Code::RewriteDiffers, test_.span,
                                "the two sides of `{}` differ: `%{}`{} is {}, and {} by the right side", rewrite_.name,
                                graph.value(graph.outputs()[i]).name, lint::indices(wanted[i].shape(), at),
                                lint::element_text(wanted[i], at), lint::element_text(got[i], at));
      error.note("where inputs and constants are {}", trial.what);
      if (!note.empty()) error.note("{}", note);
      return false;
    }
    return true;
  }

  const ir::Backend& backend_;
  const ir::Rewrite& rewrite_;
  const ir::RuleTest& test_;
  Diagnostics& diags_;
};

}  // namespace

RuleTestOutcome test_rewrite(support::SourceManager& sources, const ir::Backend& backend, const ir::Rewrite& rewrite,
                             Diagnostics& diags) {
  RuleTestOutcome outcome{backend.name, "rewrite " + rewrite.name};
  for (const ir::RuleTest& test : rewrite.from.tests) {
    outcome.add(result_of(test, diags, [&] {
      std::optional<ir::Graph> graph = sema::build_test_model(sources, "rewrite " + rewrite.name, test, diags);
      return graph && RewriteTestRun(backend, rewrite, test, diags).run(*graph);
    }));
  }
  return outcome;
}

std::vector<RuleTestOutcome> run_rewrite_tests(support::SourceManager& sources, const ir::RuleSet& rules,
                                               const RuleFilter& filter, Diagnostics& diags) {
  std::vector<RuleTestOutcome> outcomes;
  for (const ir::Backend& backend : rules.backends) {
    for (const ir::Rewrite& rewrite : backend.rewrites) {
      if (rewrite.from.tests.empty() || !passes(filter, rewrite.name)) continue;
      outcomes.push_back(test_rewrite(sources, backend, rewrite, diags));
    }
  }
  return outcomes;
}

}  // namespace collage::rules_tool
