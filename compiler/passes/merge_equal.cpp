// SPDX-License-Identifier: Apache-2.0
// Merges nodes that compute the same: one operator with equal attributes on equal operands, which may stand in another
// order where the operator commutes. Constants are equal if their elements are. Exact.
//
//     %d = Sub(%x, %m)   %e = Sub(%x, %m)   %y = Mul(%d, %e)     =>   %y = Mul(%d, %d)
//     %w, %v = const …, the same elements                        =>   %w
//
// A pinned node and one whose result is a model output stay.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph/rewrite.h"
#include "compiler/ir/ops/op_def.h"
#include "compiler/passes/pass_manager.h"

namespace collage::passes {
namespace {

using ir::NodeId;
using ir::ValueId;

/// Type and some bytes of a constant: of few others than equal ones they are the same.
std::string sample_of(const ir::Value& value) {
  constexpr size_t kParts = 8, kPart = 32;
  const ir::Tensor& data = value.constant->data;
  const size_t width = size_of(data.dtype());
  std::string sample = to_string(value.type);
  const auto add = [&](int64_t first, size_t bytes) {
    alignas(runtime::kTensorAlignment) std::array<std::byte, kParts * kPart> part{};
    data.read(first, {part.data(), bytes});
    sample.append(reinterpret_cast<const char*>(part.data()), bytes);
  };
  if (data.bytes() <= kParts * kPart) {
    add(0, data.bytes());
  } else {
    const int64_t step = (data.count() - static_cast<int64_t>(kPart / width)) / static_cast<int64_t>(kParts - 1);
    for (size_t i = 0; i < kParts; ++i) add(step * static_cast<int64_t>(i), kPart);
  }
  return sample;
}

/// Represents values that are equal: constants by their elements, others by themselves or what they were merged into.
class EqualValues {
 public:
  explicit EqualValues(const ir::Graph& graph) : same_(graph.value_ids()) {
    // Constants that look alike and differ are compared with a few of their kind only, so that the time is bounded.
    constexpr size_t kMostAlike = 8;
    std::map<std::string, std::vector<ValueId>> constants;
    for (ValueId id : graph.value_ids()) {
      const ir::Value& value = graph.value(id);
      if (!value.is_constant() || value.is_output) continue;
      std::vector<ValueId>& alike = constants[sample_of(value)];
      const auto equal = std::find_if(alike.begin(), alike.end(), [&](ValueId other) {
        return identical(graph.value(other).constant->data, value.constant->data);
      });
      if (equal != alike.end()) {
        same_[id.slot()] = *equal;
      } else if (alike.size() < kMostAlike) {
        alike.push_back(id);
      }
    }
  }

  ValueId of(ValueId id) const { return id.is_valid() ? same_[id.slot()] : id; }
  void merge(ValueId id, ValueId into) { same_[id.slot()] = into; }

 private:
  std::vector<ValueId> same_;
};

/// A text that is different for nodes that compute different things.
std::string key_of_node(const ir::Graph& graph, const ir::Node& node, const EqualValues& values) {
  std::string key(node.op->name);
  std::vector<ValueId> operands;
  for (ValueId input : node.inputs) operands.push_back(values.of(input));
  // Only two of them: sums of more round differently in another order.
  const size_t commuting = std::min<size_t>(2, ir::commuting_operands(*node.op, operands.size()));
  std::sort(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(commuting));
  for (ValueId operand : operands) key += fmt::format(" {}", operand.index);
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
    for (ValueId input : node.inputs)
      changed = changed || (input.is_valid() && graph.value(input).is_constant() && values.of(input) != input);
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
      std::vector<ValueId> inputs;
      for (ValueId input : graph.node(id).inputs) inputs.push_back(rewriter.copied(values.of(input)));
      rewriter.copy_as(id, *graph.node(id).op, std::move(inputs), graph.node(id).attrs);
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
