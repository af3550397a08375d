// SPDX-License-Identifier: Apache-2.0
#include "compiler/lint/models/meaning_search.h"

#include <algorithm>

#include "compiler/lint/models/compare_meaning.h"
#include "compiler/lint/models/example_models.h"
#include "compiler/lint/models/rebuild.h"

namespace collage::lint {
namespace {

/// Both run on the reference kernels: what would take long is left out.
constexpr double kMostMacs = 1e6;
constexpr int64_t kMostElementsOfValue = 1 << 18;
constexpr int kMadeModels = 24;
/// Models of which others with other attributes are made.
constexpr int kMostBeside = 4;

bool is_small(const ir::Graph& graph) {
  if (match::quantities_of(graph, graph.node_ids()).macs > kMostMacs) return false;
  const std::vector<ir::ValueId> values = graph.value_ids();
  return std::all_of(values.begin(), values.end(), [&](ir::ValueId value) {
    return runtime::element_count(graph.value(value).type.shape) <= kMostElementsOfValue;
  });
}

class MeaningSearch {
 public:
  MeaningSearch(const ir::Backend& backend, const ir::Rule& rule, const ir::Kernel& kernel) : alone_(backend) {
    alone_.rewrites.clear();
    alone_.rules = {rule};
    alone_.rules[0].kernels = {kernel};
  }

  std::optional<MeaningMisfit> run() {
    for (const ir::RuleTest& test : alone_.rules[0].tests) {
      const std::optional<ir::Graph> graph = test.expects_match ? graph_of_test(test) : std::nullopt;
      if (graph && look_at(*graph)) return std::move(found_);
    }
    search_models(alone_, 0, kMadeModels, [&](const ir::Graph& graph) { return look_at(graph); });
    return std::move(found_);
  }

 private:
  bool look_at(const ir::Graph& graph) {
    if (differs_on(graph, Constants::OfEachParameter)) return true;
    if (!has_match_ || beside_ == kMostBeside) return false;
    ++beside_;
    const std::vector<ir::Graph> others = with_other_attributes(graph);
    return std::any_of(others.begin(), others.end(),
                       [&](const ir::Graph& other) { return differs_on(other, Constants::AsWritten); });
  }

  bool differs_on(const ir::Graph& graph, Constants constants) {
    has_match_ = false;
    if (!is_small(graph)) return false;
    match::MatchReport report;
    const std::vector<match::Match> matches = match::match_rule(graph, alone_, 0, {}, &report);
    if (!report.denied.empty()) return false;
    has_match_ = !matches.empty();
    const support::Span lowering = alone_.rules[0].kernels[0].lowering.span;
    for (const match::Refusal& refusal : report.refusals) {
      // What the rule admits, and the semantics do not: no `where` says so.
      const bool is_misfit = refusal.kind == match::Refusal::Kind::Lowering && refusal.span == lowering;
      if (is_misfit) found_ = MeaningMisfit{graph, refusal.message};
    }
    for (const match::Match& match : matches) {
      const auto found = found_ ? std::nullopt : meaning_difference(graph, alone_, 0, match.nodes, constants);
      if (found && found->runs) found_ = MeaningMisfit{graph, found->message};
    }
    return found_.has_value();
  }

  ir::Backend alone_;
  std::optional<MeaningMisfit> found_;
  bool has_match_ = false;  ///< in the last model
  int beside_ = 0;
};

}  // namespace

std::optional<MeaningMisfit> find_meaning_misfit(const ir::Backend& backend, const ir::Rule& rule,
                                                 const ir::Kernel& kernel) {
  return MeaningSearch(backend, rule, kernel).run();
}

}  // namespace collage::lint
