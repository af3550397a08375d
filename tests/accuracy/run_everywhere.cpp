// SPDX-License-Identifier: Apache-2.0
#include "tests/accuracy/run_everywhere.h"

#include <stdexcept>

#include "compiler/ir/placement/extract_partition.h"
#include "compiler/place/build/build_problem.h"
#include "compiler/plan/find_matches.h"
#include "compiler/program/program.h"
#include "compiler/sema/rules/build_rules.h"

namespace collage::testing {
namespace {

bool calls_reference_kernels(const runtime::Plan& plan) {
  for (const runtime::Step& step : plan.steps) {
    const auto* host = std::get_if<runtime::HostStep>(&step);
    for (size_t i = 0; host != nullptr && i < host->calls.size(); ++i) {
      if (std::holds_alternative<runtime::OpCall>(host->calls[i])) return true;
    }
  }
  return false;
}

}  // namespace

Backends::Backends(const codegen::CodeTarget& code, std::set<std::string, std::less<>> left_out)
    : left_out_(std::move(left_out)) {
  support::Diagnostics diags(sources_);
  auto rules = sema::load_rules(sources_, {COLLAGE_SOURCE_DIR "/rules"}, diags);
  if (!rules) throw std::runtime_error(diags.render());
  rules_ = std::move(*rules);
  auto activations = request::activate(rules_, {.allows_simulated = true}, diags, code);
  if (!activations) throw std::runtime_error(diags.render());
  activations_ = std::move(*activations);
}

std::string Backends::run(const ir::Graph& graph, const std::vector<runtime::Tensor>& inputs,
                          const Visit& visit) const {
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  place::ActiveBackends active;
  for (const request::Activation& activation : activations_) {
    if (activation.absent.empty()) active.push_back(activation.active);
  }
  std::optional<place::BuiltProblem> built = place::build_problem(graph, rules_, active, diags);
  if (!built) return diags.render();
  const plan::PlanTargets targets = request::plan_targets(rules_, activations_, 1);
  std::set<std::string> seen;
  for (place::CandidateId id : built->candidate_ids()) {
    const ir::Partition partition = place::candidate_partition(graph, *built, id);
    if (partition.nodes.size() != graph.node_count() || partition.split) continue;
    if (left_out_.contains(partition.backend)) continue;
    Way way{partition.backend, "", false};
    for (const auto* boundary : {&partition.inputs, &partition.outputs}) {
      for (const ir::BoundaryValue& value : *boundary) way.formats += " " + ir::to_string(value.format);
    }
    if (!seen.insert(way.backend + way.formats).second) continue;
    ir::PlacedGraph alone = ir::extract_partition(graph, partition, {"case"});
    if (plan::find_matches(alone.graph, targets, &alone.placement)) continue;
    support::Diagnostics refusals(sources);
    std::optional<program::Program> program =
        program::build_program(alone.graph, alone.placement, targets, {.is_strict = true}, refusals);
    if (!program) continue;  // the library has no such primitive
    auto executor = program::load_program(*program, 1, diags);
    if (executor == nullptr) return diags.render();
    std::vector<runtime::Tensor> given;
    for (const ir::BoundaryValue& input : partition.inputs) {
      const auto& all = graph.inputs();
      given.push_back(inputs[static_cast<size_t>(std::find(all.begin(), all.end(), input.value) - all.begin())]);
    }
    auto results = executor->run(given);
    if (!results) return way.backend + way.formats + ": " + results.message();
    way.is_code = !calls_reference_kernels(program->built.plan);
    // The case's outputs may be in another order, or fewer.
    std::vector<runtime::Tensor> ordered;
    for (ir::ValueId output : graph.outputs()) {
      for (size_t i = 0; i < partition.outputs.size(); ++i) {
        if (partition.outputs[i].value == output) ordered.push_back((*results)[i]);
      }
    }
    visit(way, ordered);
  }
  return "";
}

}  // namespace collage::testing
