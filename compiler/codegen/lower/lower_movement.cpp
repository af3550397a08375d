// SPDX-License-Identifier: Apache-2.0
// Operators that only move elements, each as one or more strided copies:
//
//   Concat       one copy per operand, into its part of the result
//   Pad          a fill, then a copy into the middle; edges that repeat elements are a resampling (lower_resize.cpp)
//   Gather       one copy per index if the indices are few and constant; otherwise see lower_indexing.cpp
//   all others   one copy per result
#include <algorithm>
#include <cstring>

#include "compiler/codegen/lower/lowerings.h"
#include "compiler/codegen/lower/strided_copy.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/kernels/axis_split.h"
#include "runtime/kernels/row_walk.h"
#include "runtime/kernels/slice_range.h"

namespace collage::codegen {
namespace {

using ir::Shape;
using Copies = std::optional<std::vector<StridedCopy>>;

/// With more constant indices than this, one kernel selects the rows.
constexpr int64_t kMostIndices = 8;

struct Reader {
  const ir::Graph& graph;
  const ir::Node& node;

  bool has(size_t i) const { return i < node.inputs.size() && node.inputs[i].is_valid(); }
  const Shape& shape(size_t i) const { return graph.value(node.inputs[i]).type.shape; }
  const Shape& result(size_t i = 0) const { return graph.value(node.outputs[i]).type.shape; }
  int64_t axis(size_t rank) const {
    int64_t axis = ir::attrs_of(node).int_of("axis");
    return axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
  }
  /// Elements of a constant operand.
  std::optional<std::vector<int64_t>> ints(size_t i) const {
    const ir::Value& value = graph.value(node.inputs[i]);
    if (!value.is_constant()) return std::nullopt;
    std::vector<int64_t> list;
    for (int64_t k = 0; k < value.constant->data.count(); ++k) {
      list.push_back(runtime::element_as_int(value.constant->data.view(), k));
    }
    return list;
  }
  /// Returns a copy of all of `space`, with arbitrary strides.
  StridedCopy copy(const Shape& space, const std::vector<int64_t>& to, const std::vector<int64_t>& from) const {
    StridedCopy made;
    made.from = node.inputs[0];
    made.to = node.outputs[0];
    for (size_t d = 0; d < space.size(); ++d) made.dims.push_back({space[d], to[d], from[d]});
    return made;
  }
};

Copies view(const Reader& r) {
  for (size_t i = 1; i < r.node.outputs.size(); ++i) {
    if (r.node.outputs[i].is_valid()) return std::nullopt;
  }
  return {{r.copy({runtime::element_count(r.result())}, {1}, {1})}};
}

// The operand seen as `shape`, then with its dimensions in the order `perm`.
Copies permuted(const Reader& r, const Shape& shape, const std::vector<int64_t>& perm) {
  std::vector<int64_t> own = runtime::row_major_strides(shape);
  std::vector<int64_t> from;
  Shape space;
  for (int64_t axis : perm) {
    from.push_back(own[static_cast<size_t>(axis)]);
    space.push_back(shape[static_cast<size_t>(axis)]);
  }
  return {{r.copy(space, runtime::row_major_strides(space), from)}};
}

Copies transpose(const Reader& r) {
  auto rank = static_cast<int64_t>(r.shape(0).size());
  std::vector<int64_t> perm = ir::attrs_of(r.node).ints_of("perm");
  if (!r.node.attrs.has("perm")) {
    for (int64_t d = rank; d-- > 0;) perm.push_back(d);
  }
  for (int64_t& axis : perm) axis += axis < 0 ? rank : 0;
  return permuted(r, r.shape(0), perm);
}

// DCR: [N, b, b, C, H, W] => [N, C, H, b, W, b]; CRD: [N, C, b, b, H, W] likewise.
Copies depth_to_space(const Reader& r) {
  const Shape& x = r.shape(0);
  int64_t b = ir::attrs_of(r.node).int_of("blocksize");
  int64_t channels = x[1] / (b * b);
  if (ir::attrs_of(r.node).string_of("mode") == "CRD") {
    return permuted(r, {x[0], channels, b, b, x[2], x[3]}, {0, 1, 4, 2, 5, 3});
  }
  return permuted(r, {x[0], b, b, channels, x[2], x[3]}, {0, 3, 4, 1, 5, 2});
}

// [N, C, H, b, W, b] => [N, b, b, C, H, W]
Copies space_to_depth(const Reader& r) {
  const Shape& x = r.shape(0);
  int64_t b = ir::attrs_of(r.node).int_of("blocksize");
  return permuted(r, {x[0], x[1], x[2] / b, b, x[3] / b, b}, {0, 3, 5, 1, 2, 4});
}

Copies expand(const Reader& r) {
  return {
      {r.copy(r.result(), runtime::row_major_strides(r.result()), runtime::broadcast_strides(r.shape(0), r.result()))}};
}

// Splits each dimension into the repeat, which reads the same elements, and the dimension itself.
Copies tile(const Reader& r) {
  std::vector<int64_t> own = runtime::row_major_strides(r.shape(0));
  std::vector<int64_t> from;
  Shape space;
  for (size_t d = 0; d < own.size(); ++d) {
    space.push_back(r.result()[d] / r.shape(0)[d]);
    space.push_back(r.shape(0)[d]);
    from.push_back(0);
    from.push_back(own[d]);
  }
  return {{r.copy(space, runtime::row_major_strides(space), from)}};
}

Copies slice(const Reader& r) {
  const Shape& shape = r.shape(0);
  auto starts = r.ints(1);
  auto ends = r.ints(2);
  auto axes = r.has(3) ? r.ints(3) : std::vector<int64_t>();
  auto steps = r.has(4) ? r.ints(4) : std::vector<int64_t>();
  if (!starts || !ends || !axes || !steps) return std::nullopt;
  std::vector<int64_t> own = runtime::row_major_strides(shape);
  StridedCopy copy = r.copy(r.result(), runtime::row_major_strides(r.result()), own);
  for (size_t i = 0; i < starts->size(); ++i) {
    int64_t axis = r.has(3) ? (*axes)[i] : static_cast<int64_t>(i);
    auto d = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis);
    runtime::SliceRange range = runtime::slice_range(shape[d], (*starts)[i], (*ends)[i], r.has(4) ? (*steps)[i] : 1);
    if (range.count != r.result()[d]) return std::nullopt;
    copy.from_offset += range.start * own[d];
    copy.dims[d].from = range.count == 1 ? 0 : range.step * own[d];
  }
  return {{copy}};
}

Copies concat(const Reader& r) {
  std::vector<StridedCopy> copies;
  std::vector<int64_t> to = runtime::row_major_strides(r.result());
  auto d = static_cast<size_t>(r.axis(r.result().size()));
  int64_t done = 0;
  for (size_t i = 0; i < r.node.inputs.size(); ++i) {
    StridedCopy copy = r.copy(r.shape(i), to, runtime::row_major_strides(r.shape(i)));
    copy.from = r.node.inputs[i];
    copy.to_offset = done * to[d];
    done += r.shape(i)[d];
    copies.push_back(std::move(copy));
  }
  return copies;
}

Copies split(const Reader& r) {
  std::vector<StridedCopy> copies;
  std::vector<int64_t> own = runtime::row_major_strides(r.shape(0));
  auto d = static_cast<size_t>(r.axis(r.shape(0).size()));
  auto sizes = r.has(1) ? r.ints(1) : std::vector<int64_t>();
  if (!sizes) return std::nullopt;
  auto parts = static_cast<int64_t>(r.node.outputs.size());
  int64_t done = 0;
  for (size_t i = 0; i < r.node.outputs.size(); ++i) {
    if (r.node.outputs[i].is_valid()) {
      StridedCopy copy = r.copy(r.result(i), runtime::row_major_strides(r.result(i)), own);
      copy.to = r.node.outputs[i];
      copy.from_offset = done * own[d];
      copies.push_back(std::move(copy));
    }
    done += r.has(1) ? (*sizes)[i] : r.shape(0)[d] / parts;
  }
  return copies;
}

// Fills everything first; the copy then overwrites the middle.
Copies pad(const Reader& r) {
  if (ir::attrs_of(r.node).string_of("mode") != "constant" || r.has(3)) return std::nullopt;
  auto begins = r.ints(1);
  if (!begins) return std::nullopt;
  StridedCopy fill;
  fill.to = r.node.outputs[0];
  fill.dims.push_back({runtime::element_count(r.result()), 1, 0});
  if (r.has(2)) {
    const ir::Value& value = r.graph.value(r.node.inputs[2]);
    if (!value.is_constant() || value.constant->data.bytes() > sizeof(fill.fill)) return std::nullopt;
    std::memcpy(&fill.fill, value.constant->data.data(), value.constant->data.bytes());
  }
  std::vector<int64_t> own = runtime::row_major_strides(r.shape(0));
  std::vector<int64_t> to = runtime::row_major_strides(r.result());
  StridedCopy middle = r.copy(r.shape(0), to, own);
  for (size_t d = 0; d < own.size(); ++d) {
    int64_t begin = (*begins)[d];
    int64_t first = std::max<int64_t>(0, -begin);
    int64_t last = std::min(r.shape(0)[d], r.result()[d] - begin);
    if (last <= first) return {{fill}};
    middle.dims[d].extent = last - first;
    middle.from_offset += first * own[d];
    middle.to_offset += (begin + first) * to[d];
  }
  int64_t copied = 1;
  for (const CopyDim& d : middle.dims) copied *= d.extent;
  if (copied == runtime::element_count(r.result())) return {{middle}};
  return {{fill, middle}};
}

Copies gather_known(const Reader& r) {
  auto indices = r.ints(1);
  if (!indices || static_cast<int64_t>(indices->size()) > kMostIndices) return std::nullopt;
  runtime::AxisSplit axes(r.shape(0), r.axis(r.shape(0).size()));
  auto count = static_cast<int64_t>(indices->size());
  std::vector<StridedCopy> copies;
  for (int64_t k = 0; k < count; ++k) {
    int64_t index = (*indices)[static_cast<size_t>(k)];
    if (index < 0) index += axes.extent;
    if (index < 0 || index >= axes.extent) return std::nullopt;
    StridedCopy copy = r.copy({axes.outer, axes.inner}, {count * axes.inner, 1}, {axes.extent * axes.inner, 1});
    copy.from_offset = index * axes.inner;
    copy.to_offset = k * axes.inner;
    copies.push_back(std::move(copy));
  }
  return copies;
}

struct Row {
  std::string_view op;
  Copies (*copies)(const Reader&);
};

constexpr Row kRows[] = {
    {"Concat", concat},       {"DepthToSpace", depth_to_space},
    {"Dropout", view},        {"Expand", expand},
    {"Flatten", view},        {"Gather", gather_known},
    {"Identity", view},       {"Pad", pad},
    {"Reshape", view},        {"Slice", slice},
    {"Split", split},         {"SpaceToDepth", space_to_depth},
    {"Squeeze", view},        {"Tile", tile},
    {"Transpose", transpose}, {"Unsqueeze", view},
};

const Row* find_row(std::string_view op) {
  const Row* row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.op == op; });
  return row == std::end(kRows) ? nullptr : row;
}

