// SPDX-License-Identifier: Apache-2.0
// What the operands of Resize may be, and Resize of opset 18 and later.
#include <algorithm>
#include <cmath>

#include "compiler/import/later.h"
#include "compiler/import/pending_node.h"

namespace collage::import {
namespace {

using ir::Shape;
using runtime::Ints;
using support::Code;

/// No tensor has as many elements along one axis.
constexpr double kMostExtent = 0x1p40;

/// The operands for all dimensions.
struct Extents {
  std::vector<double> roi;
  std::vector<double> scales;
  Ints sizes;
};

/// Spreads the numbers of operand `operand` (1 the region, 2 scales, 3 sizes) over the axes.
bool spread(const PendingNode& node, Emitter& emitter, size_t operand, const Ints& axes, Extents* extents) {
  const ir::Tensor* given = emitter.constant(node.inputs[operand]);
  if (given == nullptr)
    return emitter.diags().error_at(Code::NotConstant, node.where, "scales and sizes must be constant");
  const size_t count = axes.size(), rank = extents->scales.size();
  if (given->count() != static_cast<int64_t>(operand == 1 ? 2 * count : count)) {
    return emitter.diags().error_at(Code::ShapeMismatch, node.where, "{} numbers for {} axes", given->count(), count);
  }
  for (size_t i = 0; i < static_cast<size_t>(given->count()); ++i) {
    const double value = runtime::element_as_double(given->view(), static_cast<int64_t>(i));
    const auto at = static_cast<size_t>(axes[i % count]);
    if (operand == 1) extents->roi[at + (i < count ? 0 : rank)] = value;
    if (operand == 2) extents->scales[at] = value;
    if (operand == 3) extents->sizes[at] = runtime::element_as_int(given->view(), static_cast<int64_t>(i));
  }
  return true;
}

/// One scale for all axes: the one with which no extent is larger than its size, or none smaller. Extents are rounded,
/// halves up.
bool keep_ratio(const PendingNode& node, Emitter& emitter, const std::string& policy, const Shape& shape,
                const Ints& axes, Extents* extents) {
  if (policy != "not_larger" && policy != "not_smaller") {
    return emitter.diags().error_at(Code::BadAttribute, node.where,
                                    "`keep_aspect_ratio_policy` is one of stretch, not_larger and not_smaller");
  }
  double scale = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto at = static_cast<size_t>(axes[i]);
    if (shape[at] == 0) return emitter.diags().error_at(Code::ShapeMismatch, node.where, "axis {} is empty", axes[i]);
    const double own = static_cast<double>(extents->sizes[at]) / static_cast<double>(shape[at]);
    scale = i == 0 ? own : policy == "not_larger" ? std::min(scale, own) : std::max(scale, own);
  }
  for (int64_t axis : axes) {
    const auto at = static_cast<size_t>(axis);
    const double extent = std::floor(scale * static_cast<double>(shape[at]) + 0.5);
    if (!(extent >= 0 && extent <= kMostExtent)) {
      return emitter.diags().error_at(Code::ShapeMismatch, node.where, "extent {} of axis {} is illegal", extent, axis);
    }
    extents->scales[at] = scale;
    extents->sizes[at] = static_cast<int64_t>(extent);
  }
  return true;
}

/// The scales as they were computed, in f64; left out where they are the quotients of extents.
void set_exact_scales(PendingNode& node, Emitter& emitter, const Shape& shape, const Extents& extents) {
  bool is_quotient = true;
  ir::Tensor scales(ir::DType::F64, {static_cast<int64_t>(shape.size())});
  for (size_t d = 0; d < shape.size(); ++d) {
    scales.as<double>()[d] = extents.scales[d];
    is_quotient =
        is_quotient && extents.scales[d] * static_cast<double>(shape[d]) == static_cast<double>(extents.sizes[d]);
  }
  node.inputs[2] = {};
  if (is_quotient) return;
  ir::Constant constant;
  constant.data = scales;
  node.inputs[2] = emitter.graph().add_constant(emitter.fresh_name(name_for(node, "scales")), std::move(constant));
}

/// Whether operand `i` is there. Models before opset 13 give an empty list for one that is not.
bool is_given(const PendingNode& node, const Emitter& emitter, size_t i) {
  return has_input(node, i) && emitter.type(node.inputs[i]).shape != Shape{0};
}

}  // namespace

bool one_of_scales_and_sizes(PendingNode& node, Emitter& emitter) {
  return !is_given(node, emitter, 2) || !is_given(node, emitter, 3) ||
         emitter.diags().error_at(Code::BadModel, node.where, "Resize takes scales or sizes, not both");
}

bool resize_all_axes(PendingNode& node, Emitter& emitter) {
  const std::string policy = node.attrs.get_string("keep_aspect_ratio_policy", "stretch");
  Ints axes = node.attrs.get_ints("axes");
  node.attrs.erase("keep_aspect_ratio_policy");
  node.attrs.erase("axes");
  if (node.attrs.get_int("antialias", 0) == 0) node.attrs.erase("antialias");
  if (!has_input(node, 0)) return true;
  const Shape shape = emitter.type(node.inputs[0]).shape;  // a copy: values are added
  const auto rank = static_cast<int64_t>(shape.size());
  const bool keeps_ratio = policy != "stretch" && is_given(node, emitter, 3);
  if (axes.empty() && !keeps_ratio) return true;
  for (int64_t d = 0; d < rank && axes.empty(); ++d) axes.push_back(d);
  for (int64_t& axis : axes) {
    if (axis < -rank || axis >= rank) {
      return emitter.diags().error_at(Code::BadAttribute, node.where, "axis {} is out of range", axis);
    }
    if (axis < 0) axis += rank;
  }
  Extents extents{std::vector<double>(shape.size(), 0.0), std::vector<double>(shape.size(), 1.0), shape};
  extents.roi.resize(2 * shape.size(), 1.0);
  for (size_t operand = 1; operand < node.inputs.size(); ++operand) {
    if (!is_given(node, emitter, operand)) continue;
    if (!spread(node, emitter, operand, axes, &extents)) return false;
    if (operand == 1) node.inputs[1] = emitter.add_floats(name_for(node, "roi"), extents.roi);
    if (operand == 2) node.inputs[2] = emitter.add_floats(name_for(node, "scales"), extents.scales);
  }
  if (!is_given(node, emitter, 3)) return true;
  if (keeps_ratio) {
    if (!keep_ratio(node, emitter, policy, shape, axes, &extents)) return false;
    set_exact_scales(node, emitter, shape, extents);
  }
  node.inputs[3] = emitter.add_ints(name_for(node, "sizes"), extents.sizes);
  return true;
}

}  // namespace collage::import
