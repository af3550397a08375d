// SPDX-License-Identifier: Apache-2.0
// Finds normalisations that exporters write in parts, and writes them as operators. Exact up to rounding.
//
//     %m = ReduceMean(%x) {axes = [-1]}   %d = Sub(%x, %m)   %v = ReduceMean(%d * %d) {axes = [-1]}
//     %s = Sqrt(%v + epsilon)   %n = Div(%d, %s)   %g = Mul(%n, %scale)   %y = Add(%g, %shift)
//     =>  %y = LayerNormalization(%x, %scale, %shift) {axis = -1}
//
//     The square is Mul(%d, %d) or Pow(%d, 2); instead of the Div there is a Mul by Reciprocal(%s), 1 / %s, or
//     Pow(%v + epsilon, -0.5). Scale and shift are constants of trailing dimensions, or missing. As Keras writes it:
//
//     %i = Mul(Reciprocal(%s), %scale)   %y = Add(Mul(%x, %i), Sub(%shift, Mul(%m, %i)))          =>   likewise
//
//     %r = Reshape(%x, [N, groups, -1])   %i = InstanceNormalization(%r, 1, 0)   %b = Reshape(%i, shape of %x)
//     %g = Mul(%b, %scale)   %y = Add(%g, %shift)
//     =>  %y = GroupNormalization(%x, %scale, %shift) {num_groups = groups}
//
// A part that something else reads is no part: the form stays.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "compiler/ir/ops/op_def.h"
#include "compiler/passes/match_node.h"
#include "compiler/passes/pass_manager.h"
#include "runtime/core/element.h"
#include "runtime/core/text.h"

