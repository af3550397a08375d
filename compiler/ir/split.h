// SPDX-License-Identifier: Apache-2.0
// Splits a set of nodes into several that work in parallel: each computes a slice of its one result.
//
//     %c = Conv(%x, %w) {pads = [1, 1, 1, 1]}  %y = Relu(%c)      of 64 channels and 56 rows, in two parts
//
//     channels   part 0: Relu(Conv(x, w[0:32])), part 1: Relu(Conv(x, w[32:64]))          both read all of x
//     rows       part 0: Relu(Conv(x[.., 0:29, ..], w)) with pads [1, 1, 0, 1], part 1: the rows from 27 on
//
// Slices are derived from the result upwards: for each operator, from the slice of its result follow the slices of its
// operands. They depend only on shapes and attributes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"

namespace collage::ir {

/// In images [N, C, rows, …]: dimensions 0, 1, 2. In matrix products: the first dimension, the last, the last but one.
enum class SplitAxis { Batch, Channels, Rows };

std::string_view name_of(SplitAxis axis);
std::optional<SplitAxis> find_split_axis(std::string_view name);
/// Names of all axes, as the languages write them.
std::vector<std::string> split_axis_names();

/// Returns whether nodes of this operator can be cut along the axis for some shapes and attributes.
bool can_split(const OpDef& op, SplitAxis axis);

/// [begin, end) of one dimension; the whole value if `axis` is -1.
struct Slice {
  int axis = -1;
  int64_t begin = 0;
  int64_t end = 0;

  bool is_whole() const { return axis < 0; }
  friend bool operator==(const Slice&, const Slice&) = default;
};

/// The shape of a slice of a tensor of this shape.
Shape shape_of_slice(Shape shape, const Slice& slice);
/// Returns whether the slice of such a tensor is contiguous, so that it can be read and written in place.
bool is_view(const TensorType& whole, const Slice& slice);
/// Returns a copy of the elements; the tensor itself if the slice is whole.
Tensor slice_of(const Tensor& tensor, const Slice& slice);

struct SplitPart {
  Graph graph;                                   ///< the nodes in their order, cut; constants are cut already
  std::vector<std::pair<ValueId, Slice>> reads;  ///< by input of `graph`: the value and its slice
  Slice result;                                  ///< the slice of the set's result that is its output
};

struct SplitNodes {
  std::vector<SplitPart> parts;  ///< their results, concatenated in this order, are the result; empty: see `why`
  std::string why;               ///< why the nodes cannot be cut
};

/// Cuts `nodes` (ascending) into `count` >= 2 parts along an axis of the result of `at`, one of them. Values keep their
/// names in the parts.
SplitNodes split_nodes(const Graph& graph, const std::vector<NodeId>& nodes, NodeId at, SplitAxis axis, int count);

}  // namespace collage::ir
