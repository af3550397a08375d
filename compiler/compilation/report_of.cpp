// SPDX-License-Identifier: Apache-2.0
#include "compiler/compilation/report_of.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/place/evaluate/evaluate.h"
#include "compiler/report/candidate_stats.h"
#include "compiler/report/explain/frequent_refusals.h"
#include "compiler/report/simulated.h"
#include "compiler/search/binding_limits.h"
#include "compiler/search/placement_search.h"
#include "runtime/core/joined.h"
#include "runtime/core/text.h"
#include "runtime/support/check.h"
#include "runtime/support/size_text.h"
#include "runtime/support/source_manager.h"

namespace collage::compilation {
namespace {

/// The evaluator shares nothing with the search.
runtime::Duration evaluated_time(const ir::Graph& graph, const ir::Placement& placement) {
  place::Verdict verdict = place::evaluate(graph, placement);
  COLLAGE_CHECK(std::holds_alternative<place::Cost>(verdict), "the placement does not hold: {}",
                std::get<std::string>(verdict));
  return std::get<place::Cost>(verdict).time();
}

void add_search(const Compilation& compilation, const search::FoundPlacement& found, report::Report& report) {
  report.search_seconds = found.seconds;
  report.value = found.predicted;
  report.bound = found.bound;
  report.optimal = found.optimal;
  report.states = found.states;
  report.is_known = found.is_known;
  report.has_bound = place::is_exact(compilation.strategy());
  const std::atomic<bool>* stop = compilation.listener().stop;
  report.is_stopped = stop != nullptr && *stop;
}

void add_costs(const measure::MeasuringStats& stats, const place::LazyStats& lazy, report::Report& report) {
  report.costs = search::costs_line(stats, lazy);
  report.not_needed = lazy.not_needed;
  report.could_save = lazy.could_save;
  report.measured = stats.measured;
  report.runs = stats.runs;
  report.compiled = stats.compiled;
  report.cached = stats.from_cache;
}

void add_backends(const std::vector<request::Activation>& activations, report::Report& report) {
  size_t rules = 0;
  bool has_host = false;
  for (const request::Activation& activation : activations) {
    const ir::Backend& backend = *activation.active.backend;
    rules += backend.rules.size();
    has_host |= backend.name == "host";
    runtime::add_to_list(report.rule_summary, fmt::format("{} {}", backend.name, backend.rules.size()));
    report.backends.push_back({backend.name,
                               activation.absent,
                               backend.rules.size(),
                               {},
                               is_simulated(backend),
                               activation.is_unnamed_model});
  }
  if (!has_host) report.backends.push_back({"host", "", 0, {}});
  runtime::add_to_list(report.rule_summary, runtime::counted(rules, "rule"), ": ");
}

void add_refusals(const Compilation& compilation, const place::BuiltProblem& built,
                  const support::SourceManager& sources, report::Report& report) {
  const place::ActiveBackends& active = compilation.active();
  for (place::BackendId b : active.ids()) {
    auto row = std::find_if(report.backends.begin(), report.backends.end(),
                            [&](const report::BackendRow& one) { return one.backend == active[b].backend->name; });
    for (const report::FrequentRefusal& refusal :
         report::frequent_refusals(compilation.graph(), active[b], built.backends[b], sources)) {
      row->refused.push_back(to_string(refusal));
    }
  }
}

}  // namespace

report::Report report_of(const Compilation& compilation, const Candidates& candidates, const ir::Placement& placement,
                         const search::FoundPlacement* found, const support::SourceManager& sources) {
  const search::SearchInput input = compilation.search_input(candidates);
  const ir::Graph& graph = compilation.graph();
  report::Report report;
  report.strategy = compilation.settings().strategy;
  if (const codegen::Numerics numerics = compilation.settings().code.numerics; numerics != codegen::Numerics::F32) {
    report.numerics = fmt::format("{}: {}", codegen::row_of(numerics).name, codegen::row_of(numerics).meaning);
  }
  report.rewrites = request::to_string(compilation.rewrites());
  report.predicted = evaluated_time(graph, placement);
  report.objective = compilation.settings().objective;
  report.searched = found != nullptr;
  if (found != nullptr) {
    add_search(compilation, *found, report);
  } else {
    report.value = search::objective_value(input, placement);
  }
  report.candidates = candidates.built.problem.candidates.size();
  report.distinct = report::count_distinct(graph, candidates.built);
  report.truncated = report::count_truncated(candidates.built);
  if (compilation.costs() != nullptr) add_costs(compilation.costs()->stats(), candidates.built.lazy, report);
  add_backends(compilation.activations(), report);
  add_refusals(compilation, candidates.built, sources, report);
  return report;
}

report::Report report_of_other(const Compilation& compilation, const report::Report& report,
                               const std::string& strategy, const search::FoundPlacement& found) {
  report::Report other = report;
  other.strategy = strategy;
  other.predicted = evaluated_time(compilation.graph(), found.placement);
  add_search(compilation, found, other);
  return other;
}

void add_limits(const Compilation& compilation, const Candidates& candidates, const search::FoundPlacement& plan,
                const support::SourceManager& sources, report::Report& report) {
  if (!report.has_bound) return;
  for (const search::BindingLimit& limit : search::binding_limits(compilation.search_input(candidates), plan)) {
    std::string text;
    switch (limit.what.kind) {
      case search::LimitKind::MaxPartitions:
        text = fmt::format("`max partitions {}` of {}", limit.amount, limit.what.of);
        break;
      case search::LimitKind::Memory:
        text = fmt::format("memory {} of {}", support::size_text(static_cast<size_t>(limit.amount)), limit.what.of);
        break;
      case search::LimitKind::Conflicts: text = fmt::format("`conflicts with` of {}", limit.what.of); break;
    }
    if (const std::string where = location_text(limit.span, sources); !where.empty()) text += " (" + where + ")";
    report.limits.emplace_back(text, limit.gain);
  }
}

void add_baselines(const Compilation& compilation, const Candidates& candidates, report::Report& report) {
  if (!report.has_bound || compilation.active().empty()) return;
  report.baselines = search::costs_without_search(compilation.search_input(candidates));
}

}  // namespace collage::compilation
