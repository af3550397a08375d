// SPDX-License-Identifier: Apache-2.0
#include "compiler/shapes/row_node.h"

#include <algorithm>

#include "compiler/ir/graph/operands.h"

namespace collage::shapes {

int differing_axis(const ir::Shape& exact, const ir::Shape& bucket) {
  if (exact.size() != bucket.size()) return -1;
  int differing = -1;
  for (size_t d = 0; d < exact.size(); ++d) {
    if (exact[d] == bucket[d]) continue;
    if (differing >= 0 || exact[d] > bucket[d] || exact[d] == 0) return -1;
    differing = static_cast<int>(d);
  }
  return differing;
}

bool RowNode::only(std::initializer_list<size_t> operands) const {
  for (size_t i = 0; i < this->operands(); ++i) {
    if (has_rows(i) && std::find(operands.begin(), operands.end(), i) == operands.end()) return false;
  }
  return true;
}

std::optional<std::vector<int64_t>> RowNode::ints_in(const ir::Graph& graph, size_t i) const {
  const ir::Tensor* tensor = ir::constant_operand(graph, graph.node(id_), i);
  if (tensor == nullptr || is_float(tensor->dtype())) return std::nullopt;
  std::vector<int64_t> all;
  for (int64_t k = 0; k < tensor->count(); ++k) all.push_back(runtime::element_as_int(tensor->view(), k));
  return all;
}

const ir::Tensor* RowNode::constant(size_t i) const {
  return ir::constant_operand(bucket_, node(), i);
}

int RowNode::axis_attr(int rank) const {
  const int64_t axis = attrs().int_of("axis");
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

bool RowNode::give_rows(size_t result, int axis, size_t from, bool repeats) {
  const int differing = differing_axis(exact_result_shape(result), result_shape(result));
  if (differing != axis || axis < 0) return false;
  const auto at = static_cast<size_t>(axis), own = static_cast<size_t>(this->axis(from));
  if (result_shape(result)[at] != shape(from)[own] || exact_result_shape(result)[at] != exact_shape(from)[own]) {
    return false;
  }
  give(result, {RowState::Kind::Rows, axis, repeats});
  return true;
}

bool RowNode::give_all(int axis, size_t from, bool repeats) {
  for (size_t i = 0; i < node().outputs.size(); ++i) {
    if (has_result(i) && !give_rows(i, axis, from, repeats)) return false;
  }
  return true;
}

bool RowNode::give_differing(size_t result, bool repeats) {
  const int axis = differing_axis(exact_result_shape(result), result_shape(result));
  if (axis < 0) return false;
  const int64_t rows = exact_result_shape(result)[static_cast<size_t>(axis)];
  const int64_t of_bucket = result_shape(result)[static_cast<size_t>(axis)];
  // Rows repeat by the elements that belong to one of the dimension.
  const bool is_multiple = rows % sizes_.exact == 0 && of_bucket == rows / sizes_.exact * sizes_.bucket;
  give(result, {RowState::Kind::Rows, axis, repeats && is_multiple});
  return true;
}

bool RowNode::give_reshaped(size_t result) {
  const int to = differing_axis(exact_result_shape(result), result_shape(result));
  if (to < 0) return false;
  const auto before = [](const ir::Shape& shape, int axis) {
    int64_t count = 1;
    for (size_t d = 0; d < static_cast<size_t>(axis); ++d) count *= shape[d];
    return count;
  };
  // Rows lie in as many runs before as after, so a run has the same elements, and begins with those that are kept.
  return before(shape(0), axis(0)) == before(result_shape(result), to) && give_differing(result, repeats(0));
}

}  // namespace collage::shapes
