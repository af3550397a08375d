// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/kernel/row_steps.h"

#include <algorithm>
#include <string_view>

#include "compiler/codegen/kernel/pointwise.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/core/tensor.h"
#include "runtime/kernels/slice_range.h"

namespace collage::codegen {
namespace {

/// Elements of a constant operand; nullopt if it is none.
std::optional<Positions> known_numbers(const ir::Graph& graph, const ir::Node& node, size_t i) {
  if (i >= node.inputs.size() || !node.inputs[i].is_valid()) return std::nullopt;
  const ir::Value& value = graph.value(node.inputs[i]);
  if (!value.is_constant() || runtime::is_float(value.type.dtype)) return std::nullopt;
  Positions numbers;
  for (int64_t k = 0; k < value.constant->data.count(); ++k) {
    numbers.push_back(runtime::element_as_int(value.constant->data.view(), k));
  }
  return numbers;
}

std::optional<std::vector<RowCut>> slice_cuts(const ir::Graph& graph, const ir::Node& node, size_t dims) {
  const ir::Shape& shape = graph.value(node.inputs[0]).type.shape;
  const auto is_given = [&](size_t i) { return i < node.inputs.size() && node.inputs[i].is_valid(); };
  const auto starts = known_numbers(graph, node, 1), ends = known_numbers(graph, node, 2);
  const auto axes = known_numbers(graph, node, 3), steps = known_numbers(graph, node, 4);
  if (!starts || !ends || (is_given(3) && !axes) || (is_given(4) && !steps)) return std::nullopt;
  std::vector<RowCut> cuts;
  for (size_t i = 0; i < starts->size(); ++i) {
    int64_t axis = axes ? (*axes)[i] : static_cast<int64_t>(i);
    if (axis < 0) axis += static_cast<int64_t>(shape.size());
    const auto d = static_cast<size_t>(axis);
    const runtime::SliceRange range = runtime::slice_range(shape[d], (*starts)[i], (*ends)[i], steps ? (*steps)[i] : 1);
    if (range.start == 0 && range.step == 1 && range.count == shape[d]) continue;
    const std::optional<size_t> in_row = row_axis(axis, shape.size(), dims);
    if (!in_row) return std::nullopt;
    cuts.push_back({*in_row, range.start, range.step});
  }
  return cuts;
}

std::optional<std::vector<RowCut>> split_cuts(const ir::Graph& graph, const ir::Node& node, size_t result,
                                              size_t dims) {
  const ir::Shape& shape = graph.value(node.inputs[0]).type.shape;
  const int64_t axis = axis_among(node, shape.size());
  const std::optional<size_t> in_row = row_axis(axis, shape.size(), dims);
  const auto sizes = known_numbers(graph, node, 1);
  if (!in_row || (node.inputs.size() > 1 && node.inputs[1].is_valid() && !sizes)) return std::nullopt;
  const auto parts = static_cast<int64_t>(node.outputs.size());
  const auto d = static_cast<size_t>(axis);
  int64_t start = 0;
  for (size_t i = 0; i < result; ++i) {
    const ir::ValueId part = node.outputs[i];
    start += part.is_valid() ? graph.value(part).type.shape[d] : sizes ? (*sizes)[i] : (shape[d] + parts - 1) / parts;
  }
  return std::vector<RowCut>{{*in_row, start, 1}};
}

}  // namespace

RowStep row_step(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  const std::string_view op = node.op->name;
  if (op == "Concat") return RowStep::Join;
  if (op == "Gather" || op == "Slice" || op == "Split") return RowStep::Cut;
  if (op == "Flatten" || op == "Reshape" || op == "Squeeze" || op == "Unsqueeze") return RowStep::View;
  if (op == "BatchNormalization" || depends_on_place(node)) return RowStep::None;
  return is_pointwise(graph, id) ? RowStep::Compute : RowStep::None;
}

ir::Shape row_of(const ir::Graph& graph, ir::ValueId value, size_t dims) {
  const ir::Shape& shape = graph.value(value).type.shape;
  ir::Shape row(dims > shape.size() ? dims - shape.size() : 0, 1);
  row.insert(row.end(), shape.end() - static_cast<std::ptrdiff_t>(std::min(dims, shape.size())), shape.end());
  return row;
}

ir::Shape lead_of(const ir::Graph& graph, ir::ValueId value, size_t dims) {
  const ir::Shape& shape = graph.value(value).type.shape;
  return ir::Shape(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(std::min(dims, shape.size())));
}

int64_t axis_among(const ir::Node& node, size_t rank) {
  const int64_t axis = ir::attrs_of(node).int_of("axis");
  return axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
}

std::optional<size_t> row_axis(int64_t axis, size_t rank, size_t dims) {
  const int64_t d = axis - static_cast<int64_t>(rank) + static_cast<int64_t>(dims);
  return d < 0 ? std::nullopt : std::optional(static_cast<size_t>(d));
}

std::optional<std::vector<RowCut>> cuts_of(const ir::Graph& graph, ir::ValueId value, size_t dims) {
  const ir::Node& node = graph.node(graph.value(value).producer);
  if (node.op->name == "Slice") return slice_cuts(graph, node, dims);
  return split_cuts(graph, node, static_cast<size_t>(graph.value(value).result), dims);
}

std::optional<Positions> gathered(const ir::Graph& graph, const ir::Node& node) {
  std::optional<Positions> indices = known_numbers(graph, node, 1);
  if (!indices) return std::nullopt;
  const ir::Shape& shape = graph.value(node.inputs[0]).type.shape;
  const int64_t extent = shape[static_cast<size_t>(axis_among(node, shape.size()))];
  for (int64_t& index : *indices) {
    if (index < 0) index += extent;
    if (index < 0 || index >= extent) return std::nullopt;
  }
  return indices;
}

}  // namespace collage::codegen
