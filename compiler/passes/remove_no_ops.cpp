// SPDX-License-Identifier: Apache-2.0
// Removes nodes whose result is their operand, element by element. Exact: not a bit changes, signs of zeros included.
//
//     x * 1   x / 1   x - 0   x + (-0.0)   Pow(x, 1)     =>   x        x + 0 stays for floats: it makes 0 of -0
//     Cast to the dtype that x has                       =>   x        and there and back, through a wider dtype
//     Reshape, Transpose, Expand, Slice, Pad, Tile, Resize … that change neither shape nor order   =>   x
//     Concat, Sum, Max, Min, Mean of one operand; Split into one; a pool over windows of one       =>   x
//     Clip without bounds                                =>   x
//
// A node that makes an output stays where its operand cannot take the output's name: an input, a constant, another
// output.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "compiler/ir/ops/op_def.h"
#include "compiler/passes/match_node.h"
#include "compiler/passes/pass_manager.h"
#include "runtime/core/element.h"

namespace collage::passes {
namespace {

using ir::DType;
using ir::Node;
using ir::NodeId;
using ir::Tensor;
using ir::ValueId;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <size_t n>
bool is_one_of(std::string_view op, const std::string_view (&names)[n]) {
  return std::find(std::begin(names), std::end(names), op) != std::end(names);
}

/// All elements of the constant are this number; -0 is not 0.
bool is_all(const GraphEdit& edit, ValueId id, double wanted) {
  if (!id.is_valid() || !edit.value(id).is_constant()) return false;
  return all_elements(edit.value(id).constant->data, [wanted](double element) {
    return element == wanted && std::signbit(element) == std::signbit(wanted);
  });
}

/// The other operand of the operator's neutral element.
ValueId beside_neutral(const GraphEdit& edit, const Node& node) {
  if (node.inputs.size() != 2) return {};
  const std::string_view op = node.op->name;
  const bool is_whole = !runtime::is_float(edit.value(node.outputs[0]).type.dtype);
  const auto [a, b] = std::pair(node.inputs[0], node.inputs[1]);
  if (op == "Mul") return is_all(edit, b, 1) ? a : is_all(edit, a, 1) ? b : ValueId();
  if (op == "Div" || op == "Pow") return is_all(edit, b, 1) ? a : ValueId();
  if (op == "Sub") return is_all(edit, b, 0) ? a : ValueId();
  if (op == "Add") {
    const double zero = is_whole ? 0.0 : -0.0;
    return is_all(edit, b, zero) ? a : is_all(edit, a, zero) ? b : ValueId();
  }
  if (op == "And") return is_all(edit, b, 1) ? a : is_all(edit, a, 1) ? b : ValueId();
  if (op == "Or" || op == "Xor") return is_all(edit, b, 0) ? a : is_all(edit, a, 0) ? b : ValueId();
  return {};
}

/// Every value of `from` is one of `to`.
bool is_widening(DType from, DType to) {
  if (from == to) return true;
  switch (from) {
    case DType::Bool: return to != DType::F8E8M0;  // it has no 0
    case DType::U8: return to == DType::I32 || to == DType::I64 || to == DType::F32 || to == DType::F64;
    case DType::I8: return to == DType::I32 || to == DType::I64 || to == DType::F32 || to == DType::F64;
    case DType::I32: return to == DType::I64 || to == DType::F64;
    case DType::F32: return to == DType::F64;
    default: return false;
  }
}

/// x of Cast(x) to its own dtype, and of Cast(Cast(x)) back from a wider one.
ValueId cast_operand(const GraphEdit& edit, const Node& node) {
  const DType made = edit.value(node.outputs[0]).type.dtype;
  const DType given = edit.value(node.inputs[0]).type.dtype;
  if (made == given) return node.inputs[0];
  const Node* first = made_by(edit, node.inputs[0], "Cast");
  if (first == nullptr || edit.value(first->inputs[0]).type.dtype != made) return {};
  return is_widening(made, given) ? first->inputs[0] : ValueId();
}

bool are_all(const std::optional<std::vector<int64_t>>& numbers, int64_t wanted) {
  return numbers && std::all_of(numbers->begin(), numbers->end(), [=](int64_t number) { return number == wanted; });
}

bool is_open_bound(const GraphEdit& edit, const Node& node, size_t operand, double infinity) {
  return !ir::has_operand(node, operand) || is_all(edit, node.inputs[operand], infinity);
}

/// The result has the type of the first operand: do its elements stand where they stood?
bool keeps_order(const GraphEdit& edit, const Node& node) {
  static constexpr std::string_view kAlways[] = {"CastLike", "Dropout", "Expand", "Flatten",  "Identity",
                                                 "Reshape",  "Squeeze", "Tile",   "Unsqueeze"};
  const std::string_view op = node.op->name;
  const ir::Shape& shape = edit.value(node.inputs[0]).type.shape;
  if (op == "Concat" || op == "Sum" || op == "Max" || op == "Min" || op == "Mean") return node.inputs.size() == 1;
  if (is_one_of(op, kAlways)) return node.outputs.size() == 1;
  if (op == "Transpose") {
    std::vector<int64_t> perm = ir::attrs_of(node).ints_of("perm");
    std::erase_if(perm, [&shape](int64_t axis) { return shape[static_cast<size_t>(axis)] == 1; });
    const bool is_given = node.attrs.has("perm");
    const auto longer = std::count_if(shape.begin(), shape.end(), [](int64_t extent) { return extent != 1; });
    return is_given ? std::is_sorted(perm.begin(), perm.end()) : longer < 2;
  }
  // A slice with steps of 1 whose result has the same shape is the whole operand; so is padding without anything in
  // front.
  if (op == "Slice") return !ir::has_operand(node, 4) || are_all(whole_numbers(edit.graph(), node, 4), 1);
  if (op == "Pad") return are_all(whole_numbers(edit.graph(), node, 1), 0);
  if (op == "Resize") {
    // Dimensions of equal extent whose scale is 1 are copied in every mode but that of a region.
    return ir::attrs_of(node).string_of("coordinate_transformation_mode") != "tf_crop_and_resize" &&
           (!ir::has_operand(node, 2) || is_all(edit, node.inputs[2], 1));
  }
  if (op == "Split") return node.outputs.size() == 1;
  if (op == "Clip") return is_open_bound(edit, node, 1, -kInfinity) && is_open_bound(edit, node, 2, kInfinity);
  if (op == "MaxPool" || op == "AveragePool") {
    const std::vector<int64_t> window = ir::attrs_of(node).ints_of("kernel_shape"),
                               strides = ir::attrs_of(node).ints_of("strides"),
                               pads = ir::attrs_of(node).ints_of("pads");
    return node.outputs.size() == 1 && are_all(window, 1) && are_all(strides, 1) && are_all(pads, 0);
  }
  return false;
}

/// The value that the node's result equals; invalid if it is not known to.
ValueId equal_operand(const GraphEdit& edit, const Node& node) {
  if (node.inputs.empty() || !node.inputs[0].is_valid() || !node.outputs[0].is_valid()) return {};
  const std::string_view op = node.op->name;
  if (const ValueId other = beside_neutral(edit, node); other.is_valid()) return other;
  if (op == "Cast") return cast_operand(edit, node);
  const bool has_type = edit.value(node.inputs[0]).type == edit.value(node.outputs[0]).type;
  return has_type && keeps_order(edit, node) ? node.inputs[0] : ValueId();
}

}  // namespace

bool remove_no_ops(ir::Graph& graph, PassContext&) {
  return rewrite_all(graph, [](GraphEdit& edit, NodeId id) {
    const Node& node = edit.node(id);
    const ValueId same = equal_operand(edit, node);
    if (!same.is_valid() || same == node.outputs[0] || !edit.can_replace(node.outputs[0], same)) return;
    edit.replace(node.outputs[0], same);
  });
}

}  // namespace collage::passes
