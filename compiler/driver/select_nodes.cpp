// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/select_nodes.h"

#include <fnmatch.h>

#include <set>

#include "compiler/ir/op_def.h"

namespace collage::driver {
namespace {

using ir::NodeId;
using support::Code;

bool fits(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
}

std::optional<std::vector<NodeId>> select_operators(const std::string& pattern, const ir::Graph& graph,
                                                    const std::string& option, support::Diagnostics& diags) {
  std::vector<NodeId> nodes;
  std::set<std::string> names;
  for (NodeId id : graph.node_ids()) {
    std::string name(graph.node(id).op->name);
    if (fits(pattern, name)) nodes.push_back(id);
    names.insert(std::move(name));
  }
  if (!nodes.empty()) return nodes;
  return diags.error_at(Code::BadOption, option, "the model has no operator `{}`", pattern)
      .did_you_mean(support::closest(pattern, {names.begin(), names.end()}));
}

}  // namespace

std::optional<std::vector<NodeId>> select_nodes(std::string selector, const ir::Graph& graph, const std::string& option,
                                                support::Diagnostics& diags) {
  if (selector.starts_with("op:")) return select_operators(selector.substr(3), graph, option, diags);
  if (selector.starts_with("%")) selector.erase(0, 1);
  if (NodeId node = graph.find_node(selector); node.is_valid()) return std::vector<NodeId>{node};
  std::vector<NodeId> nodes;
  for (NodeId id : graph.node_ids()) {
    if (fits(selector, graph.node_name(id))) nodes.push_back(id);
  }
  if (!nodes.empty()) return nodes;
  if (ir::ValueId value = graph.find_value(selector); value.is_valid()) {
    return diags.error_at(Code::BadOption, option, "`%{}` is {}, no node computes it", selector,
                          graph.value(value).is_constant() ? "a constant" : "an input of the model");
  }
  std::vector<std::string> names;
  for (NodeId id : graph.node_ids()) names.push_back(graph.node_name(id));
  return diags.error_at(Code::BadOption, option, "the model has no node `{}`", selector)
      .did_you_mean(support::closest(selector, names))
      .note("nodes are named by their results after the passes: `--emit=graph` prints them");
}

}  // namespace collage::driver
