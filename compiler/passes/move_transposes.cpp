// SPDX-License-Identifier: Apache-2.0
// Merges transposes, and moves them towards the results where that leaves fewer of them, or smaller ones. Exact, but
// for sums of reductions, which may be added in another order.
//
//     Transpose(Transpose(%x) {perm = p}) {perm = q}     =>   Transpose(%x) {perm = q of p}, or %x
//     Transpose(f(g(Transpose(%x))))                     =>   f(g(%x)) with one transpose, or none if the two cancel;
//                                                             f, g pointwise beside numbers, Softmax, LogSoftmax
//     Add(Transpose(%a), Transpose(%b))                  =>   Transpose(Add(%a, %b))          equal perms; pointwise
//     Concat(Transpose(%a), Transpose(%b)) {axis = i}    =>   Transpose(Concat(%a, %b) {axis = perm[i]})
//     ReduceMean(Transpose(%x)) {axes = …}               =>   Transpose(ReduceMean(%x)), or without one where the axes
//                                                             that are left keep their order
//     Gemm(Transpose(%a), %b)                            =>   Gemm(%a, %b) {transA = 1}, likewise transB
#include <algorithm>
#include <numeric>

#include "compiler/ir/ops/op_def.h"
#include "compiler/passes/match_node.h"
#include "compiler/passes/pass_manager.h"

namespace collage::passes {
namespace {

using ir::AttrMap;
using ir::Node;
using ir::NodeId;
using ir::ValueId;
using Perm = std::vector<int64_t>;

constexpr size_t kLongestPath = 16;

Perm perm_of(const GraphEdit& edit, const Node& transpose) {
  if (transpose.attrs.has("perm")) return ir::attrs_of(transpose).ints_of("perm");
  Perm reversed(edit.value(transpose.inputs[0]).type.shape.size());
  std::iota(reversed.rbegin(), reversed.rend(), int64_t{0});
  return reversed;
}

bool is_identity(const Perm& perm) {
  return std::is_sorted(perm.begin(), perm.end());
}

/// First `inner`, then `outer`.
Perm composed(const Perm& inner, const Perm& outer) {
  Perm result;
  for (int64_t axis : outer) result.push_back(inner[static_cast<size_t>(axis)]);
  return result;
}

/// A transpose read by nothing else, with this permutation if one is given.
const Node* private_transpose(const GraphEdit& edit, ValueId id, const Perm* perm = nullptr) {
  const Node* node = private_made_by(edit, id, "Transpose");
  return node != nullptr && (perm == nullptr || perm_of(edit, *node) == *perm) ? node : nullptr;
}

bool is_number_operand(const GraphEdit& edit, ValueId id) {
  const ir::Shape& shape = edit.value(id).type.shape;
  return shape.size() < 2 && runtime::element_count(shape) == 1;
}

/// Replaces `result` by `from` with its dimensions in another order.
void replace_transposed(GraphEdit& edit, ValueId result, ValueId from, const Perm& perm) {
  if (!is_identity(perm)) return edit.replace_by(result, "Transpose", {from}, with_attr("perm", perm));
  if (edit.can_replace(result, from)) edit.replace(result, from);
}

/// The one operand of an operator that elements may move past, while all others are numbers; its new attributes.
std::optional<size_t> movable_operand(const GraphEdit& edit, const Node& node, const Perm& perm, AttrMap* attrs) {
  *attrs = node.attrs;
  if (node.op->name == "Softmax" || node.op->name == "LogSoftmax") {
    const int64_t axis = ir::attrs_of(node).int_of("axis");
    attrs->set("axis", perm[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(perm.size()) : axis)]);
    return 0;
  }
  if (!node.op->is_pointwise) return std::nullopt;
  std::optional<size_t> found;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].is_valid() || is_number_operand(edit, node.inputs[i])) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

/// A transpose, and one before it with operators between them.
void merge_pair(GraphEdit& edit, NodeId id) {
  const ValueId result = edit.node(id).outputs[0];
  const Perm outer = perm_of(edit, edit.node(id));
  if (const Node* inner = made_by(edit, edit.node(id).inputs[0], "Transpose")) {
    return replace_transposed(edit, result, inner->inputs[0], composed(perm_of(edit, *inner), outer));
  }
  std::vector<NodeId> path;
  ValueId at = edit.node(id).inputs[0];
  const Node* inner = nullptr;
  while (inner == nullptr) {
    if (path.size() == kLongestPath || !is_read_by(edit, at, 1)) return;
    const NodeId producer = edit.value(at).producer;
    if (!producer.is_valid() || !edit.is_free(producer)) return;
    AttrMap unused;
    const std::optional<size_t> operand = movable_operand(edit, edit.node(producer), outer, &unused);
    if (!operand) return;
    path.push_back(producer);
    at = edit.node(producer).inputs[*operand];
    inner = made_by(edit, at, "Transpose");
  }
  const Perm perm = perm_of(edit, *inner);
  // One that others read stays: then the other one must go.
  if (!is_read_by(edit, at, 1) && !is_identity(composed(perm, outer))) return;
  ValueId moved = inner->inputs[0];
  for (size_t i = path.size(); i-- > 0;) {
    const Node node = edit.node(path[i]);
    AttrMap attrs;
    const size_t operand = *movable_operand(edit, node, perm, &attrs);
    std::vector<ValueId> inputs = node.inputs;
    inputs[operand] = moved;
    moved = edit.add(node.op->name, std::move(inputs), std::move(attrs), path[i]);
  }
  replace_transposed(edit, result, moved, composed(perm, outer));
}