/// Returns whether a result, or an operand whose elements move, is empty. Other operands, such as a shape, may be
/// empty.
bool moves_nothing(const ir::Graph& graph, const ir::Node& node) {
  auto is_empty = [&](ir::ValueId v) { return v.is_valid() && runtime::element_count(graph.value(v).type.shape) == 0; };
  size_t moved = node.op->name == "Concat" ? node.inputs.size() : 1;
  return std::any_of(node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(moved), is_empty) ||
         std::any_of(node.outputs.begin(), node.outputs.end(), is_empty);
}

Copies copies_of(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  const Row* row = find_row(node.op->name);
  if (row == nullptr || moves_nothing(graph, node)) return std::nullopt;
  Copies copies = row->copies({graph, node});
  if (!copies) return std::nullopt;
  for (const StridedCopy& copy : *copies) {
    bool empty = std::any_of(copy.dims.begin(), copy.dims.end(), [](const CopyDim& d) { return d.extent == 0; });
    if (empty) return std::nullopt;
  }
  return copies;
}

size_t no_epilogue(const ir::Graph&, ir::NodeId) {
  return 0;
}

bool accepts_pad(const ir::Graph& graph, ir::NodeId id) {
  return accepts_movement(graph, id) || accepts_resampling(graph, id);
}

}  // namespace

