// SPDX-License-Identifier: Apache-2.0
#include "tests/differential/random_onnx_shrink.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace collage::testing {
namespace {

/// Removes what no output needs. Nodes stand in topological order, so one sweep from the back is enough.
void drop_dead(onnx::GraphProto& graph) {
  std::set<std::string> needed;
  for (const auto& output : graph.output()) needed.insert(output.name());
  for (int i = graph.node_size() - 1; i >= 0; --i) {
    const auto& node = graph.node(i);
    bool is_needed = std::any_of(node.output().begin(), node.output().end(),
                                 [&](const std::string& name) { return needed.count(name) != 0; });
    if (is_needed) {
      needed.insert(node.input().begin(), node.input().end());
    } else {
      graph.mutable_node()->DeleteSubrange(i, 1);
    }
  }
  auto keep_needed = [&](auto& list) {
    for (int i = list.size() - 1; i >= 0; --i) {
      if (needed.count(list.Get(i).name()) == 0) list.DeleteSubrange(i, 1);
    }
  };
  keep_needed(*graph.mutable_input());
  keep_needed(*graph.mutable_initializer());
}

std::optional<onnx::ModelProto> with_one_output(const onnx::ModelProto& model, int kept) {
  if (model.graph().output_size() < 2) return std::nullopt;
  onnx::ModelProto smaller = model;
  auto& graph = *smaller.mutable_graph();
  graph.clear_output();
  *graph.add_output() = model.graph().output(kept);
  drop_dead(graph);
  return smaller;
}

/// Without node `at`, whose results become inputs. An output cannot be an input, so nodes that make one stay.
std::optional<onnx::ModelProto> without_node(const onnx::ModelProto& model, int at) {
  onnx::ModelProto smaller = model;
  auto& graph = *smaller.mutable_graph();
  for (const std::string& result : model.graph().node(at).output()) {
    auto is_result = [&](const auto& info) { return info.name() == result; };
    const auto& outputs = model.graph().output();
    const auto& known = model.graph().value_info();
    auto info = std::find_if(known.begin(), known.end(), is_result);
    if (info == known.end() || std::any_of(outputs.begin(), outputs.end(), is_result)) return std::nullopt;
    *graph.add_input() = *info;
  }
  graph.mutable_node()->DeleteSubrange(at, 1);
  drop_dead(graph);
  return smaller;
}

}  // namespace

onnx::ModelProto shrink(onnx::ModelProto model, const std::function<bool(const onnx::ModelProto&)>& fails) {
  for (int i = 0; i < model.graph().output_size(); ++i) {
    auto smaller = with_one_output(model, i);
    if (!smaller || !fails(*smaller)) continue;
    model = std::move(*smaller);
    break;
  }
  // From the back: the later the node, the more goes with it.
  for (int i = model.graph().node_size() - 1; i >= 0; i = std::min(i, model.graph().node_size()) - 1) {
    auto smaller = without_node(model, i);
    if (smaller && fails(*smaller)) model = std::move(*smaller);
  }
  return model;
}

}  // namespace collage::testing