/// Several operands that are transposed alike: one transpose of the result.
void move_past_several(GraphEdit& edit, NodeId id) {
  const Node node = edit.node(id);
  const ValueId result = node.outputs[0];
  const bool is_concat = node.op->name == "Concat";
  if (!is_concat && !node.op->is_pointwise) return;
  const size_t rank = edit.value(result).type.shape.size();
  std::optional<Perm> perm;
  std::vector<ValueId> inputs;
  size_t transposes = 0;
  for (ValueId input : node.inputs) {
    if (!input.is_valid() || (!is_concat && is_number_operand(edit, input))) {
      inputs.push_back(input);
      continue;
    }
    const Node* transpose = private_transpose(edit, input, perm ? &*perm : nullptr);
    if (transpose == nullptr || edit.value(input).type.shape.size() != rank) return;
    perm = perm_of(edit, *transpose);
    inputs.push_back(transpose->inputs[0]);
    ++transposes;
  }
  if (transposes < 2) return;
  AttrMap attrs = node.attrs;
  if (is_concat) {
    const int64_t axis = ir::attrs_of(node).int_of("axis");
    attrs.set("axis", (*perm)[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis)]);
  }
  const ValueId moved = edit.add(node.op->name, std::move(inputs), std::move(attrs), id);
  replace_transposed(edit, result, moved, *perm);
}

bool is_reduction(std::string_view op) {
  return op.starts_with("Reduce");
}

void move_past_reduction(GraphEdit& edit, NodeId id) {
  const Node node = edit.node(id);
  const Node* transpose = made_by(edit, node.inputs[0], "Transpose");
  const std::optional<std::vector<int64_t>> axes = reduced_axes(edit, node);
  if (transpose == nullptr || !axes || axes->empty()) return;
  const Perm perm = perm_of(edit, *transpose);
  std::vector<int64_t> moved_axes;
  for (int64_t axis : *axes) moved_axes.push_back(perm[static_cast<size_t>(axis)]);
  std::sort(moved_axes.begin(), moved_axes.end());
  // What is left of the permutation, on the dimensions that the result has.
  const bool keeps = ir::attrs_of(node).int_of("keepdims") != 0;
  Perm left;
  for (size_t d = 0; d < perm.size(); ++d) {
    if (!keeps && std::binary_search(axes->begin(), axes->end(), static_cast<int64_t>(d))) continue;
    const auto gone = keeps ? 0 : std::lower_bound(moved_axes.begin(), moved_axes.end(), perm[d]) - moved_axes.begin();
    left.push_back(perm[d] - gone);
  }
  if (!is_identity(left) && !is_read_by(edit, node.inputs[0], 1)) return;
  AttrMap attrs = node.attrs;
  std::vector<ValueId> inputs = {transpose->inputs[0]};
  const ValueId result = node.outputs[0];
  if (ir::has_operand(node, 1)) {
    inputs.push_back(edit.add_ints(edit.value(result).name + ".axes", moved_axes));
  } else if (node.op->find_attr("axes") != nullptr) {
    attrs.set("axes", moved_axes);
  }
  const ValueId moved = edit.add(node.op->name, std::move(inputs), std::move(attrs), id);
  replace_transposed(edit, result, moved, left);
}

void absorb_in_gemm(GraphEdit& edit, NodeId id) {
  for (size_t operand : {size_t{0}, size_t{1}}) {
    const Node node = edit.node(id);
    const Node* transpose = made_by(edit, node.inputs[operand], "Transpose");
    if (transpose == nullptr || is_identity(perm_of(edit, *transpose))) continue;
    AttrMap attrs = node.attrs;
    const char* flag = operand == 0 ? "transA" : "transB";
    attrs.set(flag, int64_t{ir::attrs_of(node).int_of(flag) == 0});
    std::vector<ValueId> inputs = node.inputs;
    inputs[operand] = transpose->inputs[0];
    const ValueId moved = edit.add("Gemm", std::move(inputs), std::move(attrs), id);
    edit.replace(node.outputs[0], moved);
    return;
  }
}

}  // namespace

bool move_transposes(ir::Graph& graph, PassContext&) {
  return rewrite_all(graph, [](GraphEdit& edit, NodeId id) {
    const std::string_view op = edit.node(id).op->name;
    if (op == "Transpose") return merge_pair(edit, id);
    if (op == "Gemm") return absorb_in_gemm(edit, id);
    if (is_reduction(op)) return move_past_reduction(edit, id);
    move_past_several(edit, id);
  });
}

}  // namespace collage::passes
