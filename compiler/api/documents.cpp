// SPDX-License-Identifier: Apache-2.0
// JSON documents about placements (include/collage/compiler.h), made by the writers of the command's options.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "compiler/api/texts.h"
#include "compiler/ir/ops/op_def.h"
#include "compiler/report/backends_json.h"
#include "compiler/report/compare/comparison.h"
#include "compiler/report/json_report.h"
#include "compiler/report/json_text.h"
#include "compiler/request/graph_ports.h"

using namespace collage;  // NOLINT: every definition below is of the global namespace
using nlohmann::ordered_json;

namespace {

/// Names of the rules whose matches contain the node; of all matches of the partition where none is known by its nodes.
std::vector<std::string> rules_of(const ir::Partition& partition, ir::NodeId node) {
  std::vector<std::string> names;
  for (const ir::ChosenMatch& match : partition.matches) {
    if (std::binary_search(match.nodes.begin(), match.nodes.end(), node)) names.push_back(match.name);
  }
  return names.empty() ? ir::rule_names(partition) : names;
}

ordered_json nodes_of(const ir::Graph& graph, const ir::Placement& placement) {
  std::vector<const ir::Partition*> of_node(graph.node_count(), nullptr);
  for (const ir::Partition& partition : placement.partitions) {
    for (const ir::NodeId node : partition.nodes) of_node[node.slot()] = &partition;
  }
  ordered_json rows = ordered_json::array();
  for (const ir::NodeId id : graph.node_ids()) {
    const ir::Node& node = graph.node(id);
    const ir::Work work = ir::work_of(graph, id);
    ordered_json row = {{"node", graph.node_name(id)}, {"op", node.op->name}};
    if (const ir::Partition* partition = of_node[id.slot()]; partition != nullptr) {
      row["partition"] = partition->name;
      row["backend"] = partition->backend;
      row["device"] = partition->instance;
      row["rules"] = rules_of(*partition, id);
    }
    row["macs"] = report::whole(work.macs);
    row["flops"] = report::whole(work.flops);
    row["results"] = ordered_json::array();
    for (const ir::ValueId value : node.outputs) {
      if (value.is_valid()) row["results"].push_back(to_string(graph.value(value).type));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::optional<std::string> answers_of(const api::PlacedModel& placed, const request::QuestionRequest& request) {
  std::optional<compilation::Answers> answers = api::answer(placed, request);
  if (!answers) return std::nullopt;
  const search::FoundPlacement& found = answers->placement;
  const report::Report report =
      compilation::report_of(*placed.compilation, placed.known(), found.placement, &found, placed.state->sources);
  return report::answers_json(placed.compilation->graph(), found.placement, report, answers->why, answers->why_not);
}

std::optional<std::string> comparison_of(api::PlacedModel& placed, int runs) {
  support::Diagnostics& diags = *placed.state->diags;
  const compilation::Compilation& compilation = *placed.compilation;
  // Other strategies choose by costs that the search did without.
  if (!api::measure(placed)) return std::nullopt;
  const search::SearchInput input = compilation.search_input(placed.known());
  std::optional<report::Comparison> comparison =
      report::compare_strategies(input, compilation.strategy(), false, diags);
  if (!comparison) return std::nullopt;
  if (runs > 0) {
    const auto inputs = runner::bind_inputs({}, request::ports_of(compilation.graph()), diags);
    if (!inputs || !report::measure(input, compilation.targets(), runs, *inputs, *comparison, diags)) {
      return std::nullopt;
    }
  }
  return report::comparison_json(compilation.graph(), to_json(*comparison));
}

}  // namespace

char* collage_placement_summary_json(const collage_placement* placement) {
  return api::text_of(placement, [](const api::PlacedModel& placed) {
    return report::summary_json(placed.compilation->graph(), placed.placement, api::report_of(placed));
  });
}

char* collage_placement_nodes_json(const collage_placement* placement) {
  return api::text_of(placement, [](const api::PlacedModel& placed) {
    return report::printed(nodes_of(placed.compilation->graph(), placed.placement));
  });
}

char* collage_why_json(const collage_placement* placement, const char* nodes) {
  if (nodes == nullptr) return nullptr;
  return api::long_text_of(placement, [&](const api::PlacedModel& placed) { return answers_of(placed, {nodes, {}}); });
}

char* collage_why_not_json(const collage_placement* placement, const char* nodes, const char* backend) {
  if (nodes == nullptr || backend == nullptr) return nullptr;
  return api::long_text_of(placement, [&](const api::PlacedModel& placed) {
    return answers_of(placed, {"", {nodes, backend}});
  });
}

char* collage_compare_json(const collage_placement* placement, int32_t runs) {
  return api::long_text_of(placement, [&](api::PlacedModel& placed) { return comparison_of(placed, runs); });
}

char* collage_backends_json(collage_compiler* compiler) {
  if (compiler == nullptr) return nullptr;
  api::CompilerState& state = *compiler->state;
  return api::text_of(state, [&]() -> std::optional<std::string> {
    const std::shared_ptr<const request::RuleFiles> rules = state.find_rules();
    if (rules == nullptr) return std::nullopt;
    const request::Settings& settings = state.request.settings;
    const request::CodePermission permission{settings.allows_code, settings.allows_code, settings.allows_outside};
    return report::to_json(request::list_backends(rules->rules, permission, *state.diags));
  });
}
