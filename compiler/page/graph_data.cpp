// SPDX-License-Identifier: Apache-2.0
#include "compiler/page/graph_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "compiler/ir/ops/op_def.h"
#include "compiler/page/blocks.h"
#include "compiler/page/time_data.h"
#include "compiler/report/explain/explain_text.h"
#include "runtime/core/joined.h"
#include "runtime/support/source_manager.h"

namespace collage::page {
namespace {

using ir::NodeId;
using ir::ValueId;
using nlohmann::ordered_json;

ordered_json value_data(const ir::Value& value) {
  ordered_json json = {{"name", value.name}, {"type", to_string(value.type)}, {"bytes", value.type.bytes()}};
  if (value.is_constant()) json["kind"] = "constant";
  if (value.is_input) json["kind"] = "input";
  return json;
}

std::vector<int32_t> indices_of(const std::vector<ValueId>& values) {
  std::vector<int32_t> indices;
  for (ValueId value : values) indices.push_back(value.index);
  return indices;
}

std::string attributes_text(const ir::AttrMap& attrs) {
  std::string text;
  for (const auto& [name, value] : attrs) runtime::add_to_list(text, name + " = " + to_string(value));
  constexpr size_t kShown = 400;
  return text.size() <= kShown ? text : text.substr(0, kShown) + "…";
}

/// Places of spans that follow each other in their file, as location_text has them: lines are counted from one to the
/// next.
class Places {
 public:
  explicit Places(const support::SourceManager& sources) : sources_(sources) {}

  std::string text_of(const support::Span& span) {
    if (!span.is_valid()) return "";
    if (span.file != last_.file || span.begin < last_.begin) {
      last_ = {span.file, 0, 0};
      line_ = 1;
    }
    const std::string_view passed = sources_.text(support::Span{span.file, last_.begin, span.begin});
    line_ += std::count(passed.begin(), passed.end(), '\n');
    last_ = span;
    return fmt::format("{}:{}", sources_.name(span.file), line_);
  }

 private:
  const support::SourceManager& sources_;
  support::Span last_;
  ptrdiff_t line_ = 1;
};

ordered_json node_data(const ir::Graph& graph, NodeId id, Places& places) {
  const ir::Node& node = graph.node(id);
  ordered_json json = {{"name", graph.node_name(id)}, {"op", node.op->name}};
  const std::pair<const char*, std::string> texts[] = {
      {"attrs", attributes_text(node.attrs)}, {"origin", node.origin}, {"place", places.text_of(node.span)}};
  for (const auto& [field, text] : texts) {
    if (!text.empty()) json[field] = text;
  }
  json["in"] = indices_of(node.inputs);
  json["out"] = indices_of(node.outputs);
  return json;
}

/// Numbers for texts: equal ones for equal texts.
class Numbers {
 public:
  int of(const std::string& text) { return known_.try_emplace(text, static_cast<int>(known_.size())).first->second; }

