// SPDX-License-Identifier: Apache-2.0
// Finds softmax that is written in parts. Exact up to rounding; where exponents overflow or vanish, the operators do
// not.
//
//     %d = Sub(%x, ReduceMax(%x) {axes = [a]})   %e = Exp(%d)   %y = Div(%e, ReduceSum(%e, [a]))
//     =>  %y = Softmax(%x) {axis = a}                                  also without the maximum
//
//     Log(Softmax(%x))                                            =>   LogSoftmax(%x)
//     Sub(%d, Log(ReduceSum(Exp(%d), [a])))                       =>   LogSoftmax(%d) {axis = a}
//     Softmax(Sub(%x, ReduceMax(%x) {axes = [a]})) {axis = a}     =>   Softmax(%x) {axis = a}; LogSoftmax likewise
#include "compiler/ir/ops/op_def.h"
#include "compiler/passes/match_node.h"
#include "compiler/passes/pass_manager.h"

namespace collage::passes {
namespace {

using ir::Node;
using ir::NodeId;
using ir::ValueId;

/// Along one axis, which stays with extent 1.
std::optional<int64_t> single_axis(const GraphEdit& edit, const Node* reduction) {
  if (reduction == nullptr || ir::attrs_of(*reduction).int_of("keepdims") != 1) return std::nullopt;
  const std::optional<std::vector<int64_t>> axes = reduced_axes(edit, *reduction);
  return axes && axes->size() == 1 ? std::optional((*axes)[0]) : std::nullopt;
}

void fuse_quotient(GraphEdit& edit, NodeId id) {
  const Node& node = edit.node(id);
  const Node* exp = private_made_by(edit, node.inputs[0], "Exp", 2);
  const Node* sum = private_made_by(edit, node.inputs[1], "ReduceSum");
  const std::optional<int64_t> axis = single_axis(edit, sum);
  if (exp == nullptr || !axis || sum->inputs[0] != node.inputs[0]) return;
  edit.replace_by(node.outputs[0], "Softmax", {exp->inputs[0]}, with_attr("axis", *axis));
}

void fuse_difference(GraphEdit& edit, NodeId id) {
  const Node& node = edit.node(id);
  const Node* log = private_made_by(edit, node.inputs[1], "Log");
  const Node* sum = log != nullptr ? private_made_by(edit, log->inputs[0], "ReduceSum") : nullptr;
  const std::optional<int64_t> axis = single_axis(edit, sum);
  const Node* exp = axis ? private_made_by(edit, sum->inputs[0], "Exp") : nullptr;
  if (exp == nullptr || exp->inputs[0] != node.inputs[0]) return;
  edit.replace_by(node.outputs[0], "LogSoftmax", {exp->inputs[0]}, with_attr("axis", *axis));
}

void fuse_logarithm(GraphEdit& edit, NodeId id) {
  const Node& node = edit.node(id);
  const Node* softmax = private_made_by(edit, node.inputs[0], "Softmax");
  if (softmax != nullptr) edit.replace_by(node.outputs[0], "LogSoftmax", {softmax->inputs[0]}, softmax->attrs);
}

/// The operators subtract the maximum themselves.
void drop_maximum(GraphEdit& edit, NodeId id) {
  const Node& node = edit.node(id);
  const Node* difference = private_made_by(edit, node.inputs[0], "Sub");
  const Node* maximum = difference != nullptr ? private_made_by(edit, difference->inputs[1], "ReduceMax") : nullptr;
  const std::optional<int64_t> axis = single_axis(edit, maximum);
  if (!axis || maximum->inputs[0] != difference->inputs[0]) return;
  const auto rank = static_cast<int64_t>(edit.value(node.inputs[0]).type.shape.size());
  const int64_t along = ir::attrs_of(node).int_of("axis");
  if ((along < 0 ? along + rank : along) == *axis) edit.set_input(id, 0, difference->inputs[0]);
}

}  // namespace

bool fuse_softmax(ir::Graph& graph, PassContext&) {
  return rewrite_all(graph, [](GraphEdit& edit, NodeId id) {
    const std::string_view op = edit.node(id).op->name;
    if (op == "Div") fuse_quotient(edit, id);
    if (op == "Sub") fuse_difference(edit, id);
    if (op == "Log") fuse_logarithm(edit, id);
    if (op == "Softmax" || op == "LogSoftmax") drop_maximum(edit, id);
  });
}

}  // namespace collage::passes
