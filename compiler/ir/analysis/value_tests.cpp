// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/analysis/value_tests.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "compiler/ir/ops/op_def.h"
#include "runtime/core/element.h"

namespace collage::ir {
namespace {

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_comparison(std::string_view op) {
  return is_one_of(op, {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"});
}

class TestFinder {
 public:
  explicit TestFinder(const Graph& graph) : graph_(graph), of_value_(graph.value_count()) {}

  std::vector<ValueTests> run() {
    std::vector<ValueTests> of_node(graph_.node_count());
    for (size_t i = graph_.node_count(); i-- > 0;) {
      const NodeId id(i);
      const Node& node = graph_.node(id);
      ValueTests& tests = of_node[i];
      for (ValueId result : node.outputs) {
        if (result.is_valid() && is_float(result)) add(&tests, of_value_[result.slot()]);
      }
      ValueTests passed = tests;
      add(&passed, test_by(id));
      for (ValueId operand : node.inputs) {
        if (operand.is_valid() && is_float(operand)) add(&of_value_[operand.slot()], passed);
      }
    }
    return of_node;
  }

 private:
  static void add(ValueTests* to, const ValueTests& from) {
    if (!to->for_nan.is_valid()) to->for_nan = from.for_nan;
    if (!to->for_inf.is_valid()) to->for_inf = from.for_inf;
  }

  bool is_float(ValueId value) const { return runtime::is_float(graph_.value(value).type.dtype); }

  /// What the node itself tests its operands for.
  ValueTests test_by(NodeId id) const {
    const Node& node = graph_.node(id);
    const std::string_view op = node.op->name;
    OwnTests tests;
    if (node.inputs.size() != 2) {
      tests = tests_of_operator(op, false);
    } else {
      const ValueId left = source(node.inputs[0]), right = source(node.inputs[1]);
      tests = tests_of_operator(op, left == right);
      if (op == "Mul" && (is_zero(left) || is_zero(right))) tests = {true, true};
      if (is_comparison(op) && left != right) tests.for_inf = is_limit(left) || is_limit(right);
    }
    const ValueId result = graph_.first_output(id);
    return {tests.for_nan ? result : ValueId(), tests.for_inf ? result : ValueId()};
  }

  /// The value that is copied to this one.
  ValueId source(ValueId value) const {
    for (NodeId producer = graph_.value(value).producer; producer.is_valid(); producer = graph_.value(value).producer) {
      const Node& node = graph_.node(producer);
      if (!is_one_of(node.op->name, {"Cast", "Dropout", "Identity", "Reshape"})) break;
      if (!node.inputs[0].is_valid() || !is_float(node.inputs[0])) break;
      value = node.inputs[0];
    }
    return value;
  }

  template <typename F>
  bool is_constant_of(ValueId value, const F& holds) const {
    const std::optional<Constant>& constant = graph_.value(value).constant;
    return constant && constant->form != Constant::Form::Random && runtime::all_elements(constant->data, holds);
  }

  bool is_zero(ValueId value) const {
    return is_constant_of(value, [](double element) { return element == 0; });
  }

  /// An infinity, or so large that twice as much is none of the type's numbers.
  bool is_limit(ValueId value) const {
    const DType dtype = graph_.value(value).type.dtype;
    return runtime::is_float(dtype) && is_constant_of(value, [dtype](double element) {
             return std::isinf(2 * element) || (!std::isnan(element) && !runtime::holds(dtype, 2 * element));
           });
  }

  const Graph& graph_;
  std::vector<ValueTests> of_value_;
};

}  // namespace

OwnTests tests_of_operator(std::string_view op, bool is_of_one_value) {
  if (op == "IsNaN") return {.for_nan = true};
  if (op == "IsInf") return {.for_inf = true};
  if (!is_of_one_value) return {};
  const bool is_both = is_one_of(op, {"Div", "Sub"});
  return {.for_nan = is_both || is_comparison(op), .for_inf = is_both};
}

std::vector<ValueTests> find_value_tests(const Graph& graph) {
  return TestFinder(graph).run();
}

}  // namespace collage::ir
