// SPDX-License-Identifier: Apache-2.0
// Functions of a captured value or node: its type, its place in the graph, its elements if it is a constant.
#include <fmt/format.h>

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

Evaluated eval_is_output(const Call& call) {
  return of_value(call, [](const ir::Value& value) { return boolean(value.is_output); });
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

Evaluated eval_broadcasts(const Call& call) {
  return of_value(call, [&](const ir::Value& value) {
    const Binding* to = present_capture(call, 1);
    return boolean(to != nullptr && stretches(value.type.shape, call.context.graph.value(to->value).type.shape));
  });
}

}  // namespace collage::match
