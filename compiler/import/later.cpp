// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/later.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "compiler/import/pending_node.h"
#include "compiler/import/proto.h"
#include "compiler/ir/analysis/evaluate.h"
#include "runtime/core/filled.h"
#include "runtime/support/hash.h"

namespace collage::import {
namespace {

using ir::DType;
using ir::Shape;
using runtime::Ints;
using support::Code;

/// Half of a difference, the smaller one if it is odd, and the rest.
std::array<int64_t, 2> halves(int64_t difference) {
  return {difference / 2, difference - difference / 2};
}

}  // namespace

bool center_crop_pad(PendingNode& node, Emitter& emitter) {
  if (!has_input(node, 0) || !has_input(node, 1)) return true;
  const ir::Tensor* wanted = emitter.constant(node.inputs[1]);
  if (wanted == nullptr) {
    return emitter.diags().error_at(Code::NotConstant, node.where, "the extents of {} must be constant", node.op);
  }
  const Shape& shape = emitter.type(node.inputs[0]).shape;
  const auto rank = static_cast<int64_t>(shape.size());
  Ints axes = node.attrs.get_ints("axes");
  for (int64_t d = 0; d < rank && !node.attrs.has("axes"); ++d) axes.push_back(d);
  if (wanted->count() != static_cast<int64_t>(axes.size())) {
    return emitter.diags().error_at(Code::ShapeMismatch, node.where, "{} extents for {} axes", wanted->count(),
                                    axes.size());
  }
  Ints pads(static_cast<size_t>(2 * rank), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    const int64_t extent = runtime::element_as_int(wanted->view(), static_cast<int64_t>(i));
    if (axis < 0 || axis >= rank) {
      return emitter.diags().error_at(Code::BadAttribute, node.where, "axis {} is out of range", axes[i]);
    }
    if (extent < 0 || extent > int64_t{1} << 40) {
      return emitter.diags().error_at(Code::ShapeMismatch, node.where, "extent {} is illegal", extent);
    }
    const auto [begin, end] = halves(extent - shape[static_cast<size_t>(axis)]);
    pads[static_cast<size_t>(axis)] = begin;
    pads[static_cast<size_t>(axis + rank)] = end;
  }
  node.op = "Pad";
  node.inputs[1] = emitter.add_ints(name_for(node, "pads"), pads);
  node.attrs = {};
  return true;
}

bool dft_axis(PendingNode& node, Emitter& emitter) {
  int64_t axis = -2;
  if (has_input(node, 2)) {
    const ir::Tensor* given = emitter.constant(node.inputs[2]);
    if (given == nullptr || given->count() != 1) {
      return emitter.diags().error_at(Code::NotConstant, node.where, "the axis of {} must be constant", node.op);
    }
    axis = runtime::element_as_int(given->view(), 0);
  }
  if (node.inputs.size() > 2) node.inputs.resize(2);
  node.attrs.set("axis", axis);
  return true;
}

bool grid_sample_modes(PendingNode& node, Emitter& emitter) {
  const std::string mode = node.attrs.get_string("mode", "linear");
  if (!has_input(node, 0) || emitter.type(node.inputs[0]).shape.size() != 4) {
    node.attrs.set("mode", mode);
  } else if (mode == "linear" || mode == "cubic") {
    node.attrs.set("mode", "bi" + mode);
  }
  return true;
}

bool roi_align_coordinates(PendingNode& node, Emitter&) {
  node.attrs.set("coordinate_transformation_mode", std::string("output_half_pixel"));
  return true;
}

bool name_seed(PendingNode& node, Emitter&) {
  if (node.attrs.has("seed")) return true;
  // f32 holds 24 bits.
  node.attrs.set("seed", static_cast<double>(support::hash_bytes(result_name(node)) >> 40));
  return true;
}

bool random_like(PendingNode& node, Emitter& emitter) {
  const Shape shape = node.attrs.get_ints("shape");
  if (!element_count_of(shape)) {
    return emitter.diags().error_at(Code::BadAttribute, node.where, "the shape {} is impossible",
                                    runtime::to_string(shape));
  }
  node.op += "Like";
  node.attrs.erase("shape");
  if (!node.attrs.has("dtype")) node.attrs.set("dtype", int64_t{1});
  // Only its shape is read: its zeros are never made.
  const std::byte zero{0};
  ir::Constant zeros;
  zeros.form = ir::Constant::Form::Splat;
  zeros.data = runtime::late_filled_tensor(DType::U8, shape, {&zero, 1});
  set_input(node, 0, emitter.graph().add_constant(emitter.fresh_name(name_for(node, "shape")), std::move(zeros)));
  return name_seed(node, emitter);
}

}  // namespace collage::import
