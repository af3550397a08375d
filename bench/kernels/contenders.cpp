// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/contenders.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "compiler/measure/candidate_text.h"
#include "compiler/place/build/build_problem.h"
#include "compiler/sema/model/build_graph.h"
#include "runtime/core/layout.h"

namespace collage::bench {
namespace {

std::string layout_text(const ir::Partition& partition) {
  auto name = [](const std::vector<ir::BoundaryValue>& values) {
    if (values.empty() || values[0].format.layout == runtime::kPlainLayout) return std::string("plain");
    return values[0].format.layout;
  };
  const std::string from = name(partition.inputs), to = name(partition.outputs);
  return from == to ? from : from + " > " + to;
}

std::string rules_text(const ir::Partition& partition) {
  return fmt::format("{}", fmt::join(ir::rule_names(partition), " + "));
}

}  // namespace

std::vector<Contender> find_contenders(const Shape& shape, const ir::RuleSet& rules,
                                       const place::ActiveBackends& active, const plan::PlanTargets& targets,
                                       int threads) {
  std::vector<Contender> contenders;
  codegen::JitOptions options;
  options.threads = threads;
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  std::optional<sema::Model> model = sema::load_model_text(sources, sources.add("<shape>", shape.text), "", diags);
  if (!model) return contenders;
  std::optional<place::BuiltProblem> built = place::build_problem(model->graph, rules, active, diags);
  if (!built) return contenders;
  for (place::CandidateId id : built->candidate_ids()) {
    const ir::Partition partition = place::candidate_partition(model->graph, *built, id);
    if (ir::boundary_space(partition.instance) != "host") continue;
    Contender contender{partition.backend, layout_text(partition), rules_text(partition), nullptr, "", {}};
    const bool is_there = std::any_of(contenders.begin(), contenders.end(), [&](const Contender& other) {
      return other.backend == contender.backend && other.layout == contender.layout && other.rules == contender.rules;
    });
    if (is_there) continue;
    auto loaded = measure::LoadedCandidate::load(measure::candidate_text(model->graph, partition), targets, options);
    if (loaded) {
      contender.loaded = std::move(*loaded);
    } else {
      contender.why = loaded.message();
    }
    contenders.push_back(std::move(contender));
  }
  return contenders;
}

}  // namespace collage::bench