 private:
  std::map<std::string, int> known_;
};

/// Equal for nodes that a reader takes for the same: operator, and types of operands and results.
std::string look_of(const ir::Graph& graph, NodeId id) {
  const ir::Node& node = graph.node(id);
  std::string text(node.op->name);
  for (const std::vector<ValueId>* values : {&node.inputs, &node.outputs}) {
    for (ValueId value : *values) text += value.is_valid() ? " " + to_string(graph.value(value).type) : " _";
  }
  return text;
}

/// `order`: what stands for each item of the sequence.
ordered_json blocks_data(const std::vector<Block>& blocks, const std::vector<size_t>& order) {
  ordered_json list = ordered_json::array();
  for (const Block& block : blocks) {
    if (block.children.empty()) {
      list.push_back(order[block.begin]);
    } else {
      ordered_json one = {{"times", block.times}, {"blocks", blocks_data(block.children, order)}};
      if (!block.name.empty()) one["name"] = block.name;
      list.push_back(std::move(one));
    }
  }
  return list;
}

/// By its name in the source model; without one by the name of its result.
Scope scope_of(const ir::Graph& graph, NodeId id) {
  const std::string& origin = graph.node(id).origin;
  return scope_of_name(origin.empty() ? graph.node_name(id) : origin);
}

/// The scope that the nodes have in common. Those without one, which a pass may have made, are as the others.
Scope scope_of(const ir::Graph& graph, const std::vector<NodeId>& nodes) {
  Scope common;
  bool is_first = true;
  for (NodeId node : nodes) {
    const Scope scope = scope_of(graph, node);
    if (scope.empty()) continue;
    common = is_first ? scope : common_scope(common, scope);
    is_first = false;
  }
  return common;
}

/// An item without a scope belongs where both of its neighbours are.
void fill_scopes(std::vector<Scope>& scopes) {
  for (size_t i = 1; i + 1 < scopes.size(); ++i) {
    if (scopes[i].empty()) scopes[i] = common_scope(scopes[i - 1], scopes[i + 1]);
  }
}

ordered_json inside_data(const ir::Graph& graph, const std::vector<NodeId>& nodes) {
  Numbers looks;
  std::vector<int> items;
  std::vector<size_t> order;
  std::vector<Scope> scopes;
  for (NodeId node : nodes) {
    items.push_back(looks.of(look_of(graph, node)));
    scopes.push_back(scope_of(graph, node));
    order.push_back(order.size());
  }
  fill_scopes(scopes);
  return blocks_data(find_blocks(items, scopes), order);
}

ordered_json partition_blocks(const ir::Graph& graph, const ir::Placement& placement) {
  Numbers looks;
  std::vector<int> items;
  std::vector<Scope> scopes;
  const std::vector<size_t> order = ir::execution_order(graph, placement);
  for (size_t index : order) {
    const ir::Partition& partition = placement.partitions[index];
    std::string look = partition.instance;
    for (const std::string& rule : ir::rule_names(partition)) look += " " + rule;
    for (NodeId node : partition.nodes) look += ", " + look_of(graph, node);
    items.push_back(looks.of(look));
    scopes.push_back(scope_of(graph, partition.nodes));
  }
  fill_scopes(scopes);
  return blocks_data(find_blocks(items, scopes), order);
}

/// Each rule once, in the order of the matches.
ordered_json rules_data(const report::ExplainedPlacement& explained, const ir::Partition& partition) {
  ordered_json rules = ordered_json::array();
  const place::BackendId id = report::backend_id(explained, partition.backend);
  std::set<int> listed;
  for (const ir::ChosenMatch& match : partition.matches) {
    if (!id.is_valid() || !match.is_found() || !listed.insert(match.rule).second) continue;
    rules.push_back(rule_data(explained.active[id].backend->rules[static_cast<size_t>(match.rule)], explained.sources));
    rules.back()["name"] = match.name;
  }
  return rules;
}

/// By node: the chosen candidate that holds it, or none. Candidates of other problems than the input's are left out.
std::vector<place::CandidateId> candidates_by_node(const report::ExplainedPlacement& explained) {
  std::vector<place::CandidateId> all(explained.input.graph.node_count());
  if (explained.found.problem != nullptr || explained.input.priced != nullptr) return all;
  for (place::CandidateId c : explained.found.chosen) {
    for (NodeId node : explained.input.built.problem.candidates[c].nodes) all[node.slot()] = c;
  }
  return all;
}

ordered_json parts_data(const report::ExplainedPlacement& explained, const ir::Partition& partition,
                        const std::vector<place::CandidateId>& by_node) {
  ordered_json parts = ordered_json::array();
  const std::map<place::CandidateId, place::Cost> measured(explained.found.measured_later.begin(),
                                                           explained.found.measured_later.end());
  std::set<place::CandidateId> listed;
  for (NodeId node : partition.nodes) {
    const place::CandidateId id = by_node[node.slot()];
    if (!id.is_valid() || !listed.insert(id).second) continue;
    const place::Candidate& candidate = explained.input.built.problem.candidates[id];
    const auto later = measured.find(id);
    parts.push_back({{"node", node.index},
                     {"nodes", candidate.nodes.size()},
                     {"cost_s", (later == measured.end() ? candidate.cost : later->second).value()},
                     {"text", report::cost_parts_text(explained, id)}});
  }
  return parts;
}

/// The `match` of a rule, up to the end of its line.
std::string_view match_line(const support::Span& name, const support::SourceManager& sources) {
  const std::string_view text = sources.text(name.file).substr(name.begin);
  const size_t match = std::min(text.find("match "), text.size());
  return text.substr(match, text.find('\n', match) - match);
}

/// What is known of the times of the partition's nodes: the costs of the candidates that make it up, or its own.
std::vector<TimedNodes> timed_nodes(const ir::Partition& partition, const std::vector<place::CandidateId>& by_node,
                                    const ordered_json& parts) {
  std::vector<TimedNodes> units;
  std::map<place::CandidateId, size_t> known;
  for (NodeId node : partition.nodes) {
    const place::CandidateId id = by_node[node.slot()];
    if (!id.is_valid()) return {{partition.nodes, partition.cost.seconds()}};
    const auto [at, is_new] = known.try_emplace(id, units.size());
    if (is_new) units.push_back({{}, parts[at->second]["cost_s"].get<double>()});
    units[at->second].nodes.push_back(node);
  }
  return units;
}

}  // namespace

ordered_json graph_data(const ir::Graph& graph, const support::SourceManager& sources) {
  ordered_json json = {{"inputs", indices_of(graph.inputs())}, {"outputs", indices_of(graph.outputs())}};
  json["values"] = ordered_json::array();
  json["nodes"] = ordered_json::array();
  for (ValueId value : graph.value_ids()) json["values"].push_back(value_data(graph.value(value)));
  Places places(sources);
  for (NodeId node : graph.node_ids()) json["nodes"].push_back(node_data(graph, node, places));
  return json;
}

ordered_json rule_data(const ir::Rule& rule, const support::SourceManager& sources) {
  ordered_json json = {{"name", rule.name}, {"where", location_text(rule.span, sources)}};
  if (rule.span.is_valid()) json["line"] = match_line(rule.span, sources);
  return json;
}

ordered_json placement_data(const report::ExplainedPlacement& explained) {
  const ir::Graph& graph = explained.input.graph;
  const ir::Placement& placement = explained.found.placement;
  const std::vector<place::CandidateId> by_node = candidates_by_node(explained);
  ordered_json json = {{"partitions", ordered_json::array()}, {"blocks", partition_blocks(graph, placement)}};
  for (const ir::Partition& partition : placement.partitions) {
    ordered_json nodes = ordered_json::array();
    for (NodeId node : partition.nodes) nodes.push_back(node.index);
    ordered_json one = {{"nodes", std::move(nodes)},
                        {"rules", rules_data(explained, partition)},
                        {"parts", parts_data(explained, partition, by_node)}};
    one.update(predicted_times(graph, partition, timed_nodes(partition, by_node, one["parts"])));
    if (partition.nodes.size() > 1) one["inside"] = inside_data(graph, partition.nodes);
    json["partitions"].push_back(std::move(one));
  }
  return json;
}

}  // namespace collage::page
