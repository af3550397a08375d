// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/legacy.h"

#include <algorithm>
#include <cmath>

#include "compiler/import/attribute_kinds.h"
#include "compiler/import/pending_node.h"
#include "compiler/import/proto.h"

namespace collage::import {

using ir::AttrMap;
using ir::DType;
using ir::Shape;
using ir::ValueId;
using runtime::Ints;
using support::Code;

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
  const int64_t last = rank - static_cast<int64_t>(shape.size());
  const int64_t from = axis < 0 ? axis + rank : axis;
  if (from < 0 || from > last) {
    return emitter.diags().error_at(Code::BadAttribute, node.where, "axis {} does not fit operands of shape {} and {}",
                                    axis, runtime::to_string(emitter.type(node.inputs[0]).shape),
                                    runtime::to_string(shape));
  }
  if (from == last) return true;
  shape.insert(shape.end(), static_cast<size_t>(last - from), 1);
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

// A hint of the first opsets: the names of the results already say which are wanted.
bool drop_output_sequence(PendingNode& node, Emitter&) {
  node.attrs.erase("output_sequence");
  return true;
}

// {p = 2.0}  =>  {p = 2}
bool norm_as_int(PendingNode& node, Emitter& emitter) {
  if (auto problem = fit_attribute(node.op, node.attrs, "p", ir::AttrKind::Float)) {
    return emitter.diags().error_at(Code::BadAttribute, node.where, "{}", *problem);
  }
  double p = node.attrs.get_float("p", 2);
  if (p != std::floor(p) || std::abs(p) > 1e6) return unsupported(node, emitter, "a norm that is not an integer");
  node.attrs.set("p", static_cast<int64_t>(p));
  return true;
}

}  // namespace collage::import