bool accepts_movement(const ir::Graph& graph, ir::NodeId id) {
  Copies copies = copies_of(graph, id);
  return copies && std::all_of(copies->begin(), copies->end(), [&](const auto& c) { return can_copy(graph, c); });
}

std::vector<KernelSketch> lower_movement(const LoweringContext& context, const Group& group) {
  ir::NodeId id = group.nodes.front();
  const ir::Node& node = context.graph.node(id);
  if (!accepts_movement(context.graph, id)) {
    return lower_resampling(context, group);
  }
  std::vector<KernelSketch> kernels;
  Copies copies = copies_of(context.graph, id);
  bool overwrites = copies->size() > 1 && node.op->name == "Pad";
  for (StridedCopy& copy : *copies) {
    std::optional<SharedMemory> shared = shared_memory(context.graph, copy);
    kernels.push_back(copy_kernel(context, std::move(copy)));
    if (!overwrites) kernels.back().in_place = shared;
  }
  return kernels;
}

std::optional<SharedMemory> whole_copy(const ir::Graph& graph, ir::NodeId id) {
  Copies copies = copies_of(graph, id);
  if (!copies || copies->size() != 1) return std::nullopt;
  return shared_memory(graph, copies->front());
}

const Lowering& movement_lowering() {
  static constexpr Lowering row{accepts_movement, no_epilogue, lower_movement};
  return row;
}

const Lowering& pad_lowering() {
  static constexpr Lowering row{accepts_pad, no_epilogue, lower_movement};
  return row;
}

}  // namespace collage::codegen
