// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/pointwise.h"

#include <algorithm>

#include "compiler/ir/ops/op_def.h"

namespace collage::passes {

bool is_pointwise(const ir::Node& node) {
  static constexpr std::string_view kOps[] = {"Abs",
                                              "Acos",
                                              "Acosh",
                                              "Add",
                                              "And",
                                              "Asin",
                                              "Asinh",
                                              "Atan",
                                              "Atanh",
                                              "Cast",
                                              "Ceil",
                                              "Celu",
                                              "Clip",
                                              "Cos",
                                              "Cosh",
                                              "Div",
                                              "Elu",
                                              "Equal",
                                              "Erf",
                                              "Exp",
                                              "Floor",
                                              "Gelu",
                                              "Greater",
                                              "GreaterOrEqual",
                                              "HardSigmoid",
                                              "HardSwish",
                                              "IsInf",
                                              "IsNaN",
                                              "LeakyRelu",
                                              "Less",
                                              "LessOrEqual",
                                              "Log",
                                              "Max",
                                              "Mean",
                                              "Min",
                                              "Mish",
                                              "Mod",
                                              "Mul",
                                              "Neg",
                                              "Not",
                                              "Or",
                                              "Pow",
                                              "Reciprocal",
                                              "Relu",
                                              "Round",
                                              "Selu",
                                              "Shrink",
                                              "Sigmoid",
                                              "Sign",
                                              "Sin",
                                              "Sinh",
                                              "Softplus",
                                              "Softsign",
                                              "Sqrt",
                                              "Sub",
                                              "Sum",
                                              "Tan",
                                              "Tanh",
                                              "ThresholdedRelu",
                                              "Where",
                                              "Xor"};
  return node.outputs.size() == 1 && !node.inputs.empty() && node.inputs[0].is_valid() &&
         std::find(std::begin(kOps), std::end(kOps), node.op->name) != std::end(kOps);
}

bool has_zero(const GraphEdit& edit, ir::ValueId id) {
  const ir::Shape& shape = edit.value(id).type.shape;
  return std::find(shape.begin(), shape.end(), 0) != shape.end();
}

ir::AttrMap with_attr(std::string name, runtime::AttrValue value, bool is_wanted) {
  ir::AttrMap attrs;
  if (is_wanted) attrs.set(std::move(name), std::move(value));
  return attrs;
}

}  // namespace collage::passes
