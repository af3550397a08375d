// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/graph_edit.h"

#include <algorithm>
#include <queue>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/analysis/infer.h"
#include "compiler/ir/graph/copy_node.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/support/check.h"

namespace collage::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Use;
using ir::Value;
using ir::ValueId;

/// Steps for each node: a change makes its neighbours worth another look, a bounded number of times.
constexpr size_t kStepsPerNode = 32;

}  // namespace

GraphEdit::GraphEdit(const Graph& graph)
    : graph_(graph),
      is_gone_(graph.node_count(), false),
      has_own_name_(graph.value_count(), true),
      outputs_(graph.outputs()),
      is_queued_(graph.node_count(), true),
      steps_left_(kStepsPerNode * (graph.node_count() + 16)) {
  for (ValueId id : graph.value_ids()) names_.push_back(graph.value(id).name);
  for (NodeId id : graph.node_ids()) {
    position_.push_back(id.index);
    queue_.push_back(id);
  }
}

bool GraphEdit::can_replace(ValueId old, ValueId by) const {
  const Value& source = value(by);
  if (value(old).type != source.type) return false;
  return !value(old).is_output || (source.producer.is_valid() && !source.is_output && !node(source.producer).pin);
}

ValueId GraphEdit::add(std::string_view op_name, std::vector<ValueId> inputs, ir::AttrMap attrs, NodeId anchor) {
  const ir::OpDef* op = ir::find_op(op_name);
  COLLAGE_CHECK(op != nullptr, "operator `{}`", op_name);
  const std::string base = graph_.node_name(anchor);
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  ir::NodeSource source;
  source.where = base;
  auto types = ir::infer_node(graph_, *op, inputs, attrs, 1, source, diags);
  COLLAGE_CHECK(types.has_value(), "`{}` instead of `{}`: {}", op_name, base, diags.render());
  const NodeId id = graph_.add_node(*op, std::move(inputs), std::move(attrs), {graph_.unique_name(base)},
                                    std::move(*types), node(anchor).span);
  graph_.node(id).origin = node(anchor).origin;
  is_gone_.push_back(false);
  is_queued_.push_back(false);
  position_.push_back(position_[anchor.slot()]);
  const ValueId result = graph_.first_output(id);
  names_.push_back(value(result).name);
  has_own_name_.push_back(false);
  for (ValueId input : node(id).inputs) {
    if (input.is_valid() && value(input).producer.is_valid()) visit(value(input).producer);
  }
  visit(id);
  has_changed_ = true;
  return result;
}

ValueId GraphEdit::add_constant(std::string_view base, ir::Tensor data) {
  const ValueId id = graph_.add_constant(graph_.unique_name(base), ir::make_constant(std::move(data)));
  names_.push_back(value(id).name);
  has_own_name_.push_back(true);
  return id;
}

ValueId GraphEdit::add_ints(std::string_view base, const std::vector<int64_t>& elements) {
  ir::Tensor data(ir::DType::I64, {static_cast<int64_t>(elements.size())});
  std::copy(elements.begin(), elements.end(), data.as<int64_t>().begin());
  return add_constant(base, std::move(data));
}

ValueId GraphEdit::add_number(std::string_view base, ir::DType dtype, double number) {
  COLLAGE_CHECK(dtype == ir::DType::F32 || dtype == ir::DType::F64, "a number of {}", name_of(dtype));
  ir::Tensor data(dtype, {});
  if (dtype == ir::DType::F32) {
    data.as<float>()[0] = static_cast<float>(number);
  } else {
    data.as<double>()[0] = number;
  }
  return add_constant(base, std::move(data));
}

void GraphEdit::replace(ValueId old, ValueId by) {
  COLLAGE_CHECK(can_replace(old, by), "`{}` by `{}`", names_[old.slot()], names_[by.slot()]);
  has_changed_ = true;
  const std::vector<Use> uses = std::move(graph_.value(old).uses);
  graph_.value(old).uses.clear();
  for (const Use& use : uses) {
    graph_.node(use.node).inputs[static_cast<size_t>(use.operand)] = by;
    add_use(by, use);
  }
  const bool is_output = value(old).is_output;
  if (is_output) {
    std::replace(outputs_.begin(), outputs_.end(), old, by);
    graph_.value(old).is_output = false;
    graph_.value(by).is_output = true;
  }
  if (is_output || !has_own_name_[by.slot()]) {
    std::swap(names_[old.slot()], names_[by.slot()]);
    has_own_name_[by.slot()] = true;
    graph_.value(by).span = value(old).span;
  }
  visit_around(by);
  if (value(old).producer.is_valid()) remove_if_unread(value(old).producer);
}

void GraphEdit::replace_by(ValueId old, std::string_view op, std::vector<ValueId> inputs, ir::AttrMap attrs) {
  replace(old, add(op, std::move(inputs), std::move(attrs), value(old).producer));
}

void GraphEdit::set_input(NodeId id, size_t operand, ValueId by) {
  const ValueId old = node(id).inputs[operand];
  if (old == by) return;
  has_changed_ = true;
  const Use use{id, static_cast<int>(operand)};
  if (by.is_valid()) add_use(by, use);
  graph_.node(id).inputs[operand] = by;
  if (old.is_valid()) {
    remove_use(old, use);
    if (value(old).producer.is_valid()) remove_if_unread(value(old).producer);
  }
  visit(id);
  for (ValueId output : node(id).outputs) {
    if (output.is_valid()) visit_around(output);
  }
}

