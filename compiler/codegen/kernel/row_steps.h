// SPDX-License-Identifier: Apache-2.0
// What single nodes do to rows: which elements of their operands' rows those of their results are. A row is what the
// last `dims` dimensions of a value hold together (row_moves.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/ir/graph/graph.h"

namespace collage::codegen {

using Positions = std::vector<int64_t>;

enum class RowStep { None, Compute, Cut, Join, View };

RowStep row_step(const ir::Graph& graph, ir::NodeId id);

/// The last dimensions of a value, filled up in front.
ir::Shape row_of(const ir::Graph& graph, ir::ValueId value, size_t dims);
/// The dimensions before them.
ir::Shape lead_of(const ir::Graph& graph, ir::ValueId value, size_t dims);

/// The attribute `axis`, from 0.
int64_t axis_among(const ir::Node& node, size_t rank);
/// The dimension of the row that is the axis of a value of `rank` dimensions; nullopt if it lies before the row.
std::optional<size_t> row_axis(int64_t axis, size_t rank, size_t dims);

/// Along a dimension of the row: element i of the result is element start + i * step of the operand.
struct RowCut {
  size_t dim = 0;
  int64_t start = 0;
  int64_t step = 1;
};

/// The cuts that make a result of Slice or Split; nullopt if they are not known or not within the row.
std::optional<std::vector<RowCut>> cuts_of(const ir::Graph& graph, ir::ValueId value, size_t dims);

/// Indices of a Gather, from 0; nullopt if they are not known or out of range.
std::optional<Positions> gathered(const ir::Graph& graph, const ir::Node& node);

}  // namespace collage::codegen
