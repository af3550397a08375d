// SPDX-License-Identifier: Apache-2.0
// The changes follow ONNX's Changelog.md: each row is one change of an operator's definition between two opsets.
#include "compiler/import/upgrade.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "compiler/import/proto.h"
#include "compiler/ir/evaluate.h"

namespace collage::import {
namespace {

using ir::AttrMap;
using ir::DType;
using ir::Shape;
using ir::ValueId;
using runtime::Ints;
using support::Code;

bool unsupported(const PendingNode& node, Emitter& emitter, const std::string& what) {
  return emitter.diags().error_at(Code::UnsupportedOnnx, node.where, "{}", what);
}

std::string result_name(const PendingNode& node) {
  return node.outputs.empty() ? node.op : node.outputs[0];
}

std::string name_for(const PendingNode& node, std::string_view what) {
  return result_name(node) + "." + std::string(what);
}

bool has_input(const PendingNode& node, size_t i) {
  return i < node.inputs.size() && node.inputs[i].is_valid();
}

void set_input(PendingNode& node, size_t i, ValueId value) {
  if (node.inputs.size() <= i) node.inputs.resize(i + 1);
  node.inputs[i] = value;
}

/// {axes = [1]}  =>  operand `i`
void ints_to_operand(PendingNode& node, Emitter& emitter, std::string_view attr, size_t i) {
  if (!node.attrs.has(attr)) return;
  set_input(node, i, emitter.add_ints(name_for(node, attr), node.attrs.get_ints(attr)));
  node.attrs.erase(attr);
}

/// Removes unused results beyond the first; returns false if one of them is read.
bool keep_first_result(PendingNode& node, const Emitter& emitter) {
  for (size_t i = 1; i < node.outputs.size(); ++i) {
    if (emitter.is_read(node.outputs[i])) return false;
  }
  if (node.outputs.size() > 1) node.outputs.resize(1);
  return true;
}

// Add, Sub, Mul, Div, Pow, comparisons and logic before opset 7: B is broadcast only if `broadcast` says so, and then
// aligned to A at `axis`. Sub(a[2,3,4], b[3]) {axis = 1}  =>  Sub(a, Reshape(b, [3, 1]))
bool legacy_broadcast(PendingNode& node, Emitter& emitter) {
  bool is_broadcast = node.attrs.get_int("broadcast", 0) != 0;
  bool has_axis = node.attrs.has("axis");
  int64_t axis = node.attrs.get_int("axis", -1);
  node.attrs.erase("broadcast");
  node.attrs.erase("axis");
  if (!is_broadcast || !has_axis || !has_input(node, 0) || !has_input(node, 1)) return true;
  auto rank = static_cast<int64_t>(emitter.type(node.inputs[0]).shape.size());
  Shape shape = emitter.type(node.inputs[1]).shape;
  if (axis < 0) axis += rank;
  int64_t missing = rank - axis - static_cast<int64_t>(shape.size());
  if (axis < 0 || missing < 0) {
    return emitter.diags().error_at(Code::BadAttribute, node.where, "axis {} does not fit operands of shape {} and {}",
                                    axis, runtime::to_string(emitter.type(node.inputs[0]).shape),
                                    runtime::to_string(shape));
  }
  if (missing == 0) return true;
  shape.insert(shape.end(), static_cast<size_t>(missing), 1);
  ValueId target = emitter.add_ints(name_for(node, "shape"), shape);
  node.inputs[1] = emitter.emit_before(node, "Reshape", {node.inputs[1], target}, {}, name_for(node, "aligned"));
  return node.inputs[1].is_valid();
}

// PRelu before opset 7: a slope of one dimension is per channel. slope: f32[C]  =>  f32[C, 1, 1]
bool prelu_slope(PendingNode& node, Emitter& emitter) {
  if (!has_input(node, 0) || !has_input(node, 1)) return true;
  const Shape& slope = emitter.type(node.inputs[1]).shape;
  size_t rank = emitter.type(node.inputs[0]).shape.size();
  if (slope.size() != 1 || slope[0] == 1 || rank < 3) return true;
  Ints shape(rank - 1, 1);
  shape[0] = slope[0];
  ValueId target = emitter.add_ints(name_for(node, "shape"), shape);
  node.inputs[1] = emitter.emit_before(node, "Reshape", {node.inputs[1], target}, {}, name_for(node, "slope"));
  return node.inputs[1].is_valid();
}

// Softmax(x[2,3,4,5]) {axis = 1} before opset 13 normalises all of [3,4,5] at once:
//   =>  Reshape(Softmax(Flatten(x) {axis = 1}) {axis = -1}, [2, 3, 4, 5])
// If at most one of those dimensions is not 1, it is Softmax over that one.
bool softmax_of_flattened(PendingNode& node, Emitter& emitter) {
  if (!has_input(node, 0)) return true;
  const Shape shape = emitter.type(node.inputs[0]).shape;
  auto rank = static_cast<int64_t>(shape.size());
  int64_t axis = node.attrs.get_int("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= std::max<int64_t>(rank, 1)) return true;  // inference reports the error
  int64_t wide_axis = axis;
  int wide_count = 0;
  for (int64_t i = axis; i < rank; ++i) {
    if (shape[static_cast<size_t>(i)] == 1) continue;
    wide_axis = i;
    ++wide_count;
  }
  if (wide_count <= 1) {
    node.attrs.set("axis", wide_axis);
    return true;
  }
  AttrMap flatten;
  flatten.set("axis", axis);
  ValueId flat = emitter.emit_before(node, "Flatten", {node.inputs[0]}, flatten, name_for(node, "flat"));
  if (!flat.is_valid()) return false;
  AttrMap last;
  last.set("axis", int64_t{-1});
  ValueId rows = emitter.emit_before(node, node.op, {flat}, last, name_for(node, "rows"));
  if (!rows.is_valid()) return false;
  node.inputs = {rows, emitter.add_ints(name_for(node, "shape"), shape)};
  node.op = "Reshape";
  node.attrs = {};
  return true;
}

bool batch_norm(PendingNode& node, Emitter& emitter) {
  if (node.attrs.get_int("spatial", 1) == 0) {
    return unsupported(node, emitter, "BatchNormalization with spatial = 0 is not supported");
  }
  if (node.attrs.get_int("training_mode", 0) != 0 || !keep_first_result(node, emitter)) {
    return unsupported(node, emitter, "BatchNormalization in training mode is not supported");
  }
  for (std::string_view attr : {"spatial", "is_test", "training_mode", "momentum"}) node.attrs.erase(attr);
  return true;
}

// Training with a ratio of 0 drops nothing. torchvision's Swin transformers are exported this way.
bool drops_nothing(const PendingNode& node, const Emitter& emitter) {
  const ir::Tensor* ratio = has_input(node, 1) ? emitter.constant(node.inputs[1]) : nullptr;
  return ratio != nullptr && ratio->count() == 1 && runtime::element_as_double(ratio->view(), 0) == 0;
}

// Inference: the first result is the operand, the mask (bool since opset 10) is all true. Ratio and seed have no
// effect.
bool dropout(PendingNode& node, Emitter& emitter, bool has_bool_mask) {
  if (has_input(node, 2)) {
    const ir::Tensor* mode = emitter.constant(node.inputs[2]);
    bool is_training = mode == nullptr || mode->count() != 1 || runtime::element_as_double(mode->view(), 0) != 0;
    if (is_training && !drops_nothing(node, emitter)) {
      return unsupported(node, emitter, "Dropout in training mode is not supported");
    }
  }
  if (!keep_first_result(node, emitter) && !has_bool_mask) {
    return unsupported(node, emitter, "the mask of Dropout before opset 10 is not supported");
  }
  if (!node.inputs.empty()) node.inputs.resize(1);
  node.attrs = {};
  return true;
}

bool dropout_with_float_mask(PendingNode& node, Emitter& emitter) {
  return dropout(node, emitter, false);
}
bool dropout_with_bool_mask(PendingNode& node, Emitter& emitter) {
  return dropout(node, emitter, true);
}

// Clip(x) {min = 0.0, max = 6.0}  =>  Clip(x, 0.0, 6.0)
bool clip_bounds(PendingNode& node, Emitter& emitter) {
  if (!has_input(node, 0)) return true;
  DType dtype = emitter.type(node.inputs[0]).dtype;
  size_t i = 1;
  for (std::string_view bound : {"min", "max"}) {
    if (node.attrs.has(bound)) {
      set_input(node, i, emitter.add_scalar(name_for(node, bound), dtype, node.attrs.get_float(bound, 0)));
      node.attrs.erase(bound);
    }
    ++i;
  }
  return true;
}

bool axes_operand(PendingNode& node, Emitter& emitter) {
  ints_to_operand(node, emitter, "axes", 1);
  return true;
}

bool split_operand(PendingNode& node, Emitter& emitter) {
  ints_to_operand(node, emitter, "split", 1);
  return true;
}

bool reshape_operand(PendingNode& node, Emitter& emitter) {
  ints_to_operand(node, emitter, "shape", 1);
  return true;
}

bool top_k_operand(PendingNode& node, Emitter& emitter) {
  if (node.attrs.has("k")) set_input(node, 1, emitter.add_ints(name_for(node, "k"), {node.attrs.get_int("k", 0)}));
  node.attrs.erase("k");
  return true;
}

bool slice_operands(PendingNode& node, Emitter& emitter) {
  ints_to_operand(node, emitter, "starts", 1);
  ints_to_operand(node, emitter, "ends", 2);
  ints_to_operand(node, emitter, "axes", 3);
  return true;
}

bool pad_operands(PendingNode& node, Emitter& emitter) {
  if (!has_input(node, 0)) return true;
  ints_to_operand(node, emitter, node.attrs.has("paddings") ? "paddings" : "pads", 1);
  double value = node.attrs.get_float("value", 0.0);
  if (node.attrs.has("value") && node.attrs.get_string("mode", "constant") == "constant") {
    set_input(node, 2, emitter.add_scalar(name_for(node, "value"), emitter.type(node.inputs[0]).dtype, value));
  }
  node.attrs.erase("value");
  return true;
}

// Upsample(x) {scales = [1.0, 1.0, 2.0, 2.0]}  =>  Resize(x, _, [1.0, 1.0, 2.0, 2.0]) in the coordinates it used.
// Resize(x, scales) of opset 10 likewise.
bool to_resize(PendingNode& node, Emitter& emitter) {
  node.op = "Resize";
  ValueId scales;
  if (has_input(node, 1)) {
    scales = node.inputs[1];
  } else if (node.attrs.has("scales")) {
    scales = emitter.add_floats(name_for(node, "scales"), node.attrs.get_floats("scales"));
  } else {
    scales = emitter.add_floats(name_for(node, "scales"), {1.0, 1.0, node.attrs.get_float("height_scale", 1.0),
                                                           node.attrs.get_float("width_scale", 1.0)});
  }
  std::string mode = node.attrs.get_string("mode", "nearest");
  node.inputs.resize(1);
  set_input(node, 2, scales);
  node.attrs = {};
  node.attrs.set("mode", mode == "bilinear" ? "linear" : mode);
  node.attrs.set("coordinate_transformation_mode", std::string("asymmetric"));
  if (mode == "nearest") node.attrs.set("nearest_mode", std::string("floor"));
  return true;
}

bool cast_by_name(PendingNode& node, Emitter& emitter) {
  std::string name = node.attrs.get_string("to", "");
  if (name.empty()) return true;
  onnx::TensorProto_DataType type;
  if (!onnx::TensorProto_DataType_Parse(name, &type)) {
    return emitter.diags().error_at(Code::BadAttribute, node.where, "`{}` is not an element type", name);
  }
  node.attrs.set("to", int64_t{type});
  return true;
}

// `output_dtype` (opset 21) can replace the dtype of a zero point.
// QuantizeLinear(x, scale) {output_dtype = 3}  =>  QuantizeLinear(x, scale, 0: i8)
bool quantize_output_dtype(PendingNode& node, Emitter& emitter) {
  auto to = static_cast<int>(node.attrs.get_int("output_dtype", onnx::TensorProto::UNDEFINED));
  node.attrs.erase("output_dtype");
  if (to == onnx::TensorProto::UNDEFINED || has_input(node, 2) || !has_input(node, 1)) return true;
  std::optional<DType> dtype = dtype_of(to);
  if (!dtype) return unsupported(node, emitter, "QuantizeLinear to " + element_name(to) + " is not supported");
  ir::Tensor zero(*dtype, emitter.type(node.inputs[1]).shape);
  set_input(node, 2,
            emitter.graph().add_constant(emitter.fresh_name(name_for(node, "zero_point")),
                                         ir::make_constant(std::move(zero))));
  return true;
}

bool is_float8(DType dtype) {
  return runtime::is_float(dtype) && !runtime::is_arithmetic(dtype);
}

// `saturate` (opset 19) and `round_mode` (24) tell how to make a float8. Of other results they say nothing.
bool drop_idle_rounding(PendingNode& node, Emitter& emitter) {
  std::optional<DType> to;
  if (node.op == "Cast") {
    to = dtype_of(static_cast<int>(node.attrs.get_int("to", 0)));
  } else if (const size_t like = node.op == "CastLike" ? 1 : 2; has_input(node, like)) {
    to = emitter.type(node.inputs[like]).dtype;
  }
  if (to && is_float8(*to)) return true;
  node.attrs.erase("saturate");
  node.attrs.erase("round_mode");
  return true;
}

// 0 is how a file says that it leaves such an attribute out.
bool drop_zeros(PendingNode& node, Emitter&) {
  for (const char* name : {"block_size", "output_dtype", "precision"}) {
    if (node.attrs.has(name) && node.attrs.get_int(name, 0) == 0) node.attrs.erase(name);
  }
  return true;
}

bool rename_scatter(PendingNode& node, Emitter&) {
  node.op = "ScatterElements";
  return true;
}

bool concat_axis(PendingNode& node, Emitter&) {
  if (!node.attrs.has("axis")) node.attrs.set("axis", int64_t{1});
  return true;
}

// ConstantFill(shape) {input_as_shape = 1, value = 2.0}  =>  ConstantOfShape(shape) {value = [2.0]}
// An experimental operator of opsets up to 8; PyTorch writes it for the first states of recurrent layers.
bool constant_fill(PendingNode& node, Emitter& emitter) {
  auto element = static_cast<int>(node.attrs.get_int("dtype", onnx::TensorProto::FLOAT));
  std::optional<DType> dtype = dtype_of(element);
  if (!dtype) return unsupported(node, emitter, "a ConstantFill of " + element_name(element) + " is not supported");
  if (!node.attrs.get_ints("extra_shape").empty()) {
    return unsupported(node, emitter, "ConstantFill with `extra_shape` is not supported");
  }
  if (node.attrs.has("shape")) {
    node.inputs = {emitter.add_ints(name_for(node, "shape"), node.attrs.get_ints("shape"))};
  } else if (node.attrs.get_int("input_as_shape", 0) == 0 && has_input(node, 0)) {
    node.inputs = {emitter.add_ints(name_for(node, "shape"), emitter.type(node.inputs[0]).shape)};
  }
  ir::Tensor value = emitter.scalar(*dtype, node.attrs.get_float("value", 0)).reshaped({1});
  node.op = "ConstantOfShape";
  node.attrs = {};
  node.attrs.set("value", value);
  return true;
}

bool gemm_broadcast(PendingNode& node, Emitter&) {
  node.attrs.erase("broadcast");
  return true;
}

// Opset 18: the axes of reductions became an operand, as those of ReduceSum had before.
bool axes_attribute(PendingNode& node, Emitter& emitter) {
  bool reduces_none = node.attrs.get_int("noop_with_empty_axes", 0) != 0;
  node.attrs.erase("noop_with_empty_axes");
  Ints axes;
  if (has_input(node, 1)) {
    const ir::Tensor* constant = emitter.constant(node.inputs[1]);
    if (constant == nullptr) {
      return emitter.diags().error_at(Code::NotConstant, node.where, "the axes of {} must be constant", node.op);
    }
    for (int64_t i = 0; i < constant->count(); ++i) axes.push_back(runtime::element_as_int(constant->view(), i));
  }
  if (!node.inputs.empty()) node.inputs.resize(1);
  if (!axes.empty()) node.attrs.set("axes", axes);
  if (axes.empty() && reduces_none) {
    node.op = "Identity";
    node.attrs = {};
  }
  return true;
}

// Split(x) {num_outputs = 3}  =>  Split(x, sizes), the last one smaller where the axis does not divide.
bool split_num_outputs(PendingNode& node, Emitter& emitter) {
  int64_t parts = node.attrs.get_int("num_outputs", 0);
  node.attrs.erase("num_outputs");
  if (has_input(node, 1) || !has_input(node, 0) || parts < 1 || parts > (1 << 16)) return true;
  const Shape& shape = emitter.type(node.inputs[0]).shape;
  int64_t axis = node.attrs.get_int("axis", 0);
  if (axis < 0) axis += static_cast<int64_t>(shape.size());
  if (axis < 0 || axis >= static_cast<int64_t>(shape.size())) return true;
  int64_t left = shape[static_cast<size_t>(axis)];
  int64_t chunk = (left + parts - 1) / parts;
  Ints sizes;
  for (int64_t i = 0; i < parts; ++i) {
    sizes.push_back(std::min(chunk, left));
    left -= sizes.back();
  }
  set_input(node, 1, emitter.add_ints(name_for(node, "split"), sizes));
  return true;
}

// Opset 18: Pad may name the axes that it pads.  pads = [1, 2] of axes = [2] in rank 3  =>  pads = [0, 0, 1, 0, 0, 2]
bool pad_all_axes(PendingNode& node, Emitter& emitter) {
  if (!has_input(node, 3) || !has_input(node, 1) || !has_input(node, 0)) return true;
  const ir::Tensor* axes = emitter.constant(node.inputs[3]);
  const ir::Tensor* pads = emitter.constant(node.inputs[1]);
  if (axes == nullptr || pads == nullptr) {
    return emitter.diags().error_at(Code::NotConstant, node.where, "pads and axes must be constant");
  }
  auto rank = static_cast<int64_t>(emitter.type(node.inputs[0]).shape.size());
  Ints all(static_cast<size_t>(2 * rank), 0);
  for (int64_t i = 0; i < axes->count(); ++i) {
    int64_t axis = runtime::element_as_int(axes->view(), i);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank || pads->count() != 2 * axes->count()) {
      return emitter.diags().error_at(Code::ShapeMismatch, node.where, "pads do not fit the axes");
    }
    all[static_cast<size_t>(axis)] = runtime::element_as_int(pads->view(), i);
    all[static_cast<size_t>(axis + rank)] = runtime::element_as_int(pads->view(), i + axes->count());
  }
  node.inputs[1] = emitter.add_ints(name_for(node, "pads"), all);
  node.inputs.resize(3);
  return true;
}

// A hint of the first opsets: the names of the results already say which are wanted.
bool drop_output_sequence(PendingNode& node, Emitter&) {
  node.attrs.erase("output_sequence");
  return true;
}

// {p = 2.0}  =>  {p = 2}
bool norm_as_int(PendingNode& node, Emitter& emitter) {
  double p = node.attrs.get_float("p", 2);
  if (p != std::floor(p) || std::abs(p) > 1e6) return unsupported(node, emitter, "a norm that is not an integer");
  node.attrs.set("p", static_cast<int64_t>(p));
  return true;
}

// Opset 18: Resize may name the axes of its scales and sizes.
// scales = [2.0] of axes = [1] in rank 3  =>  scales = [1.0, 2.0, 1.0]
bool resize_all_axes(PendingNode& node, Emitter& emitter) {
  if (node.attrs.get_int("antialias", 0) != 0) return unsupported(node, emitter, "antialiased Resize is not supported");
  if (node.attrs.get_string("keep_aspect_ratio_policy", "stretch") != "stretch") {
    return unsupported(node, emitter, "Resize that keeps the aspect ratio is not supported");
  }
  node.attrs.erase("antialias");
  node.attrs.erase("keep_aspect_ratio_policy");
  Ints axes = node.attrs.get_ints("axes");
  node.attrs.erase("axes");
  if (axes.empty() || !has_input(node, 0)) return true;
  const Shape& shape = emitter.type(node.inputs[0]).shape;
  auto rank = static_cast<int64_t>(shape.size());
  std::vector<double> roi(shape.size(), 0.0), scales(shape.size(), 1.0);
  roi.resize(2 * shape.size(), 1.0);
  Ints sizes = shape;
  for (size_t operand = 1; operand < node.inputs.size(); ++operand) {
    if (!has_input(node, operand) || emitter.type(node.inputs[operand]).shape == Shape{0}) continue;
    const ir::Tensor* given = emitter.constant(node.inputs[operand]);
    if (given == nullptr)
      return emitter.diags().error_at(Code::NotConstant, node.where, "scales and sizes must be constant");
    auto count = static_cast<int64_t>(axes.size());
    if (given->count() != (operand == 1 ? 2 * count : count)) {
      return emitter.diags().error_at(Code::ShapeMismatch, node.where, "{} numbers for {} axes", given->count(), count);
    }
    for (int64_t i = 0; i < given->count(); ++i) {
      int64_t axis = axes[static_cast<size_t>(i % count)];
      if (axis < 0) axis += rank;
      if (axis < 0 || axis >= rank) {
        return emitter.diags().error_at(Code::BadAttribute, node.where, "axis {} is out of range", axis);
      }
      double value = runtime::element_as_double(given->view(), i);
      auto at = static_cast<size_t>(axis);
      if (operand == 1) roi[at + (i < count ? 0 : shape.size())] = value;
      if (operand == 2) scales[at] = value;
      if (operand == 3) sizes[at] = static_cast<int64_t>(value);
    }
    if (operand == 1) node.inputs[1] = emitter.add_floats(name_for(node, "roi"), roi);
    if (operand == 2) node.inputs[2] = emitter.add_floats(name_for(node, "scales"), scales);
    if (operand == 3) node.inputs[3] = emitter.add_ints(name_for(node, "sizes"), sizes);
  }
  return true;
}

// Removes MaxPool's indices if they have no reader.
bool max_pool_indices(PendingNode& node, Emitter& emitter) {
  if (keep_first_result(node, emitter)) node.attrs.erase("storage_order");
  return true;
}

struct Row {
  std::string_view op;
  int first;  ///< the opsets whose definition the row rewrites
  int last;
  bool (*rewrite)(PendingNode&, Emitter&);
};

constexpr int kAlways = 1 << 20;

// Sorted by operator; rows of one operator apply in order.
constexpr std::array kRows = {
    Row{"Add", 1, 6, legacy_broadcast},
    Row{"And", 1, 6, legacy_broadcast},
    Row{"BatchNormalization", 1, kAlways, batch_norm},
    Row{"Cast", 1, 5, cast_by_name},
    Row{"Cast", 19, kAlways, drop_idle_rounding},
    Row{"CastLike", 19, kAlways, drop_idle_rounding},
    Row{"Clip", 1, 10, clip_bounds},
    Row{"Concat", 1, 3, concat_axis},
    Row{"ConstantFill", 1, 8, constant_fill},
    Row{"DequantizeLinear", 21, kAlways, drop_zeros},
    Row{"Div", 1, 6, legacy_broadcast},
    Row{"Dropout", 1, 9, dropout_with_float_mask},
    Row{"Dropout", 10, kAlways, dropout_with_bool_mask},
    Row{"Equal", 1, 6, legacy_broadcast},
    Row{"GRU", 1, 6, drop_output_sequence},
    Row{"Gemm", 1, 6, gemm_broadcast},
    Row{"GlobalLpPool", 1, 1, norm_as_int},
    Row{"Greater", 1, 6, legacy_broadcast},
    Row{"Hardmax", 1, 12, softmax_of_flattened},
    Row{"Less", 1, 6, legacy_broadcast},
    Row{"LSTM", 1, 6, drop_output_sequence},
    Row{"LogSoftmax", 1, 12, softmax_of_flattened},
    Row{"LpPool", 1, 1, norm_as_int},
    Row{"MaxPool", 1, kAlways, max_pool_indices},
    Row{"Mul", 1, 6, legacy_broadcast},
    Row{"Or", 1, 6, legacy_broadcast},
    Row{"PRelu", 1, 6, prelu_slope},
    Row{"Pad", 1, 10, pad_operands},
    Row{"Pad", 18, kAlways, pad_all_axes},
    Row{"Pow", 1, 6, legacy_broadcast},
    Row{"QuantizeLinear", 21, kAlways, quantize_output_dtype},
    Row{"QuantizeLinear", 19, kAlways, drop_idle_rounding},
    Row{"QuantizeLinear", 21, kAlways, drop_zeros},
    Row{"RNN", 1, 6, drop_output_sequence},
    Row{"ReduceL1", 18, kAlways, axes_attribute},
    Row{"ReduceL2", 18, kAlways, axes_attribute},
    Row{"ReduceLogSum", 18, kAlways, axes_attribute},
    Row{"ReduceLogSumExp", 18, kAlways, axes_attribute},
    Row{"ReduceMax", 18, kAlways, axes_attribute},
    Row{"ReduceMean", 18, kAlways, axes_attribute},
    Row{"ReduceMin", 18, kAlways, axes_attribute},
    Row{"ReduceProd", 18, kAlways, axes_attribute},
    Row{"ReduceSum", 1, 12, axes_operand},
    Row{"ReduceSumSquare", 18, kAlways, axes_attribute},
    Row{"Reshape", 1, 4, reshape_operand},
    Row{"Resize", 10, 10, to_resize},
    Row{"Resize", 18, kAlways, resize_all_axes},
    Row{"Scatter", 1, kAlways, rename_scatter},
    Row{"Slice", 1, 9, slice_operands},
    Row{"Softmax", 1, 12, softmax_of_flattened},
    Row{"Split", 1, 12, split_operand},
    Row{"Split", 18, kAlways, split_num_outputs},
    Row{"Squeeze", 1, 12, axes_operand},
    Row{"Sub", 1, 6, legacy_broadcast},
    Row{"TopK", 1, 9, top_k_operand},
    Row{"Unsqueeze", 1, 12, axes_operand},
    Row{"Upsample", 1, kAlways, to_resize},
    Row{"Xor", 1, 6, legacy_broadcast},
};

}  // namespace

bool upgrade(PendingNode& node, int opset, Emitter& emitter) {
  // A hint for in-place execution, gone since opset 6.
  node.attrs.erase("consumed_inputs");
  const std::string op = node.op;
  for (const Row& row : kRows) {
    if (row.op != op || opset < row.first || opset > row.last) continue;
    if (!row.rewrite(node, emitter)) return false;
  }
  return true;
}

}  // namespace collage::import
