// SPDX-License-Identifier: Apache-2.0
// The order of the steps: owners and values; candidates per backend and instance, and those of the implicit host;
// written and offered partitions, pins and constraints; measured costs (of what is left); conversions and memory (last:
// they depend on the formats that candidates use).
#include "compiler/place/build/problem_builder.h"

#include "compiler/place/build/conversions.h"
#include "compiler/place/build/host_candidates.h"
#include "compiler/place/build/instance_candidates.h"
#include "compiler/place/build/isolated_matches.h"
#include "compiler/place/build/measure_candidates.h"
#include "compiler/place/build/measure_conversions.h"
#include "compiler/place/build/measure_lazily.h"
#include "compiler/place/build/memory.h"
#include "compiler/place/build/owners.h"
#include "compiler/place/build/pins.h"
#include "compiler/place/build/user_constraints.h"
#include "compiler/place/build/values.h"
#include "compiler/place/build/written_partitions.h"

namespace collage::place {

ProblemBuilder::ProblemBuilder(const ir::Graph& graph, const ir::RuleSet& registered, const ActiveBackends& backends,
                               const BuildOptions& options, support::Diagnostics& diags)
    : graph(graph),
      registered(registered),
      backends(backends),
      options(options),
      diags(diags),
      layouts(layouts_in_play(backends)) {
  built.links = std::make_shared<const FormatGraph>(backends, registered);
  built.problem.node_count = graph.node_count();
  built.problem.host_plain = intern_format(ir::kHostPlain, &built.problem.formats);
}

std::optional<BuiltProblem> ProblemBuilder::run() {
  if (!add_all_candidates() || !measure()) return std::nullopt;
  return std::move(built);
}

bool ProblemBuilder::add_all_candidates() {
  add_values(graph, &built);
  add_owners(backends, registered.cluster.get(), &built.problem);
  built.has_cluster = registered.cluster != nullptr;
  if (are_too_many(built.problem)) {
    representatives_.emplace(graph, built.problem, options.constraints);
    built.spread.emplace();
  }
  for (BackendId backend : backends.ids()) add_backend(backend, *this);
  add_host_singles(*this);
  add_together_on_host(*this);
  bool ok = options.fixed == nullptr || apply_written(*this, *options.fixed);
  ok = (options.offered == nullptr || apply_offered(*this, *options.offered)) && ok;
  ok = apply_pins(*this) && ok;
  return ok && apply_constraints(*this);
}

bool ProblemBuilder::measure() {
  mark_unmeasured(*this);
  if (measures() && options.lazy != nullptr) return measure_lazily(*this);
  if (measures() && !measure_all_candidates(*this)) return false;
  convert();
  if (measures()) measure_conversions(*this);
  return !measures() || !options.costs->is_stopped();
}

bool ProblemBuilder::complete() {
  add_host_singles(*this);
  return apply_pins(*this) && apply_constraints(*this);
}

void ProblemBuilder::convert() {
  find_isolated_matches(&built.problem);
  add_conversions(graph, *built.links, &built);
  add_memory(graph, backends, &built);
}

std::vector<ValueFormat> ProblemBuilder::with_space(const std::vector<ValueLayout>& list, const std::string& space) {
  std::vector<ValueFormat> result;
  for (const ValueLayout& item : list) {
    FormatId format = intern_format(layouts.format(item.layout, space), &built.problem.formats);
    result.push_back({problem_value(built, item.value), format});
  }
  return result;
}

std::optional<BuiltProblem> build_problem(const ir::Graph& graph, const ir::RuleSet& registered,
                                          const ActiveBackends& backends, support::Diagnostics& diags,
                                          const BuildOptions& options) {
  return ProblemBuilder(graph, registered, backends, options, diags).run();
}

}  // namespace collage::place
