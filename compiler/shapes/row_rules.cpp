// SPDX-License-Identifier: Apache-2.0
// The rules that ir/ops/row_rule.h names. Each is called with at least one operand that has rows, or with one that
// follows from the size where it decides a shape; it gives every result its state, or returns false.
#include <algorithm>
#include <cstdint>

#include "compiler/ir/ops/op_def.h"
#include "compiler/shapes/row_node.h"
#include "runtime/kernels/einsum.h"

namespace collage::shapes {
namespace {

/// The axis of a result at which all operands with rows meet.
class Meeting {
 public:
  explicit Meeting(const RowNode& node, size_t result = 0) : node_(node), result_(result) {}

  /// Operand `i` has its rows at `axis` of the result.
  void add(size_t i, int axis) {
    is_good_ = is_good_ && axis >= 0 && axis < node_.result_rank(result_) && (axis_ < 0 || axis_ == axis) &&
               node_.exact_shape(i)[own(i)] == node_.exact_result_shape(result_)[static_cast<size_t>(axis)] &&
               node_.shape(i)[own(i)] == node_.result_shape(result_)[static_cast<size_t>(axis)];
    axis_ = axis;
    from_ = i;
    repeats_ = repeats_ && node_.repeats(i);
  }
  /// Operand `i`, which is the same in both graphs, has its axes at the last ones of the result but `trailing`: it has
  /// one element along the axis of the meeting, or none.
  void broadcast(size_t i, int trailing = 0, int own_trailing = 0) {
    const int own = axis_ - (node_.result_rank(result_) - trailing) + (node_.rank(i) - own_trailing);
    is_good_ = is_good_ && (own < 0 || own >= node_.rank(i) || node_.shape(i)[static_cast<size_t>(own)] == 1);
  }
  bool holds() const { return is_good_ && axis_ >= 0; }
  int axis() const { return axis_; }
  size_t from() const { return from_; }
  bool repeats() const { return repeats_; }

 private:
  size_t own(size_t i) const { return static_cast<size_t>(node_.axis(i)); }

