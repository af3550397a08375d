// SPDX-License-Identifier: Apache-2.0
// See node_slices.h.
#include "compiler/ir/analysis/node_slices.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <utility>

#include "compiler/ir/ops/op_def.h"
#include "runtime/kernels/slice_range.h"
#include "runtime/kernels/window.h"

namespace collage::ir {
namespace {

constexpr std::array<std::pair<SplitAxis, std::string_view>, 4> kAxes = {{{SplitAxis::Batch, "batch"},
                                                                          {SplitAxis::Channels, "channels"},
                                                                          {SplitAxis::Rows, "rows"},
                                                                          {SplitAxis::Heads, "heads"}}};
/// The roles of the operands of a product or convolution; the others are scales, zero points and bias.
struct Operands {
  size_t left = 0;
  size_t right = 1;
};

Operands operands_of(const OpDef& op) {
  return op.name == "QLinearConv" || op.name == "QLinearMatMul" ? Operands{0, 3} : Operands{0, 1};
}

/// Counts a dimension that an attribute names from the end.
int from_front(int64_t axis, size_t rank) {
  return static_cast<int>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

/// The dimension of the operand that becomes each dimension of a Transpose's result.
runtime::Ints permutation_of(const Node& node, size_t rank) {
  runtime::Ints order = attrs_of(node).ints_of("perm");
  if (order.empty()) {
    for (size_t d = rank; d-- > 0;) order.push_back(static_cast<int64_t>(d));
  }
  for (int64_t& axis : order) axis = from_front(axis, rank);
  return order;
}

/// Where the dimension `axis` of a tensor lies in one of another shape that has the same elements in the same order. A
/// boundary at index i of the one is at index i * `from` / `to` of the other, or of each of `blocks` of it.
struct ReshapedAxis {
  int axis = -1;
  int64_t blocks = 1;
  int64_t from = 1;  ///< elements between two indices
  int64_t to = 1;
};

/// Returns nullopt where there is no such dimension.
///
///     dimension 1 of [2, 8, 5, 4]   =>   dimension 1 of [2, 4, 2, 5, 4], 20 / 40
///     dimension 2 of [2, 5, 8, 4]   =>   dimension 2 of [2, 5, 32],       4 / 1
///     dimension 2 of [5, 3, 8, 4]   =>   dimension 1 of [5, 96],          4 / 1 in each of 3 blocks
std::optional<ReshapedAxis> reshaped_axis(const Shape& shape, int axis, const Shape& target) {
  if (runtime::element_count(shape) == 0) return std::nullopt;
  auto product = [](auto begin, auto end) { return std::accumulate(begin, end, int64_t{1}, std::multiplies<>()); };
  const int64_t before = product(shape.begin(), shape.begin() + axis);
  // The last one with as many before it, or fewer: others have the extent 1.
  for (size_t d = target.size(); d-- > 0;) {
    const int64_t in_front = product(target.begin(), target.begin() + static_cast<std::ptrdiff_t>(d));
    if (in_front > before) continue;
    const int64_t blocks = before / in_front;
    if (before % in_front != 0 || target[d] % blocks != 0) return std::nullopt;
    return ReshapedAxis{static_cast<int>(d), blocks, product(shape.begin() + axis + 1, shape.end()),
                        product(target.begin() + static_cast<std::ptrdiff_t>(d) + 1, target.end())};
  }
  return std::nullopt;
}

class NodeCutter {
 public:
  NodeCutter(const Graph& graph, const Node& node, const WantedSlices& wanted, Obstacle* obstacle)
      : graph_(graph), node_(node), all_wanted_(wanted), obstacle_(obstacle) {
    cut_.operands.resize(node.inputs.size());
    cut_.results = wanted;
    cut_.attrs = node.attrs;
  }

  std::optional<NodeSlices> run() {
    if (std::all_of(all_wanted_.begin(), all_wanted_.end(), [](const auto& w) { return !w || w->is_whole(); })) {
      if (node_.op->cut == CutFamily::Split) cut_.results.assign(all_wanted_.size(), Slice());
      return cut_;
    }
    const bool is_first_alone =
        all_wanted_[0] && std::none_of(all_wanted_.begin() + 1, all_wanted_.end(), [](const auto& w) { return w; });
    if (!is_first_alone && node_.op->cut != CutFamily::Split) {
      fail(fmt::format("{} has several results, or none that is read", node_.op->name));
      return std::nullopt;
    }
    wanted_ = all_wanted_[0].value_or(Slice());
    bool ok = false;
    switch (node_.op->cut) {
      case CutFamily::Elementwise: ok = broadcast_all(0); break;
      case CutFamily::First: ok = same(0); break;
      case CutFamily::Conv: ok = conv(); break;
      case CutFamily::ConvTranspose: ok = conv_transpose(); break;
      case CutFamily::Product: ok = product(); break;
      case CutFamily::Gemm: ok = gemm(); break;
      case CutFamily::Pool: ok = pool(); break;
      case CutFamily::GlobalPool: ok = wanted_.axis <= 1 ? same(0) : none(); break;
      case CutFamily::Channelwise: ok = channelwise(); break;
      case CutFamily::Quantize: ok = quantize(); break;
      case CutFamily::Along: ok = along(); break;
      case CutFamily::Norm: ok = norm(); break;
      case CutFamily::Matrix: ok = wanted_.axis + 2 < static_cast<int>(result().size()) ? same(0) : none(); break;
      case CutFamily::Transpose: ok = transpose(); break;
      case CutFamily::Reshape: ok = reshape(); break;
      case CutFamily::Expand: ok = expand(); break;
      case CutFamily::Concat: ok = concat(); break;
      case CutFamily::Split: ok = split(); break;
      case CutFamily::Slice: ok = slice(); break;
      case CutFamily::Gather: ok = gather(); break;
      case CutFamily::GatherElements: ok = gather_elements(); break;
      case CutFamily::None: ok = none(); break;
    }
    if (!ok) return std::nullopt;
    return cut_;
  }

 private:
  bool fail(std::string why, int64_t multiple = 1) {
    obstacle_->why = std::move(why);
    obstacle_->multiple = multiple;
    return false;
  }
  bool none() { return fail(fmt::format("{} cannot be cut along dimension {}", node_.op->name, wanted_.axis)); }

  bool has(size_t i) const { return i < node_.inputs.size() && node_.inputs[i].is_valid(); }
  const Shape& shape(size_t i) const { return graph_.value(node_.inputs[i]).type.shape; }
  const Shape& result() const { return graph_.value(node_.outputs[0]).type.shape; }

  void set(size_t i, int axis) {
    cut_.operands[i] = wanted_;
    cut_.operands[i].axis = axis;
  }
  bool same(size_t i) { return set(i, wanted_.axis), true; }

  /// An operand that is broadcast to the result.
  bool broadcast(size_t i) {
    if (!has(i)) return true;
    int axis = wanted_.axis - static_cast<int>(result().size()) + static_cast<int>(shape(i).size());
    if (axis >= 0 && shape(i)[static_cast<size_t>(axis)] != 1) set(i, axis);
    return true;
  }
  bool broadcast_all(size_t first) {
    for (size_t i = first; i < node_.inputs.size(); ++i) broadcast(i);
    return true;
  }

  /// Scales, zero points, bias: one element, or one for each index of the dimension that is cut.
  bool parameters(const Operands& at, bool along_cut) {
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      if (i == at.left || i == at.right || !has(i) || runtime::element_count(shape(i)) == 1) continue;
      if (shape(i).size() != 1 || !goes_with_right(i))
        return fail(fmt::format("operand {} of {} has an unrelated shape", i, node_.op->name));
      if (along_cut) set(i, 0);
    }
    return true;
  }

  bool goes_with_right(size_t i) const {
    std::string_view op = node_.op->name;
    if (op == "Conv") return i == 2;
    if (op == "ConvInteger" || op == "MatMulInteger") return i == 3;
    return i == 4 || i == 5 || (op == "QLinearConv" && i == 8);
  }

  bool conv() {
    Operands at = operands_of(*node_.op);
    if (wanted_.axis == 0) return set(at.left, 0), parameters(at, false);
    if (wanted_.axis == 2) {
      const Shape& w = shape(at.right);
      return window(at.left, Shape(w.begin() + 2, w.end())) && parameters(at, false);
    }
    if (wanted_.axis != 1) return none();
    set(at.right, 0);
    int64_t group = attrs_of(node_).int_of("group");
    if (group > 1) {
      if (!is_one_range()) return false;
      int64_t channels = shape(at.right)[0] / group;
      if (channels == 0) return fail("a group has no channels");
      if (wanted_.begin % channels != 0 || wanted_.end % channels != 0)
        return fail(fmt::format("a part would have some of the {} channels of a group", channels), channels);
      int64_t inside = shape(at.left)[1] / group;
      cut_.operands[at.left] = {1, wanted_.begin / channels * inside, wanted_.end / channels * inside};
      cut_.attrs.set("group", (wanted_.end - wanted_.begin) / channels);
    }
    return parameters(at, true);
  }

  bool conv_transpose() {
    if (wanted_.axis == 0) return same(0);
    if (wanted_.axis != 1) return none();
    if (attrs_of(node_).int_of("group") != 1) return fail("a grouped ConvTranspose is not cut along its channels");
    set(1, 1);
    if (has(2)) set(2, 0);
    return true;
  }

  bool product() {
    Operands at = operands_of(*node_.op);
    int left = static_cast<int>(shape(at.left).size());
    int right = static_cast<int>(shape(at.right).size());
    int rank = static_cast<int>(result().size());
    if (left < 2 || right < 2) return fail("an operand of the product is a vector");
    if (wanted_.axis == rank - 1) return set(at.right, right - 1), parameters(at, true);
    if (wanted_.axis == rank - 2) return set(at.left, left - 2), parameters(at, false);
    return broadcast(at.left), broadcast(at.right), parameters(at, false);
  }

  bool gemm() {
    bool is_row = wanted_.axis == 0;
    if (is_row) set(0, attrs_of(node_).is_on("transA") ? 1 : 0);
    if (!is_row) set(1, attrs_of(node_).is_on("transB") ? 0 : 1);
    return broadcast_all(2);
  }

  bool pool() {
    if (wanted_.axis <= 1) return same(0);
    return wanted_.axis == 2 ? window(0, attrs_of(node_).ints_of("kernel_shape")) : none();
  }

  bool channelwise() {
    for (size_t i = 1; i < node_.inputs.size() && wanted_.axis == 1; ++i) set(i, 0);
    return same(0);
  }

  bool quantize() {
    const int axis = axis_attr();
    const int64_t block = attrs_of(node_).int_of("block_size");
    for (size_t i = 1; i < node_.inputs.size(); ++i) {
      if (!has(i) || runtime::element_count(shape(i)) == 1) continue;
      if (block > 0) {
        if (axis != wanted_.axis) {
          same(i);
          continue;
        }
        if (!is_one_range()) return false;
        if (wanted_.begin % block != 0 ||
            (wanted_.end % block != 0 && wanted_.end != result()[static_cast<size_t>(axis)]))
          return fail(fmt::format("a part would have some of a block of {}", block), block);
        cut_.operands[i] = {axis, wanted_.begin / block, (wanted_.end + block - 1) / block};
      } else if (axis == wanted_.axis) {
        set(i, 0);
      }
    }
    return same(0);
  }

  int axis_attr() const { return from_front(attrs_of(node_).int_of("axis"), result().size()); }

  bool along() { return wanted_.axis == axis_attr() ? none() : same(0); }

  bool norm() { return wanted_.axis >= axis_attr() ? none() : same(0); }

  bool transpose() {
    const runtime::Ints order = permutation_of(node_, result().size());
    return set(0, static_cast<int>(order[static_cast<size_t>(wanted_.axis)])), true;
  }

  bool reshape() {
    // Without a list of dimensions, a Squeeze of the part may remove others.
    if (node_.op->name == "Squeeze" && !has(1)) return none();
    const std::optional<ReshapedAxis> there = reshaped_axis(result(), wanted_.axis, shape(0));
    if (!there) return none();
    const int64_t unit = there->to / std::gcd(there->from, there->to);
    std::vector<Range> ranges;
    for (int64_t block = 0; block < there->blocks; ++block) {
      const int64_t start = block * (shape(0)[static_cast<size_t>(there->axis)] / there->blocks);
      for (const Range& range : wanted_.ranges()) {
        if (range.begin % unit != 0 || range.end % unit != 0)
          return fail(fmt::format("a part would have some of {} that {} keeps together", unit, node_.op->name),
                      wanted_.more.empty() ? unit : 1);
        ranges.push_back({start + range.begin * there->from / there->to, start + range.end * there->from / there->to});
      }
    }
    cut_.operands[0] = slice_of_ranges(there->axis, ranges);
    if (node_.op->name == "Reshape") cut_.lists[1] = shape_of_slice(result(), wanted_);
    return true;
  }

  bool expand() {
    cut_.lists[1] = shape_of_slice(result(), wanted_);
    return broadcast(0);
  }

  bool concat() {
    if (wanted_.axis == axis_attr()) return none();
    for (size_t i = 0; i < node_.inputs.size(); ++i) same(i);
    return true;
  }

  /// Along another axis all results are cut alike. Along its own, the operand's slice has what results have one after
  /// the other, and the part's node takes these apart.
  bool split() {
    const auto read = std::find_if(all_wanted_.begin(), all_wanted_.end(), [](const auto& w) { return w.has_value(); });
    const int axis = from_front(attrs_of(node_).int_of("axis"), shape(0).size());
    const auto is_along = [&](const Slice& slice) { return slice.is_whole() || slice.axis == axis; };
    if (!is_along(**read)) {
      for (size_t i = 0; i < all_wanted_.size(); ++i) {
        if (all_wanted_[i] && *all_wanted_[i] != **read) return fail("results of Split are needed in different slices");
        cut_.results[i] = **read;
      }
      cut_.operands[0] = **read;
      return true;
    }
    std::vector<Range> ranges;
    Shape sizes;
    int64_t start = 0;
    for (size_t i = 0; i < all_wanted_.size(); ++i) {
      if (!all_wanted_[i]) return fail("a result of Split is not read");
      const Slice& wanted = *all_wanted_[i];
      if (!is_along(wanted)) return fail("results of Split are needed in different slices");
      const int64_t extent = graph_.value(node_.outputs[i]).type.shape[static_cast<size_t>(axis)];
      const std::vector<Range> own = wanted.is_whole() ? std::vector<Range>{{0, extent}} : wanted.ranges();
      for (const Range& range : own) ranges.push_back({start + range.begin, start + range.end});
      sizes.push_back(wanted.is_whole() ? extent : wanted.extent());
      start += extent;
    }
    cut_.operands[0] = slice_of_ranges(axis, ranges);
    if (has(1)) {
      cut_.lists[1] = sizes;
    } else if (std::any_of(sizes.begin(), sizes.end(), [&](int64_t size) { return size != sizes[0]; })) {
      return fail("results of Split would have different sizes");
    }
    return true;
  }

  /// Bounds that take all of a dimension, in order, say so of fewer indices, too. Others are taken from what is left of
  /// the operand.
  bool slice() {
    const auto axis = static_cast<size_t>(wanted_.axis);
    const size_t rank = result().size();
    const runtime::Ints starts = numbers(1), ends = numbers(2), steps = has(4) ? numbers(4) : runtime::Ints();
    const runtime::Ints axes = has(3) ? numbers(3) : runtime::Ints();
    for (size_t i = 0; i < starts.size(); ++i) {
      const size_t named = axes.empty() ? i : static_cast<size_t>(from_front(axes[i], rank));
      if (named != axis) continue;
      const int64_t extent = shape(0)[axis];
      const runtime::SliceRange range = runtime::slice_range(extent, starts[i], ends[i], steps.empty() ? 1 : steps[i]);
      if (range.step != 1) return none();
      if (range.start == 0 && range.count == extent) continue;
      std::vector<Range> ranges = wanted_.ranges();
      for (Range& taken : ranges) taken = {taken.begin + range.start, taken.end + range.start};
      cut_.operands[0] = slice_of_ranges(wanted_.axis, ranges);
      cut_.lists = {{1, starts}, {2, ends}};
      cut_.bound = i;
      return true;
    }
    return same(0);
  }

  bool gather() {
    const int axis = from_front(attrs_of(node_).int_of("axis"), shape(0).size());
    const int indices = static_cast<int>(shape(1).size());
    if (wanted_.axis < axis) return same(0);
    if (wanted_.axis < axis + indices) return set(1, wanted_.axis - axis), true;
    return set(0, wanted_.axis - indices + 1), true;
  }

  bool gather_elements() {
    if (wanted_.axis != axis_attr()) same(0);
    return same(1);
  }

  /// The elements of an operand that is a list of whole numbers and constant, as its shape function wants it.
  runtime::Ints numbers(size_t i) const {
    const Tensor& list = graph_.value(node_.inputs[i]).constant->data;
    if (list.dtype() == DType::I32) return {list.as<int32_t>().begin(), list.as<int32_t>().end()};
    return {list.as<int64_t>().begin(), list.as<int64_t>().end()};
  }

  bool is_one_range() {
    return wanted_.more.empty() || fail(fmt::format("{} is needed in several ranges", node_.op->name));
  }

  /// Rows [begin, end) of a window's result read rows from begin * stride - pad to the last row that the last window
  /// needs. Rows outside the operand are padding of the part; neighbouring parts read some rows twice.
  bool window(size_t operand, const Shape& kernel) {
    if (!is_one_range()) return false;
    const Shape& x = shape(operand);
    runtime::Window w;
    if (auto problem = runtime::resolve_window(Shape(x.begin() + 2, x.end()), kernel, node_.attrs, &w))
      return fail(problem->message);
    if (attrs_of(node_).is_on("ceil_mode")) return fail("`ceil_mode` counts rows outside the operand");
    int64_t extent = (w.kernel[0] - 1) * w.dilations[0] + 1;
    int64_t first = wanted_.begin * w.strides[0] - w.pads_begin[0];
    int64_t last = (wanted_.end - 1) * w.strides[0] - w.pads_begin[0] + extent;
    int64_t begin = std::max<int64_t>(first, 0);
    int64_t end = std::min(last, w.input[0]);
    if (begin >= end) return fail("a part would read only padding");
    cut_.operands[operand] = {2, begin, end};
    runtime::Ints pads = w.pads_begin;
    pads.insert(pads.end(), w.pads_end.begin(), w.pads_end.end());
    pads[0] = begin - first;
    pads[w.rank()] = last - end;
    cut_.attrs.erase("auto_pad");
    cut_.attrs.set("pads", std::move(pads));
    return true;
  }

  const Graph& graph_;
  const Node& node_;
  const WantedSlices& all_wanted_;
  Slice wanted_;  ///< of the first result
  Obstacle* obstacle_;
  NodeSlices cut_;
};

}  // namespace

std::string_view name_of(SplitAxis axis) {
  return std::find_if(kAxes.begin(), kAxes.end(), [&](const auto& row) { return row.first == axis; })->second;
}

std::optional<SplitAxis> find_split_axis(std::string_view name) {
  auto row = std::find_if(kAxes.begin(), kAxes.end(), [&](const auto& r) { return r.second == name; });
  return row == kAxes.end() ? std::nullopt : std::optional(row->first);
}

std::vector<std::string> split_axis_names() {
  std::vector<std::string> names;
  for (const auto& row : kAxes) names.emplace_back(row.second);
  return names;
}

bool can_split(const OpDef& op, SplitAxis axis) {
  switch (op.cut) {
    case CutFamily::ConvTranspose:
    case CutFamily::GlobalPool: return axis == SplitAxis::Batch || axis == SplitAxis::Channels;
    case CutFamily::Conv:
    case CutFamily::Gemm:
    case CutFamily::Pool:
    case CutFamily::Channelwise: return axis != SplitAxis::Heads;
    // Cut with another operator of the match: which of their dimensions is an axis depends on that one.
    case CutFamily::Transpose:
    case CutFamily::Reshape:
    case CutFamily::Expand:
    case CutFamily::Concat:
    case CutFamily::Split:
    case CutFamily::Slice:
    case CutFamily::None: return false;
    default: return true;
  }
}

std::optional<int> dimension_of(const OpDef& op, SplitAxis axis, size_t rank) {
  int dimensions = static_cast<int>(rank);
  if (axis == SplitAxis::Heads) return rank < 3 ? std::nullopt : std::optional(rank == 3 ? 0 : 1);
  int dimension = axis == SplitAxis::Batch ? 0 : axis == SplitAxis::Channels ? 1 : 2;
  if (op.cut == CutFamily::Product || op.cut == CutFamily::Gemm) {
    dimension = axis == SplitAxis::Batch ? 0 : axis == SplitAxis::Channels ? dimensions - 1 : dimensions - 2;
  }
  if (dimension < 0 || dimension >= dimensions) return std::nullopt;
  return dimension;
}

std::optional<NodeSlices> slices_of_node(const Graph& graph, const Node& node, const WantedSlices& wanted,
                                         Obstacle* obstacle) {
  return NodeCutter(graph, node, wanted, obstacle).run();
}

std::optional<Slice> carried_slice(const Graph& graph, const Node& node, size_t operand, size_t result,
                                   const Slice& whole) {
  const Shape& read = graph.value(node.inputs[operand]).type.shape;
  const Shape& made = graph.value(node.outputs[result]).type.shape;
  switch (node.op->cut) {
    case CutFamily::Transpose: {
      const runtime::Ints order = permutation_of(node, made.size());
      return Slice{static_cast<int>(std::find(order.begin(), order.end(), whole.axis) - order.begin()), 0, whole.end};
    }
    case CutFamily::Reshape: {
      const std::optional<ReshapedAxis> there = reshaped_axis(read, whole.axis, made);
      if (!there || there->blocks > 1 || whole.end * there->from % there->to != 0) return std::nullopt;
      return Slice{there->axis, 0, whole.end * there->from / there->to};
    }
    case CutFamily::Split: {
      const int axis = from_front(attrs_of(node).int_of("axis"), read.size());
      return Slice{whole.axis, 0, whole.axis == axis ? made[static_cast<size_t>(axis)] : whole.end};
    }
    case CutFamily::Gather: {
      const int axis = from_front(attrs_of(node).int_of("axis"), read.size());
      if (operand == 1) return Slice{axis + whole.axis, 0, whole.end};
      if (whole.axis == axis) return std::nullopt;
      const int moved = static_cast<int>(made.size()) - static_cast<int>(read.size());
      return Slice{whole.axis + (whole.axis > axis ? moved : 0), 0, whole.end};
    }
    default: {
      const int axis = whole.axis + static_cast<int>(made.size()) - static_cast<int>(read.size());
      return axis < 0 || axis >= static_cast<int>(made.size()) ? std::nullopt
                                                               : std::optional(Slice{axis, 0, whole.end});
    }
  }
}

}  // namespace collage::ir
