// SPDX-License-Identifier: Apache-2.0
// Merges Reshape, Flatten, Squeeze and Unsqueeze that follow each other, and those with operators between them to which
// shapes mean nothing, if they cancel. Exact.
//
//     %a = Flatten(%x)   %y = Unsqueeze(%a, %axes)                   =>   %y = Reshape(%x, %shape), or %x itself
//     %a = Reshape(%x, ..)   %b = Relu(%a)   %y = Reshape(%b, ..)    =>   %y = Relu(%x)      if %y has the shape of %x
//     %a = Reshape(%x, ..)   %b = Reshape(%z, ..)   %s = Add(%a, %b)   %y = Reshape(%s, ..)
//      =>   %y = Add(%x, %z)   if all three have one shape
#include <algorithm>

#include "compiler/ir/ops/op_def.h"
#include "compiler/passes/match_node.h"
#include "compiler/passes/pass_manager.h"

namespace collage::passes {
namespace {

using ir::Node;
using ir::NodeId;
using ir::ValueId;

constexpr size_t kLongestChain = 16;

bool is_reshape(const Node& node) {
  static constexpr std::string_view kOps[] = {"Flatten", "Reshape", "Squeeze", "Unsqueeze"};
  return std::find(std::begin(kOps), std::end(kOps), node.op->name) != std::end(kOps);
}

/// The free reshape that makes `id`; null if there is none.
const Node* reshape_of(const GraphEdit& edit, ValueId id) {
  const ir::Value& value = edit.value(id);
  if (!value.producer.is_valid() || !edit.is_free(value.producer)) return nullptr;
  const Node& node = edit.node(value.producer);
  return is_reshape(node) ? &node : nullptr;
}

/// Two in a row.
bool merge_two(GraphEdit& edit, NodeId id) {
  const ValueId result = edit.node(id).outputs[0];
  const Node* inner = reshape_of(edit, edit.node(id).inputs[0]);
  if (inner == nullptr) return false;
  const ValueId from = inner->inputs[0];
  if (edit.value(from).type == edit.value(result).type) {
    if (!edit.can_replace(result, from)) return false;
    edit.replace(result, from);
    return true;
  }
  if (edit.value(from).type.shape.empty() && edit.value(result).type.shape.empty()) return false;
  const ValueId shape = edit.add_ints(edit.value(result).name + ".shape", edit.value(result).type.shape);
  // An extent of 0 is one, not "as before".
  edit.replace_by(result, "Reshape", {from, shape}, with_attr("allowzero", int64_t{1}, has_zero(edit, result)));
  return true;
}

/// The operand of `node` that has the result's shape while all others are numbers of no higher rank than `rank`; or
/// both of two.
std::vector<size_t> shaped_operands(const GraphEdit& edit, const Node& node, size_t rank) {
  std::vector<size_t> shaped;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].is_valid()) continue;
    const ir::TensorType& type = edit.value(node.inputs[i]).type;
    if (type.shape == edit.value(node.outputs[0]).type.shape) {
      shaped.push_back(i);
    } else if (type.shape.size() > std::min<size_t>(1, rank) || runtime::element_count(type.shape) != 1) {
      return {};
    }
  }
  return shaped;
}

/// The operators between a reshape and the one that undoes it.
void cancel_around(GraphEdit& edit, NodeId id) {
  const ValueId result = edit.node(id).outputs[0];
  const ir::Shape& wanted = edit.value(result).type.shape;
  std::vector<NodeId> chain;
  ValueId at = edit.node(id).inputs[0];
  while (chain.size() < kLongestChain) {
    const ir::Value& value = edit.value(at);
    if (!is_read_by(edit, at, 1) || !value.producer.is_valid() || !edit.is_free(value.producer)) return;
    const Node& node = edit.node(value.producer);
    if (!node.op->is_pointwise) return;
    chain.push_back(value.producer);
    const std::vector<size_t> shaped = shaped_operands(edit, node, wanted.size());
    if (shaped.empty()) return;
    std::vector<const Node*> before;
    for (size_t operand : shaped) {
      const Node* reshape = reshape_of(edit, node.inputs[operand]);
      const bool fits = reshape != nullptr && edit.value(reshape->inputs[0]).type.shape == wanted;
      before.push_back(fits ? reshape : nullptr);
    }
    if (std::find(before.begin(), before.end(), nullptr) == before.end()) break;
    if (shaped.size() > 1) return;
    at = node.inputs[shaped[0]];
  }
  // From the reshapes to the result, on the shape that both have.
  const size_t rank = wanted.size();
  ValueId moved;
  for (size_t i = chain.size(); i-- > 0;) {
    const Node node = edit.node(chain[i]);
    std::vector<ValueId> inputs = node.inputs;
    for (size_t operand : shaped_operands(edit, node, rank)) {
      inputs[operand] = moved.is_valid() ? moved : reshape_of(edit, node.inputs[operand])->inputs[0];
    }
    moved = edit.add(node.op->name, std::move(inputs), node.attrs, chain[i]);
  }
  edit.replace(result, moved);
}

}  // namespace

bool merge_reshapes(ir::Graph& graph, PassContext&) {
  return rewrite_all(graph, [](GraphEdit& edit, NodeId id) {
    if (is_reshape(edit.node(id)) && !merge_two(edit, id)) cancel_around(edit, id);
  });
}

}  // namespace collage::passes
