// SPDX-License-Identifier: Apache-2.0
// Layer normalisations with something added before, and those by the root of the mean square alone.
#include "compiler/import/compositions/compositions.h"
#include "compiler/import/proto.h"

namespace collage::import::compositions {

using ir::DType;
using ir::Shape;
using ir::ValueId;

namespace {

/// Operands of a norm, and which results of the node it gives.
struct Norm {
  ValueId x, scale;
  int64_t axis = -1;
  double epsilon = 1e-5;
  DType compute = DType::F32;  ///< of the statistics, at least
};

/// x / Sqrt(ReduceMean(x * x) + epsilon) * scale is result 0, the factor before the scale result `factor_result`.
void rms_norm(Composition& c, const Norm& n, size_t factor_result) {
  auto rank = static_cast<int64_t>(c.rank(n.x));
  int64_t axis = n.axis < 0 ? n.axis + rank : n.axis;
  if (!c.need(axis >= 0 && axis < rank, fmt::format("`axis` does not fit rank {}", rank))) return;
  // f64 keeps its precision: the standard wants f32 for the statistics of narrower types.
  DType compute = size_of(c.dtype(n.x)) > size_of(n.compute) ? c.dtype(n.x) : n.compute;
  ValueId x = c.cast(n.x, compute);
  ValueId mean = c.reduce("ReduceMean", c.add("Mul", {x, x}), c.axes_from(x, axis));
  ValueId root = c.add("Sqrt", {c.plus(mean, n.epsilon)});
  ValueId normal = c.cast(c.add("Div", {x, root}), c.dtype(n.scale));
  c.result(0, "Mul", {normal, n.scale});
  if (c.wants(factor_result)) c.result(factor_result, "Reciprocal", {root});
  c.ignore_result(factor_result);
}

/// LayerNormalization with its statistics as results 1 and 2.
void layer_norm(Composition& c, const Norm& n, ValueId shift) {
  std::vector<ValueId> operands = {n.x, n.scale};
  if (shift.is_valid()) operands.push_back(shift);
  ir::AttrMap attrs;
  attrs.set("axis", n.axis);
  attrs.set("epsilon", n.epsilon);
  if (!c.wants(1) && !c.wants(2)) {
    c.result(0, "LayerNormalization", operands, attrs);
  } else {
    std::vector<ValueId> values = c.add_many("LayerNormalization", operands, attrs, 3);
    for (size_t i = 0; i < values.size() && c.is_good(); ++i) c.give(i, values[i]);
  }
  c.ignore_result(1);
  c.ignore_result(2);
}

/// x + skip + bias, which is also result `i`.
ValueId skip_sum(Composition& c, size_t bias, size_t i) {
  ValueId x = c.in(0), skip = c.in(1);
  if (!c.has(bias)) return c.result(i, "Add", {x, skip});
  return c.result(i, "Add", {c.add("Add", {x, skip}), c.in(bias)});
}

}  // namespace

// RMSNormalization(x, scale) {axis}  =>  x / Sqrt(ReduceMean(x * x) + epsilon) * scale, over the axes from `axis` on
void rms_normalization(Composition& c) {
  Norm n{c.in(0), c.in(1), c.attr("axis", int64_t{-1}), c.attr("epsilon", 1e-5)};
  int64_t stash = c.attr("stash_type", int64_t{1});
  std::optional<DType> type = dtype_of(static_cast<int>(stash));
  if (!c.need(type.has_value(), fmt::format("statistics in {}", element_name(static_cast<int>(stash))))) return;
  n.compute = *type;
  rms_norm(c, n, 1);
}

void layer_normalization(Composition& c) {
  c.ignore_attr("stash_type");
  layer_norm(c, {c.in(0), c.in(1), c.attr("axis", int64_t{-1}), c.attr("epsilon", 1e-5)}, c.in(2));
}

// SkipLayerNormalization(x, skip, scale, shift, bias)  =>  LayerNormalization(x + skip + bias, scale, shift);
// the sum is result 3
void skip_layer_normalization(Composition& c) {
  ValueId sum = skip_sum(c, 4, 3);
  layer_norm(c, {sum, c.in(2), -1, c.attr("epsilon", 1e-12)}, c.in(3));
}

// SkipSimplifiedLayerNormalization(x, skip, scale, bias)  =>  RMSNormalization(x + skip + bias, scale);
// the sum is result 3
void skip_rms_normalization(Composition& c) {
  ValueId sum = skip_sum(c, 3, 3);
  rms_norm(c, {sum, c.in(2), -1, c.attr("epsilon", 1e-12)}, 2);
}

// Operands: ids, segment ids, words, positions, segments, scale, shift, mask, position ids. Result 0 is
// LayerNormalization(words[ids] + positions[position ids] + segments[segment ids]), 1 the number of unmasked ids of
// each sequence, 2 the sum.
void embed_layer_normalization(Composition& c) {
  if (!c.need_rank(0, 2, 2)) return;
  for (size_t i : {2u, 3u, 5u, 6u}) {
    if (!c.need(c.has(i), fmt::format("operand {} is left out", i))) return;
  }
  c.ignore_attr("mask_index_type");
  ValueId ids = c.in(0);
  int64_t batch = c.dim(ids, 0), length = c.dim(ids, 1);
  if (!c.need(c.rank(c.in(3)) == 2 && (c.has(8) || c.dim(c.in(3), 0) >= length), "there are too few positions")) return;
  ValueId sum = c.add("Gather", {c.in(2), ids});
  ValueId positions = c.has(8) ? c.add("Gather", {c.in(3), c.in(8)}) : c.slice(c.in(3), 0, 0, length);
  bool has_segments = c.has(1);
  if (!c.need(c.has(4) == has_segments, "segment ids and their embedding come together")) return;
  sum = has_segments ? c.add("Add", {sum, positions}) : c.result(2, "Add", {sum, positions});
  if (has_segments) sum = c.result(2, "Add", {sum, c.add("Gather", {c.in(4), c.in(1)})});
  if (!c.is_good()) return;
  ir::AttrMap attrs;
  attrs.set("axis", int64_t{-1});
  attrs.set("epsilon", c.attr("epsilon", 1e-12));
  c.result(0, "LayerNormalization", {sum, c.in(5), c.in(6)}, attrs);
  ValueId mask = c.in(7);
  if (c.wants(1)) {
    ValueId count = mask.is_valid() ? c.add("ReduceSum", {c.cast(mask, DType::I32), c.ints({1})},
                                            Composition::attrs("keepdims", int64_t{0}))
                                    : c.expand(c.scalar(0, DType::I32), {batch});
    c.give(1, count);
  }
  c.ignore_result(1);
}

}  // namespace collage::import::compositions