void GraphEdit::add_use(ValueId id, Use use) {
  graph_.value(id).uses.push_back(use);
}

void GraphEdit::remove_use(ValueId id, Use use) {
  std::vector<Use>& uses = graph_.value(id).uses;
  auto at = std::find(uses.begin(), uses.end(), use);
  COLLAGE_CHECK(at != uses.end(), "a use of `{}`", names_[id.slot()]);
  uses.erase(at);
}

void GraphEdit::remove_if_unread(NodeId first) {
  std::vector<NodeId> candidates = {first};
  while (!candidates.empty()) {
    const NodeId id = candidates.back();
    candidates.pop_back();
    if (!is_free(id)) continue;
    const Node& gone = node(id);
    const bool is_read = std::any_of(gone.outputs.begin(), gone.outputs.end(), [this](ValueId output) {
      return output.is_valid() && (value(output).is_output || !value(output).uses.empty());
    });
    if (is_read) {
      visit(id);
      continue;
    }
    is_gone_[id.slot()] = true;
    for (size_t i = 0; i < gone.inputs.size(); ++i) {
      if (!gone.inputs[i].is_valid()) continue;
      remove_use(gone.inputs[i], {id, static_cast<int>(i)});
      visit_around(gone.inputs[i]);
      if (value(gone.inputs[i]).producer.is_valid()) candidates.push_back(value(gone.inputs[i]).producer);
    }
    graph_.node(id).inputs.clear();
  }
}

void GraphEdit::visit(NodeId id) {
  if (is_gone_[id.slot()] || is_queued_[id.slot()]) return;
  is_queued_[id.slot()] = true;
  queue_.push_back(id);
}

void GraphEdit::visit_around(ValueId id) {
  // Who reads it may match now; a value that very many read is part of no pattern.
  constexpr size_t kMostReaders = 16;
  if (value(id).producer.is_valid()) visit(value(id).producer);
  if (value(id).uses.size() > kMostReaders) return;
  for (const Use& use : value(id).uses) visit(use.node);
}

std::optional<NodeId> GraphEdit::next() {
  while (!queue_.empty() && steps_left_ > 0) {
    --steps_left_;
    const NodeId id = queue_.front();
    queue_.pop_front();
    is_queued_[id.slot()] = false;
    if (is_free(id)) return id;
  }
  return std::nullopt;
}

ValueId GraphEdit::copied(ValueId id, Graph& to) {
  if (!id.is_valid()) return {};
  ValueId& copy = copies_[id.slot()];
  const Value& from = value(id);
  if (!copy.is_valid() && from.is_constant()) copy = to.add_constant(names_[id.slot()], *from.constant, from.span);
  COLLAGE_CHECK(copy.is_valid(), "`{}` is used before it was copied", names_[id.slot()]);
  return copy;
}

Graph GraphEdit::finish() {
  Graph to;
  to.name = graph_.name;
  copies_.assign(graph_.value_count(), {});
  for (ValueId input : graph_.inputs()) {
    copies_[input.slot()] = to.add_input(names_[input.slot()], value(input).type, value(input).span);
  }
  // Topological; among nodes that are ready the one that stood first, new ones of one place in the order of making.
  std::vector<size_t> waits_for(graph_.node_count(), 0);
  using Place = std::pair<int64_t, NodeId>;
  std::priority_queue<Place, std::vector<Place>, std::greater<>> ready;
  for (NodeId id : graph_.node_ids()) {
    if (is_gone_[id.slot()]) continue;
    for (ValueId input : node(id).inputs) {
      if (input.is_valid() && value(input).producer.is_valid()) ++waits_for[id.slot()];
    }
    if (waits_for[id.slot()] == 0) ready.push({position_[id.slot()], id});
  }
  while (!ready.empty()) {
    const NodeId id = ready.top().second;
    ready.pop();
    const auto take = [&](ValueId old, ValueId copy) {
      copies_[old.slot()] = copy;
      for (const Use& use : value(old).uses) {
        if (--waits_for[use.node.slot()] == 0) ready.push({position_[use.node.slot()], use.node});
      }
    };
    const NodeId copy = ir::copy_node(
        graph_, id, to, [&](ValueId operand) { return copied(operand, to); },
        [&](ValueId result) { return names_[result.slot()]; }, take);
    to.node(copy).pin = node(id).pin;
  }
  for (ValueId output : outputs_) to.mark_output(copied(output, to));
  return to;
}

ir::AttrMap with_attr(std::string name, runtime::AttrValue value, bool is_wanted) {
  ir::AttrMap attrs;
  if (is_wanted) attrs.set(std::move(name), std::move(value));
  return attrs;
}

bool rewrite_all(Graph& graph, const Rewrite& rewrite) {
  GraphEdit edit(graph);
  while (std::optional<NodeId> id = edit.next()) rewrite(edit, *id);
  if (!edit.has_changed()) return false;
  graph = edit.finish();
  return true;
}

}  // namespace collage::passes
