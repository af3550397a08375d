// SPDX-License-Identifier: Apache-2.0
// The changes follow ONNX's Changelog.md: each row is one change of an operator's definition between two opsets.
#include "compiler/import/upgrade.h"

#include <algorithm>
#include <array>

#include "compiler/import/later.h"
#include "compiler/import/legacy.h"
#include "compiler/import/pending_node.h"
#include "compiler/import/proto.h"
#include "compiler/ir/analysis/evaluate.h"

namespace collage::import {
namespace {

using ir::AttrMap;
using ir::DType;
using ir::Shape;
using ir::ValueId;
using runtime::Ints;
using support::Code;

// A list of N numbers is N images of one channel.
// BatchNormalization(x)  =>  Squeeze(BatchNormalization(Unsqueeze(x, [1])), [1])
bool batch_norm_of_list(PendingNode& node, Emitter& emitter) {
  const ValueId axes = emitter.add_ints(name_for(node, "axes"), {1});
  const ValueId columns = emitter.emit_before(node, "Unsqueeze", {node.inputs[0], axes}, {}, name_for(node, "columns"));
  if (!columns.is_valid()) return false;
  std::vector<ValueId> operands = node.inputs;
  operands[0] = columns;
  const ValueId rows = emitter.emit_before(node, node.op, std::move(operands), node.attrs, name_for(node, "rows"));
  if (!rows.is_valid()) return false;
  node.op = "Squeeze";
  node.inputs = {rows, axes};
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
  if (has_input(node, 0) && emitter.type(node.inputs[0]).shape.size() == 1) return batch_norm_of_list(node, emitter);
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
      return unsupported(node, emitter,
                         mode == nullptr ? "Dropout needs a constant `training_mode`: training is not supported"
                                         : "Dropout in training mode is not supported");
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

// Opset 27: `stash_type` affects only f16 and bf16, whose sums are f32 here.
bool drop_stash_type(PendingNode& node, Emitter&) {
  node.attrs.erase("stash_type");
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

// `saturate` (opset 19) and `round_mode` (24) tell how to make a float8. They say nothing about other results.
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

// A reduction over no axis still does to each element what comes before and after the sum.
bool reduce_over_no_axes(PendingNode& node) {
  node.attrs = {};
  if (node.op == "ReduceSumSquare") {
    node.op = "Mul";
    if (!node.inputs.empty()) node.inputs.push_back(node.inputs[0]);
  } else if (node.op == "ReduceL1" || node.op == "ReduceL2") {
    node.op = "Abs";
  } else {
    node.op = node.op == "ReduceLogSum" ? "Log" : "Identity";
  }
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
  if (axes.empty() && reduces_none) return reduce_over_no_axes(node);
  return true;
}

// Opset 20: flags, too.  ReduceMax(x: bool)  =>  Cast(ReduceMax(Cast(x)  as i32))  as bool
bool reduce_flags(PendingNode& node, Emitter& emitter) {
  if (!has_input(node, 0) || emitter.type(node.inputs[0]).dtype != DType::Bool || node.op == "Identity") return true;
  AttrMap to_numbers, to_flags;
  to_numbers.set("to", int64_t{onnx::TensorProto::UINT8});
  to_flags.set("to", int64_t{onnx::TensorProto::BOOL});
  ValueId numbers = emitter.emit_before(node, "Cast", {node.inputs[0]}, to_numbers, name_for(node, "numbers"));
  if (!numbers.is_valid()) return false;
  ValueId reduced = emitter.emit_before(node, node.op, {numbers}, node.attrs, name_for(node, "reduced"));
  node.op = "Cast";
  node.inputs = {reduced};
  node.attrs = to_flags;
  return reduced.is_valid();
}

// Split(x) {num_outputs = 3}  =>  Split(x, sizes), the last one smaller where the axis does not divide.
bool split_num_outputs(PendingNode& node, Emitter& emitter) {
  int64_t parts = node.attrs.get_int("num_outputs", 0);
  if (has_input(node, 1) && node.attrs.has("num_outputs")) {
    return emitter.diags().error_at(Code::BadAttribute, node.where, "Split takes sizes or `num_outputs`, not both");
  }
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
    Row{"Bernoulli", 1, kAlways, name_seed},
    Row{"Cast", 1, 5, cast_by_name},
    Row{"Cast", 19, kAlways, drop_idle_rounding},
    Row{"CastLike", 19, kAlways, drop_idle_rounding},
    Row{"CenterCropPad", 1, kAlways, center_crop_pad},
    Row{"Clip", 1, 10, clip_bounds},
    Row{"Concat", 1, 3, concat_axis},
    Row{"ConstantFill", 1, 8, constant_fill},
    Row{"DFT", 20, kAlways, dft_axis},
    Row{"DequantizeLinear", 21, kAlways, drop_zeros},
    Row{"Div", 1, 6, legacy_broadcast},
    Row{"Dropout", 1, 9, dropout_with_float_mask},
    Row{"Dropout", 10, kAlways, dropout_with_bool_mask},
    Row{"Equal", 1, 6, legacy_broadcast},
    Row{"GRU", 1, 6, drop_output_sequence},
    Row{"Gemm", 1, 6, gemm_broadcast},
    Row{"GlobalLpPool", 1, 1, norm_as_int},
    Row{"Greater", 1, 6, legacy_broadcast},
    Row{"GridSample", 20, kAlways, grid_sample_modes},
    Row{"Hardmax", 1, 12, softmax_of_flattened},
    Row{"Less", 1, 6, legacy_broadcast},
    Row{"LSTM", 1, 6, drop_output_sequence},
    Row{"LogSoftmax", 1, 12, softmax_of_flattened},
    Row{"LpPool", 1, 1, norm_as_int},
    Row{"MaxPool", 1, kAlways, max_pool_indices},
    Row{"Mul", 1, 6, legacy_broadcast},
    Row{"Multinomial", 1, kAlways, name_seed},
    Row{"Or", 1, 6, legacy_broadcast},
    Row{"PRelu", 1, 6, prelu_slope},
    Row{"Pad", 1, 10, pad_operands},
    Row{"Pad", 18, kAlways, pad_all_axes},
    Row{"Pow", 1, 6, legacy_broadcast},
    Row{"QuantizeLinear", 21, kAlways, quantize_output_dtype},
    Row{"QuantizeLinear", 19, kAlways, drop_idle_rounding},
    Row{"QuantizeLinear", 21, kAlways, drop_zeros},
    Row{"RNN", 1, 6, drop_output_sequence},
    Row{"RandomNormal", 1, kAlways, random_like},
    Row{"RandomNormalLike", 1, kAlways, name_seed},
    Row{"RandomUniform", 1, kAlways, random_like},
    Row{"RandomUniformLike", 1, kAlways, name_seed},
    Row{"Range", 27, kAlways, drop_stash_type},
    Row{"ReduceL1", 18, kAlways, axes_attribute},
    Row{"ReduceL2", 18, kAlways, axes_attribute},
    Row{"ReduceLogSum", 18, kAlways, axes_attribute},
    Row{"ReduceLogSumExp", 18, kAlways, axes_attribute},
    Row{"ReduceMax", 18, kAlways, axes_attribute},
    Row{"ReduceMax", 20, kAlways, reduce_flags},
    Row{"ReduceMean", 18, kAlways, axes_attribute},
    Row{"ReduceMin", 18, kAlways, axes_attribute},
    Row{"ReduceMin", 20, kAlways, reduce_flags},
    Row{"ReduceProd", 18, kAlways, axes_attribute},
    Row{"ReduceSum", 1, 12, axes_operand},
    Row{"ReduceSumSquare", 18, kAlways, axes_attribute},
    Row{"Reshape", 1, 4, reshape_operand},
    Row{"Resize", 10, 10, to_resize},
    Row{"Resize", 11, kAlways, one_of_scales_and_sizes},
    Row{"Resize", 18, kAlways, resize_all_axes},
    Row{"RoiAlign", 1, 15, roi_align_coordinates},
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
