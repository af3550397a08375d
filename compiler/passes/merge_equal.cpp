// SPDX-License-Identifier: Apache-2.0
// Merges nodes that compute the same: one operator with equal attributes on equal operands. Constants of up to 4 KiB
// are equal if their elements are.
//
//     %d = Sub(%x, %m)   %e = Sub(%x, %m)   %y = Mul(%d, %e)     =>   %y = Mul(%d, %d)
//
// A pinned node and one whose result is a model output stay. A value that was computed twice then has two readers,
// which a pattern may refuse; so it runs only where a phase lists it.
#include <map>
#include <string>
#include <tuple>

#include "compiler/ir/op_def.h"
#include "compiler/ir/rewrite.h"
#include "compiler/passes/pass_manager.h"

namespace collage::passes {
namespace {

using ir::NodeId;
using ir::ValueId;

constexpr size_t kLargestCompared = 4096;

/// Represents values that are equal: constants by their elements, others by themselves or what they were merged into.
class EqualValues {
 public:
  explicit EqualValues(const ir::Graph& graph) : same_(graph.value_ids()) {
    std::map<std::tuple<std::string, std::string>, ValueId> constants;
    for (ValueId id : graph.value_ids()) {
      const ir::Value& value = graph.value(id);
      if (!value.is_constant() || value.constant->data.bytes() > kLargestCompared) continue;
      const auto* bytes = reinterpret_cast<const char*>(value.constant->data.data());
      const auto [first, is_new] =
          constants.try_emplace({to_string(value.type), std::string(bytes, value.constant->data.bytes())}, id);
      if (!is_new) same_[id.slot()] = first->second;
    }
  }

  ValueId of(ValueId id) const { return id.is_valid() ? same_[id.slot()] : id; }
  void merge(ValueId id, ValueId into) { same_[id.slot()] = into; }

 private:
  std::vector<ValueId> same_;
};

/// What a node computes, as text that differs where that does.
std::string key_of_node(const ir::Graph& graph, const ir::Node& node, const EqualValues& values) {
  std::string key(node.op->name);
  for (ValueId input : node.inputs) {
    const ValueId same = values.of(input);
    key += same.is_valid() ? fmt::format(" {}", same.slot()) : " _";
  }
  for (const auto& [name, value] : node.attrs) key += fmt::format(" {} = {}", name, runtime::to_string(value));
  key += " ->";
  for (ValueId output : node.outputs) key += output.is_valid() ? " " + to_string(graph.value(output).type) : " _";
  return key;
}

bool may_go(const ir::Graph& graph, const ir::Node& node) {
  bool is_output = false;
  for (ValueId output : node.outputs) is_output = is_output || (output.is_valid() && graph.value(output).is_output);
  return !node.pin && !is_output;
}

bool has_tensor(const ir::Node& node) {
  for (const ir::AttrDef& attr : node.op->attrs) {
    if (attr.kind == ir::AttrKind::Tensor && node.attrs.has(attr.name)) return true;
  }
  return false;
}

}  // namespace

bool merge_equal(ir::Graph& graph, PassContext&) {
  EqualValues values(graph);
  std::map<std::string, NodeId> first_of;
  std::vector<NodeId> replaced_by(graph.node_count());
  bool changed = false;
  for (NodeId id : graph.node_ids()) {
    const ir::Node& node = graph.node(id);
    if (has_tensor(node)) continue;
    const auto [first, is_new] = first_of.try_emplace(key_of_node(graph, node, values), id);
    if (is_new || !may_go(graph, node)) continue;
    replaced_by[id.slot()] = first->second;
    changed = true;
    const std::vector<ValueId>& kept = graph.node(first->second).outputs;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].is_valid()) values.merge(node.outputs[i], kept[i]);
    }
  }
  if (!changed) return false;
  ir::GraphRewriter rewriter(graph);
  for (NodeId id : graph.node_ids()) {
    if (!replaced_by[id.slot()].is_valid()) {
      rewriter.copy(id);
      continue;
    }
    const std::vector<ValueId>& kept = graph.node(replaced_by[id.slot()]).outputs;
    const std::vector<ValueId>& gone = graph.node(id).outputs;
    for (size_t i = 0; i < gone.size(); ++i) {
      if (gone[i].is_valid()) rewriter.replace(gone[i], rewriter.copied(kept[i]));
    }
  }
  graph = rewriter.finish();
  return true;
}

}  // namespace collage::passes