  const RowNode& node_;
  size_t result_;
  int axis_ = -1;
  size_t from_ = 0;
  bool repeats_ = true, is_good_ = true;
};

bool pointwise(RowNode& node) {
  Meeting meeting(node);
  for (size_t i = 0; i < node.operands(); ++i) {
    if (node.has_rows(i)) meeting.add(i, node.axis(i) + node.result_rank(0) - node.rank(i));
  }
  if (!meeting.holds()) return false;
  for (size_t i = 0; i < node.operands(); ++i) {
    if (node.has(i) && !node.has_rows(i)) meeting.broadcast(i);
  }
  return meeting.holds() && node.give_all(meeting.axis(), meeting.from(), meeting.repeats());
}

/// Integers must not be divided by a zero that only padding has.
bool divided(RowNode& node) {
  const bool may_fail = !is_float(node.dtype(1)) && node.has_rows(1) && !node.repeats(1);
  return !may_fail && pointwise(node);
}

/// [N, …] -> [N, …], each alone. A second result counts from the first image on.
bool images(RowNode& node) {
  return node.only({0}) && node.axis(0) == 0 && !node.has_result(1) && node.give_rows(0, 0, 0, node.repeats(0));
}

bool batch_normalized(RowNode& node) {
  return node.only({0}) && node.axis(0) != 1 && !node.has_result(1) &&
         node.give_rows(0, node.axis(0), 0, node.repeats(0));
}

/// Softmax, TopK and the like: along an axis that is the last by default.
bool along_last_axis(RowNode& node) {
  return node.only({0}) && node.axis(0) != node.axis_attr(node.rank(0)) &&
         node.give_all(node.axis(0), 0, node.repeats(0));
}

/// The rows after some axes were removed, or left with one element each.
bool give_without(RowNode& node, const std::vector<int64_t>& removed, bool keepdims) {
  int before = 0;
  for (int64_t axis : removed) {
    const int64_t at = axis < 0 ? axis + node.rank(0) : axis;
    if (at == node.axis(0)) return false;
    if (at < node.axis(0)) ++before;
  }
  return node.give_all(node.axis(0) - (keepdims ? 0 : before), 0, node.repeats(0));
}

bool found_along_axis(RowNode& node) {
  return node.only({0}) && give_without(node, {node.attrs().int_of("axis")}, node.attrs().int_of("keepdims") != 0);
}

bool reduced(RowNode& node) {
  std::vector<int64_t> axes = node.attrs().ints_of("axes");
  if (node.has(1)) {
    const std::optional<std::vector<int64_t>> given = node.ints(1);
    if (!given) return false;
    axes = *given;
  }
  const bool reduces_none = axes.empty() && node.attrs().is_on("noop_with_empty_axes");
  if (!node.only({0}) || (axes.empty() && !reduces_none)) return false;
  return give_without(node, axes, node.attrs().int_of("keepdims") != 0);
}

bool mean_normalized(RowNode& node) {
  return give_without(node, node.attrs().ints_of("axes"), true);
}

/// The last axes, from `axis` on; the parameters are broadcast.
bool layer_normalized(RowNode& node) {
  if (!node.only({0}) || node.axis(0) >= node.axis_attr(node.rank(0))) return false;
  Meeting meeting(node);
  meeting.add(0, node.axis(0));
  for (size_t i : {size_t{1}, size_t{2}}) {
    if (node.has(i)) meeting.broadcast(i);
  }
  return meeting.holds() && node.give_all(node.axis(0), 0, node.repeats(0));
}

bool accumulated(RowNode& node) {
  const std::optional<std::vector<int64_t>> axis = node.ints(1);
  return node.only({0}) && axis && axis->size() == 1 && give_without(node, *axis, true);
}

/// A scale for all, or along another axis.
bool quantized(RowNode& node) {
  const bool has_one = runtime::element_count(node.shape(1)) == 1;
  const bool is_apart = has_one || (node.rank(1) == 1 && node.attrs().int_of("block_size") == 0 &&
                                    node.axis_attr(node.rank(0)) != node.axis(0));
  return node.only({0}) && is_apart && node.give_rows(0, node.axis(0), 0, node.repeats(0));
}

bool triangular(RowNode& node) {
  return node.only({0}) && node.axis(0) < node.rank(0) - 2 && node.give_rows(0, node.axis(0), 0, node.repeats(0));
}

/// [batch…, rows, inner] x [batch…, inner, columns]; a vector has the inner axis alone.
bool product(RowNode& node, size_t a, size_t b) {
  const bool has_rows = node.rank(a) > 1, has_columns = node.rank(b) > 1;
  const int batch_end = node.result_rank(0) - (has_rows ? 1 : 0) - (has_columns ? 1 : 0);
  if (!node.only({a, b})) return false;
  Meeting meeting(node);
  if (node.has_rows(a)) {
    const int from_rows = node.axis(a) - (node.rank(a) - 2);  // 0: the rows, 1: the inner axis
    if (from_rows > 0 || !has_rows) return false;
    meeting.add(a, batch_end + from_rows);
  }
  if (node.has_rows(b)) {
    const int from_inner = node.axis(b) - (node.rank(b) - 2);  // 0: the inner axis, 1: the columns
    if (from_inner == 0 || !has_columns) return false;
    meeting.add(b, from_inner > 0 ? node.result_rank(0) - 1 : batch_end + from_inner);
  }
  if (!meeting.holds()) return false;
  // In a batch the other operand has one matrix for all.
  const int trailing = node.result_rank(0) - batch_end;
  for (size_t i : {a, b}) {
    if (!node.has_rows(i) && meeting.axis() < batch_end && node.rank(i) > 2) meeting.broadcast(i, trailing, 2);
  }
  return meeting.holds() && node.give_rows(0, meeting.axis(), meeting.from(), meeting.repeats());
}

bool matrix_product(RowNode& node) {
  return product(node, 0, 1);
}

bool quantized_product(RowNode& node) {
  return product(node, 0, 3);
}

bool general_product(RowNode& node) {
  const int rows = node.attrs().is_on("transA") ? 1 : 0;
  const int columns = node.attrs().is_on("transB") ? 0 : 1;
  if ((node.has_rows(0) && node.axis(0) != rows) || (node.has_rows(1) && node.axis(1) != columns)) return false;
  Meeting meeting(node);
  if (node.has_rows(0)) meeting.add(0, 0);
  if (node.has_rows(1)) meeting.add(1, 1);
  if (node.has_rows(2)) meeting.add(2, node.axis(2) + node.result_rank(0) - node.rank(2));
  if (meeting.holds() && node.has(2) && !node.has_rows(2)) meeting.broadcast(2);
  return meeting.holds() && node.give_rows(0, meeting.axis(), meeting.from(), meeting.repeats());
}

bool contracted(RowNode& node) {
  std::vector<runtime::Shape> shapes;
  for (size_t i = 0; i < node.operands(); ++i) shapes.push_back(node.shape(i));
  runtime::EinsumSpec spec;
  if (runtime::resolve_einsum(node.attrs().string_of("equation"), shapes, &spec)) return false;
  Meeting meeting(node);
  for (size_t i = 0; i < node.operands(); ++i) {
    if (node.has_rows(i)) meeting.add(i, spec.places[i][static_cast<size_t>(node.axis(i))]);
  }
  if (!meeting.holds()) return false;
  // The label stands once in each of these operands, and in no other.
  for (size_t i = 0; i < node.operands(); ++i) {
    const auto count = std::count(spec.places[i].begin(), spec.places[i].end(), meeting.axis());
    if (count != (node.has_rows(i) ? 1 : 0)) return false;
  }
  return node.give_rows(0, meeting.axis(), meeting.from(), meeting.repeats());
}

/// X [seq, batch, input], lengths [batch], states [dirs, batch, hidden] -> [seq, dirs, batch, hidden] and states; with
/// layout = 1 the batch is first everywhere.
bool recurrent(RowNode& node) {
  constexpr size_t kLengths = 4, kState = 5, kCell = 6;
  const int batch = node.attrs().int_of("layout") != 0 ? 0 : 1;
  if (!node.only({0, kLengths, kState, kCell}) || !node.has_rows(0) || node.axis(0) != batch) return false;
  if (node.has(kLengths) && !(node.has_rows(kLengths) && node.repeats(kLengths))) return false;
  bool repeats = node.repeats(0);
  for (size_t i : {kState, kCell}) {
    if (!node.has(i)) continue;
    if (!node.has_rows(i) || node.axis(i) != batch) return false;
    repeats = repeats && node.repeats(i);
  }
  if (node.has_result(0) && !node.give_rows(0, batch == 0 ? 0 : 2, 0, repeats)) return false;
  for (size_t i : {size_t{1}, size_t{2}}) {
    if (node.has_result(i) && !node.give_rows(i, batch, 0, repeats)) return false;
  }
  return true;
}

bool concatenated(RowNode& node) {
  bool repeats = true;
  for (size_t i = 0; i < node.operands(); ++i) {
    if (!node.has_rows(i) || node.axis(i) != node.axis(0)) return false;
    repeats = repeats && node.repeats(i);
  }
  return node.axis(0) != node.axis_attr(node.rank(0)) && node.give_rows(0, node.axis(0), 0, repeats);
}

bool split(RowNode& node) {
  return node.only({0}) && node.axis(0) != node.axis_attr(node.rank(0)) &&
         node.give_all(node.axis(0), 0, node.repeats(0));
}

/// One value everywhere.
bool filled(RowNode& node) {
  return node.only({}) && node.give_differing(0, true);
}

bool expanded(RowNode& node) {
  if (!node.only({0})) return false;
  if (node.has_rows(0)) {
    return node.give_rows(0, node.axis(0) + node.result_rank(0) - node.rank(0), 0, node.repeats(0));
  }
  // Copies along the axis: all rows are equal.
  const int axis = differing_axis(node.exact_result_shape(0), node.result_shape(0));
  const int own = axis - node.result_rank(0) + node.rank(0);
  return axis >= 0 && (own < 0 || node.shape(0)[static_cast<size_t>(own)] == 1) && node.give_differing(0, true);
}

bool reshaped(RowNode& node) {
  return node.only({0}) && node.has_rows(0) && node.give_reshaped(0);
}

/// From a table by indices that have rows, or of rows by the same indices.
bool gathered(RowNode& node) {
  const int axis = node.axis_attr(node.rank(0));
  if (node.has_rows(0) && node.has_rows(1)) return false;
  if (node.has_rows(1)) return node.repeats(1) && node.give_rows(0, axis + node.axis(1), 1, true);
  if (node.axis(0) == axis) return false;
  return node.give_rows(0, node.axis(0) < axis ? node.axis(0) : node.axis(0) - 1 + node.rank(1), 0, node.repeats(0));
}

bool gathered_elements(RowNode& node) {
  return node.has_rows(0) && node.has_rows(1) && node.repeats(1) && node.axis(0) == node.axis(1) &&
         node.axis(0) != node.axis_attr(node.rank(0)) && node.give_rows(0, node.axis(0), 1, node.repeats(0));
}

bool one_hot(RowNode& node) {
  const int axis = node.axis_attr(node.result_rank(0));
  return node.only({0}) && node.give_rows(0, node.axis(0) + (node.axis(0) < axis ? 0 : 1), 0, node.repeats(0));
}

/// The dimensions that an operand names; all of them where it is left out. Nullopt where it is no constant.
std::optional<std::vector<int64_t>> named_axes(const RowNode& node, size_t operand, size_t count) {
  std::vector<int64_t> axes;
  if (!node.has(operand)) {
    for (size_t d = 0; d < count; ++d) axes.push_back(static_cast<int64_t>(d));
    return axes;
  }
  const std::optional<std::vector<int64_t>> named = node.ints(operand);
  if (!named || named->size() != count || named != node.exact_ints(operand)) return std::nullopt;
  for (int64_t axis : *named) axes.push_back(axis < 0 ? axis + node.rank(0) : axis);
  return axes;
}

bool padded(RowNode& node) {
  const std::optional<std::vector<int64_t>> pads = node.ints(1);
  if (!node.only({0}) || !pads || pads->size() % 2 != 0) return false;
  const size_t count = pads->size() / 2;
  const auto axes = named_axes(node, 3, count);
  for (size_t i = 0; axes && i < count; ++i) {
    if ((*axes)[i] == node.axis(0) && ((*pads)[i] != 0 || (*pads)[count + i] != 0)) return false;
  }
  return axes && node.give_rows(0, node.axis(0), 0, node.repeats(0));
}

/// The axis is taken whole, and the others alike.
bool sliced(RowNode& node) {
  if (!node.only({0}) || !node.has_rows(0)) return false;
  const auto starts = node.ints(1), ends = node.ints(2), exact_starts = node.exact_ints(1),
             exact_ends = node.exact_ints(2);
  if (!starts || !ends || !exact_starts || !exact_ends) return false;
  const size_t count = starts->size();
  if (ends->size() != count || exact_starts->size() != count || exact_ends->size() != count) return false;
  const auto axes = named_axes(node, 3, count);
  std::optional<std::vector<int64_t>> steps = std::vector<int64_t>(count, 1);
  if (node.has(4)) steps = node.ints(4);
  if (!axes || !steps || steps->size() != count || (node.has(4) && node.exact_ints(4) != steps)) return false;
  for (size_t i = 0; i < count; ++i) {
    if ((*axes)[i] == node.axis(0)) {
      if ((*starts)[i] != 0 || (*exact_starts)[i] != 0 || (*steps)[i] != 1) return false;
    } else if ((*starts)[i] != (*exact_starts)[i] || (*ends)[i] != (*exact_ends)[i]) {
      return false;
    }
  }
  return node.give_rows(0, node.axis(0), 0, node.repeats(0));
}

bool tiled(RowNode& node) {
  const auto repeats = node.ints(1), exact = node.exact_ints(1);
  if (!node.only({0}) || !repeats || repeats->size() != node.shape(0).size()) return false;
  if (node.has_rows(0)) {
    return repeats == exact && (*repeats)[static_cast<size_t>(node.axis(0))] == 1 &&
           node.give_rows(0, node.axis(0), 0, node.repeats(0));
  }
  // As Expand: copies of one row.
  const int axis = differing_axis(node.exact_result_shape(0), node.result_shape(0));
  return axis >= 0 && node.shape(0)[static_cast<size_t>(axis)] == 1 && node.give_differing(0, true);
}

/// The axis has a scale of exactly 1: every row is made of that row.
bool resized(RowNode& node) {
  const auto given = [&](size_t i) { return node.has(i) && runtime::element_count(node.shape(i)) > 0; };
  if (!node.only({0}) || !node.has_rows(0) || node.attrs().has("axes")) return false;
  if (node.attrs().string_of("coordinate_transformation_mode") == "tf_crop_and_resize") return false;
  if (given(2)) {
    const ir::Tensor* scales = node.constant(2);
    if (scales == nullptr || scales->count() != node.rank(0)) return false;
    if (runtime::element_as_double(scales->view(), node.axis(0)) != 1) return false;
  } else if (!given(3)) {
    return false;
  }
  return node.give_rows(0, node.axis(0), 0, node.repeats(0));
}

bool transposed(RowNode& node) {
  const runtime::Ints perm = node.attrs().ints_of("perm");
  int to = node.rank(0) - 1 - node.axis(0);
  if (!perm.empty()) to = static_cast<int>(std::find(perm.begin(), perm.end(), node.axis(0)) - perm.begin());
  return node.give_rows(0, to, 0, node.repeats(0));
}

/// The sizes of other dimensions are the same.
bool measured(RowNode& node) {
  const int64_t rank = node.rank(0);
  const auto clamped = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t start = clamped(node.attrs().int_of("start")),
                end = clamped(node.attrs().written().get_int("end", rank));
  const bool has_it = start <= node.axis(0) && node.axis(0) < end;
  node.give(0, {has_it ? RowState::Kind::Sized : RowState::Kind::Same, -1, false});
  return true;
}

bool counted(RowNode& node) {
  node.give(0, {RowState::Kind::Sized, -1, false});
  return true;
}

}  // namespace

bool keeps_rows(RowNode& node) {
  switch (node.node().op->rows.rule) {
    case ir::RowRule::None: return false;
    case ir::RowRule::Accumulated: return accumulated(node);
    case ir::RowRule::AlongLastAxis: return along_last_axis(node);
    case ir::RowRule::BatchNormalized: return batch_normalized(node);
    case ir::RowRule::Concatenated: return concatenated(node);
    case ir::RowRule::Contracted: return contracted(node);
    case ir::RowRule::Counted: return counted(node);
    case ir::RowRule::Divided: return divided(node);
    case ir::RowRule::Expanded: return expanded(node);
    case ir::RowRule::Filled: return filled(node);
    case ir::RowRule::FoundAlongAxis: return found_along_axis(node);
    case ir::RowRule::Gathered: return gathered(node);
    case ir::RowRule::GatheredElements: return gathered_elements(node);
    case ir::RowRule::GeneralProduct: return general_product(node);
    case ir::RowRule::Images: return images(node);
    case ir::RowRule::LayerNormalized: return layer_normalized(node);
    case ir::RowRule::MatrixProduct: return matrix_product(node);
    case ir::RowRule::MeanNormalized: return mean_normalized(node);
    case ir::RowRule::Measured: return measured(node);
    case ir::RowRule::OneHot: return one_hot(node);
    case ir::RowRule::Padded: return padded(node);
    case ir::RowRule::Pointwise: return pointwise(node);
    case ir::RowRule::Quantized: return quantized(node);
    case ir::RowRule::QuantizedProduct: return quantized_product(node);
    case ir::RowRule::Recurrent: return recurrent(node);
    case ir::RowRule::Reduced: return reduced(node);
    case ir::RowRule::Reshaped: return reshaped(node);
    case ir::RowRule::Resized: return resized(node);
    case ir::RowRule::Sliced: return sliced(node);
    case ir::RowRule::Split: return split(node);
    case ir::RowRule::Tiled: return tiled(node);
    case ir::RowRule::Transposed: return transposed(node);
    case ir::RowRule::Triangular: return triangular(node);
  }
  return false;
}

}  // namespace collage::shapes
