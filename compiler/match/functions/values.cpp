// SPDX-License-Identifier: Apache-2.0
// Functions of a captured value or node: its type, its place in the graph, its elements if it is a constant.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/ir/ops/op_def.h"
#include "compiler/match/functions/functions.h"

namespace collage::match {
namespace {

/// A longer list would take too much memory.
constexpr int64_t kMaxElements = int64_t{1} << 23;

/// The capture that argument `i` is; null if it is absent in this match.
const Binding* present_capture(const Call& call, size_t i) {
  const auto* binding = std::get_if<Binding>(&call.args[i]);
  return binding != nullptr && binding->is_present() ? binding : nullptr;
}

/// `ask(value)` of the first argument; 0 if it is absent.
template <typename Ask>
Evaluated of_value(const Call& call, Ask ask) {
  const Binding* binding = present_capture(call, 0);
  return binding == nullptr ? number(0) : ask(call.context.graph.value(binding->value));
}

/// True if the node's operator is named among the arguments after the first.
bool is_listed(const Call& call, NodeId node) {
  std::string_view op = call.context.graph.node(node).op->name;
  return std::any_of(call.args.begin() + 1, call.args.end(), [&](const EvalValue& arg) {
    const auto* wanted = std::get_if<std::string>(&arg);
    return wanted != nullptr && *wanted == op;
  });
}

/// True if a path leads from `from` to `to`. Ids are a topological order, so nothing before `from` lies on one.
bool has_path(const Graph& graph, ValueId from, ValueId to) {
  NodeId first = graph.value(from).producer;
  std::set<NodeId> seen;
  std::vector<ValueId> open{to};
  while (!open.empty()) {
    ValueId value = open.back();
    open.pop_back();
    if (value == from) return true;
    NodeId node = graph.value(value).producer;
    if (!node.is_valid() || (first.is_valid() && node < first) || !seen.insert(node).second) continue;
    for (ValueId input : graph.node(node).inputs) {
      if (input.is_valid()) open.push_back(input);
    }
  }
  return false;
}

bool stretches(const ir::Shape& from, const ir::Shape& to) {
  if (from.size() > to.size()) return false;
  size_t lead = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] != 1 && from[i] != to[lead + i]) return false;
  }
  return true;
}

}  // namespace

Evaluated eval_present(const Call& call) {
  return boolean(present_capture(call, 0) != nullptr);
}

Evaluated eval_dtype(const Call& call) {
  return of_value(call, [](const ir::Value& value) { return Evaluated{EvalValue(value.type.dtype), ""}; });
}

Evaluated eval_shape(const Call& call) {
  return of_value(call, [](const ir::Value& value) {
    const ir::Shape& shape = value.type.shape;
    return Evaluated{EvalValue(NumberList(shape)), ""};
  });
}

Evaluated eval_rank(const Call& call) {
  return of_value(call, [](const ir::Value& value) { return number(value.type.shape.size()); });
}

Evaluated eval_dim(const Call& call) {
  return of_value(call, [&](const ir::Value& value) {
    const ir::Shape& shape = value.type.shape;
    double index = as_number(call.args[1]).real();
    auto rank = static_cast<double>(shape.size());
    double at = index < 0 ? index + rank : index;
    if (at >= 0 && at < rank) return number(shape[static_cast<size_t>(at)]);
    return failed(fmt::format("`%{}` has {} dimensions, none with index {:g}", value.name, shape.size(), index));
  });
}

Evaluated eval_elems(const Call& call) {
  return of_value(call, [](const ir::Value& value) { return number(runtime::element_count(value.type.shape)); });
}

Evaluated eval_bytes(const Call& call) {
  return of_value(call, [](const ir::Value& value) { return number(value.type.bytes()); });
}

Evaluated eval_is_const(const Call& call) {
  return of_value(call, [](const ir::Value& value) { return boolean(value.is_constant()); });
}

Evaluated eval_is_input(const Call& call) {
  return of_value(call,
                  [](const ir::Value& value) { return boolean(!value.is_constant() && !value.producer.is_valid()); });
}

Evaluated eval_is_output(const Call& call) {
  return of_value(call, [](const ir::Value& value) { return boolean(value.is_output); });
}

Evaluated eval_uses(const Call& call) {
  return of_value(call, [](const ir::Value& value) { return number(value.uses.size() + (value.is_output ? 1 : 0)); });
}

Evaluated eval_value(const Call& call) {
  return of_value(call, [](const ir::Value& value) {
    if (!value.is_constant() || runtime::element_count(value.type.shape) != 1)
      return failed(fmt::format("`%{}` is not a constant of one element", value.name));
    return number(elements_of(value.constant->data)[0]);
  });
}

Evaluated eval_values(const Call& call) {
  return of_value(call, [](const ir::Value& value) {
    const ir::Shape& shape = value.type.shape;
    if (!value.is_constant()) return failed(fmt::format("`%{}` is not a constant", value.name));
    if (runtime::element_count(shape) > kMaxElements)
      return failed(fmt::format("`%{}` has {} elements, `values` reads at most {}", value.name,
                                runtime::element_count(shape), kMaxElements));
    NumberList list(elements_of(value.constant->data));
    list.shape = shape;
    return Evaluated{EvalValue(std::move(list)), ""};
  });
}

Evaluated eval_op(const Call& call) {
  const Binding* captured = present_capture(call, 0);
  if (captured == nullptr) return number(0);
  const Graph& graph = call.context.graph;
  if (!captured->node.is_valid()) return failed(fmt::format("`%{}` is not a node", graph.value(captured->value).name));
  return {EvalValue(std::string(graph.node(captured->node).op->name)), ""};
}

/// The trial runs one f32 operand.
Evaluated eval_keeps_finite(const Call& call) {
  const Binding* captured = present_capture(call, 0);
  const Environment* environment = call.context.environment;
  if (captured == nullptr || !captured->node.is_valid() || environment == nullptr || !environment->makes_nan) {
    return boolean(true);
  }
  const ir::Node& node = call.context.graph.node(captured->node);
  const bool is_tried = call.context.backend.runtime == ir::RuntimeKind::Library && node.inputs.size() == 1;
  return boolean(!is_tried || !environment->makes_nan(call.context.backend.library, node.op->name, node.attrs));
}

Evaluated eval_fed_by(const Call& call) {
  return of_value(call, [&](const ir::Value& value) {
    return boolean(value.producer.is_valid() && is_listed(call, value.producer));
  });
}

Evaluated eval_read_by(const Call& call) {
  return of_value(call, [&](const ir::Value& value) {
    return boolean(std::any_of(value.uses.begin(), value.uses.end(),
                               [&](const ir::Use& use) { return is_listed(call, use.node); }));
  });
}

Evaluated eval_reaches(const Call& call) {
  const Binding* from = present_capture(call, 0);
  if (from == nullptr) return number(0);
  const Binding* to = present_capture(call, 1);
  return boolean(to != nullptr && has_path(call.context.graph, from->value, to->value));
}

Evaluated eval_broadcasts(const Call& call) {
  return of_value(call, [&](const ir::Value& value) {
    const Binding* to = present_capture(call, 1);
    return boolean(to != nullptr && stretches(value.type.shape, call.context.graph.value(to->value).type.shape));
  });
}

}  // namespace collage::match