namespace collage::passes {
namespace {

using ir::DType;
using ir::Node;
using ir::NodeId;
using ir::Shape;
using ir::Tensor;
using ir::ValueId;

/// Over the last dimensions, which stay with extent 1: the first of them, as a negative axis.
std::optional<int64_t> trailing_axis(const GraphEdit& edit, const Node& reduction) {
  if (ir::attrs_of(reduction).int_of("keepdims") != 1) return std::nullopt;
  const std::optional<std::vector<int64_t>> axes = reduced_axes(edit, reduction);
  const auto rank = static_cast<int64_t>(edit.value(reduction.inputs[0]).type.shape.size());
  if (!axes || axes->empty()) return std::nullopt;
  const auto count = static_cast<int64_t>(axes->size());
  for (int64_t i = 0; i < count; ++i) {
    if ((*axes)[static_cast<size_t>(i)] != rank - count + i) return std::nullopt;
  }
  return -count;
}

/// x less its mean, divided by its deviation.
struct Normalized {
  ValueId x;
  int64_t axis = -1;
  double epsilon = 0;
};

/// Mean over the same axes; `readers` of it.
const Node* mean_of(const GraphEdit& edit, ValueId id, int64_t axis, size_t readers) {
  const Node* mean = private_made_by(edit, id, "ReduceMean", readers);
  return mean != nullptr && trailing_axis(edit, *mean) == axis ? mean : nullptr;
}

/// d of Pow(d, 2) or Mul(d, d).
ValueId squared(const GraphEdit& edit, ValueId id) {
  if (const Node* power = private_made_by(edit, id, "Pow")) {
    return is_number(edit, power->inputs[1], 2) ? power->inputs[0] : ValueId();
  }
  const Node* product = private_made_by(edit, id, "Mul");
  return product != nullptr && product->inputs[0] == product->inputs[1] ? product->inputs[0] : ValueId();
}

/// Operands that read d to square it.
size_t readings_of_square(const GraphEdit& edit, ValueId square) {
  return made_by(edit, square, "Pow") != nullptr ? 1 : 2;
}

/// v + epsilon of what is 1 / Sqrt(v + epsilon) if `is_inverse`, else Sqrt(v + epsilon).
ValueId under_root(const GraphEdit& edit, ValueId id, bool is_inverse) {
  if (const Node* root = private_made_by(edit, id, "Sqrt")) return is_inverse ? ValueId() : root->inputs[0];
  if (const Node* power = private_made_by(edit, id, "Pow")) {
    return is_number(edit, power->inputs[1], is_inverse ? -0.5 : 0.5) ? power->inputs[0] : ValueId();
  }
  if (!is_inverse) return {};
  if (const Node* inverse = private_made_by(edit, id, "Reciprocal")) return under_root(edit, inverse->inputs[0], false);
  const Node* quotient = private_made_by(edit, id, "Div");
  if (quotient == nullptr || !is_number(edit, quotient->inputs[0], 1)) return {};
  return under_root(edit, quotient->inputs[1], false);
}

/// The variance and epsilon of a value `sum`.
struct Variance {
  ValueId square;
  int64_t axis = -1;
  double epsilon = 0;
};

std::optional<Variance> variance_of(const GraphEdit& edit, ValueId sum) {
  const Node* add = private_made_by(edit, sum, "Add");
  const std::optional<WithNumber> with_epsilon = add != nullptr ? with_number(edit, *add) : std::nullopt;
  if (!with_epsilon || !(with_epsilon->number >= 0)) return std::nullopt;
  const Node* mean = private_made_by(edit, with_epsilon->value, "ReduceMean");
  if (mean == nullptr) return std::nullopt;
  const std::optional<int64_t> axis = trailing_axis(edit, *mean);
  if (!axis) return std::nullopt;
  // The attribute of the operator is an f32.
  const auto epsilon = static_cast<float>(with_epsilon->number);
  if (static_cast<double>(epsilon) != with_epsilon->number) return std::nullopt;
  return Variance{mean->inputs[0], *axis, runtime::shortest_double(epsilon)};
}

/// Div(d, root) or Mul(d, inverse root).
std::optional<Normalized> normalized_by(const GraphEdit& edit, const Node& node) {
  const bool is_quotient = node.op->name == "Div";
  for (size_t i = 0; i < (is_quotient ? 1 : 2); ++i) {
    const ValueId centred = node.inputs[i];
    const ValueId sum = under_root(edit, node.inputs[1 - i], !is_quotient);
    if (!sum.is_valid()) continue;
    const std::optional<Variance> variance = variance_of(edit, sum);
    if (!variance || squared(edit, variance->square) != centred) continue;
    const Node* difference = private_made_by(edit, centred, "Sub", 1 + readings_of_square(edit, variance->square));
    if (difference == nullptr) continue;
    const ValueId x = difference->inputs[0];
    const Node* mean = mean_of(edit, difference->inputs[1], variance->axis, 1);
    if (mean == nullptr || mean->inputs[0] != x || edit.value(x).type != edit.value(centred).type) continue;
    return Normalized{x, variance->axis, variance->epsilon};
  }
  return std::nullopt;
}

Shape normalized_shape(const GraphEdit& edit, const Normalized& found) {
  const Shape& shape = edit.value(found.x).type.shape;
  return {shape.end() + found.axis, shape.end()};
}

/// The elements of a constant as a tensor of this shape, to which it is broadcast; nullopt where it is larger.
std::optional<Tensor> spread(const Tensor& constant, const Shape& shape) {
  Shape from = constant.shape();
  while (from.size() > shape.size() && from.front() == 1) from.erase(from.begin());
  const int64_t count = runtime::element_count(shape);
  if (from == shape) return constant.reshaped(shape);
  if (constant.count() != 1) return std::nullopt;
  Tensor filled(constant.dtype(), shape);
  const size_t width = size_of(constant.dtype());
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(filled.data() + static_cast<size_t>(i) * width, constant.data(), width);
  return filled;
}

/// What reads `id` and nothing else does, if it is this operator with a constant that spreads to `shape`.
struct ConstantReader {
  NodeId node;
  Tensor constant;
};

std::optional<ConstantReader> constant_reader(const GraphEdit& edit, ValueId id, std::string_view op,
                                              const Shape& shape) {
  if (!is_read_by(edit, id, 1)) return std::nullopt;
  const NodeId reader = edit.value(id).uses[0].node;
  const Node& node = edit.node(reader);
  if (!edit.is_free(reader) || node.op->name != op || node.inputs.size() != 2) return std::nullopt;
  const ValueId other = beside(&node, id);
  if (!edit.value(other).is_constant() || edit.value(node.outputs[0]).type != edit.value(id).type) return std::nullopt;
  std::optional<Tensor> constant = spread(edit.value(other).constant->data, shape);
  if (!constant) return std::nullopt;
  return ConstantReader{reader, std::move(*constant)};
}

Tensor filled_with(DType dtype, const Shape& shape, double number) {
  Tensor one(dtype, {});
  if (dtype == DType::F32) one.as<float>()[0] = static_cast<float>(number);
  if (dtype == DType::F64) one.as<double>()[0] = number;
  return *spread(one, shape);
}

bool is_computed_dtype(DType dtype) {
  return dtype == DType::F32 || dtype == DType::F64;
}

void write_layer_norm(GraphEdit& edit, ValueId result, const Normalized& found, Tensor scale,
                      std::optional<Tensor> shift) {
  const std::string base = edit.value(result).name;
  std::vector<ValueId> inputs = {found.x, edit.add_constant(base + ".scale", std::move(scale))};
  if (shift) inputs.push_back(edit.add_constant(base + ".shift", std::move(*shift)));
  ir::AttrMap attrs;
  attrs.set("axis", found.axis);
  attrs.set("epsilon", found.epsilon);
  edit.replace_by(result, "LayerNormalization", std::move(inputs), std::move(attrs));
}

void fuse_layer_norm(GraphEdit& edit, NodeId id) {
  const std::optional<Normalized> found = normalized_by(edit, edit.node(id));
  if (!found) return;
  ValueId result = edit.node(id).outputs[0];
  const ir::TensorType type = edit.value(result).type;
  if (type != edit.value(found->x).type || !is_computed_dtype(type.dtype)) return;
  const Shape shape = normalized_shape(edit, *found);
  std::optional<ConstantReader> scale = constant_reader(edit, result, "Mul", shape);
  if (scale) result = edit.node(scale->node).outputs[0];
  std::optional<ConstantReader> shift = constant_reader(edit, result, "Add", shape);
  if (shift) result = edit.node(shift->node).outputs[0];
  write_layer_norm(edit, result, *found, scale ? std::move(scale->constant) : filled_with(type.dtype, shape, 1),
                   shift ? std::optional(std::move(shift->constant)) : std::nullopt);
}

/// Add(Mul(x, i), Sub(shift, Mul(mean, i))) with i = scale / root.
void fuse_keras_form(GraphEdit& edit, NodeId id) {
  const Node& node = edit.node(id);
  for (size_t i : {size_t{0}, size_t{1}}) {
    const Node* rest = private_made_by(edit, node.inputs[i], "Sub");
    const Node* scaled = private_made_by(edit, node.inputs[1 - i], "Mul");
    if (rest == nullptr || scaled == nullptr || !edit.value(rest->inputs[0]).is_constant()) continue;
    const Node* of_mean = private_made_by(edit, rest->inputs[1], "Mul");
    if (of_mean == nullptr) continue;
    for (size_t k : {size_t{0}, size_t{1}}) {
      const ValueId x = scaled->inputs[k], factor = scaled->inputs[1 - k];
      const Node* product = private_made_by(edit, factor, "Mul", 2);
      const Node* mean = made_by(edit, beside(of_mean, factor), "ReduceMean");
      if (product == nullptr || mean == nullptr || mean->inputs[0] != x) continue;
      const std::optional<int64_t> axis = trailing_axis(edit, *mean);
      for (size_t c : {size_t{0}, size_t{1}}) {
        const ValueId sum = under_root(edit, product->inputs[1 - c], true);
        if (!axis || !sum.is_valid() || !edit.value(product->inputs[c]).is_constant()) continue;
        const std::optional<Variance> variance = variance_of(edit, sum);
        if (!variance || variance->axis != *axis) continue;
        const ValueId centred = squared(edit, variance->square);
        if (!centred.is_valid()) continue;
        const Node* difference = private_made_by(edit, centred, "Sub", readings_of_square(edit, variance->square));
        // The mean is read here and by the difference.
        if (difference == nullptr || difference->inputs[0] != x || difference->inputs[1] != mean->outputs[0] ||
            !is_read_by(edit, mean->outputs[0], 2) || edit.value(x).type != edit.value(node.outputs[0]).type) {
          continue;
        }
        const Normalized found{x, *axis, variance->epsilon};
        const Shape shape = normalized_shape(edit, found);
        std::optional<Tensor> scale = spread(edit.value(product->inputs[c]).constant->data, shape);
        std::optional<Tensor> shift = spread(edit.value(rest->inputs[0]).constant->data, shape);
        if (!scale || !shift || !is_computed_dtype(scale->dtype())) continue;
        return write_layer_norm(edit, node.outputs[0], found, std::move(*scale), std::move(shift));
      }
    }
  }
}

bool is_splat_of(const GraphEdit& edit, ValueId id, double wanted) {
  if (!edit.value(id).is_constant()) return false;
  return all_elements(edit.value(id).constant->data, [wanted](double element) { return element == wanted; });
}

/// Numbers of channels, as [channels, 1, …], which stand beside [n, channels, …].
std::optional<Tensor> numbers_of_channels(const Tensor& constant, const Shape& shape) {
  const int64_t channels = shape[1];
  if (constant.count() == 1) return spread(constant, {channels});
  const size_t rank = constant.shape().size(), inner = shape.size() - 2;
  if (constant.count() != channels || rank < inner + 1 || constant.shape()[rank - inner - 1] != channels) {
    return std::nullopt;
  }
  return constant.reshaped({channels});
}

void fuse_group_norm(GraphEdit& edit, NodeId id) {
  const Node& norm = edit.node(id);
  const Node* grouped = private_made_by(edit, norm.inputs[0], "Reshape");
  if (grouped == nullptr || !is_read_by(edit, norm.outputs[0], 1)) return;
  const ValueId x = grouped->inputs[0];
  const Shape& shape = edit.value(x).type.shape;
  const Shape& groups = edit.value(norm.inputs[0]).type.shape;
  if (shape.size() < 3 || groups.size() < 3 || shape[0] != groups[0] || groups[1] == 0 || shape[1] % groups[1] != 0 ||
      !is_splat_of(edit, norm.inputs[1], 1) || !is_splat_of(edit, norm.inputs[2], 0)) {
    return;
  }
  const NodeId back = edit.value(norm.outputs[0]).uses[0].node;
  if (!edit.is_free(back) || edit.node(back).op->name != "Reshape") return;
  ValueId result = edit.node(back).outputs[0];
  if (edit.value(result).type != edit.value(x).type || !is_computed_dtype(edit.value(x).type.dtype)) return;
  const DType dtype = edit.value(x).type.dtype;
  Tensor scale = filled_with(dtype, {shape[1]}, 1), shift = filled_with(dtype, {shape[1]}, 0);
  for (Tensor* part : {&scale, &shift}) {
    const std::string_view op = part == &scale ? "Mul" : "Add";
    if (!is_read_by(edit, result, 1)) break;
    const NodeId reader = edit.value(result).uses[0].node;
    const Node& affine = edit.node(reader);
    if (!edit.is_free(reader) || affine.op->name != op || affine.inputs.size() != 2) continue;
    const ValueId other = beside(&affine, result);
    if (!edit.value(other).is_constant() || edit.value(affine.outputs[0]).type != edit.value(x).type) continue;
    std::optional<Tensor> numbers = numbers_of_channels(edit.value(other).constant->data, shape);
    if (!numbers) continue;
    *part = std::move(*numbers);
    result = affine.outputs[0];
  }
  ir::AttrMap attrs;
  if (const runtime::AttrValue* epsilon = norm.attrs.find("epsilon")) attrs.set("epsilon", *epsilon);
  attrs.set("num_groups", groups[1]);
  const std::string base = edit.value(result).name;
  const ValueId scale_id = edit.add_constant(base + ".scale", std::move(scale));
  const ValueId shift_id = edit.add_constant(base + ".shift", std::move(shift));
  edit.replace_by(result, "GroupNormalization", {x, scale_id, shift_id}, std::move(attrs));
}

}  // namespace

bool fuse_normalizations(ir::Graph& graph, PassContext&) {
  return rewrite_all(graph, [](GraphEdit& edit, NodeId id) {
    const std::string_view op = edit.node(id).op->name;
    if (op == "Div" || op == "Mul") fuse_layer_norm(edit, id);
    if (op == "Add") fuse_keras_form(edit, id);
    if (op == "InstanceNormalization") fuse_group_norm(edit, id);
  });
}

}  // namespace collage::passes
