// SPDX-License-Identifier: Apache-2.0
// One set of nodes as several that do its work side by side: each computes a slice of its one result.
//
//     %c = Conv(%x, %w) {pads = [1, 1, 1, 1]}  %y = Relu(%c)      of 64 channels and 56 rows, in two parts
//
//     channels   part 0: Relu(Conv(x, w[0:32])), part 1: Relu(Conv(x, w[32:64]))          both read all of x
//     rows       part 0: Relu(Conv(x[.., 0:29, ..], w)) with pads [1, 1, 0, 1], part 1: the rows from 27 on
//
// Slices are worked out from the result upwards: an operator says which slice of each operand its slice needs. What
// an operand's slices are depends on shapes and attributes alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"

namespace collage::ir {

/// Of images [N, C, rows, …]: dimensions 0, 1, 2. Of matrix products the first dimension, the last, the last but one.
enum class SplitAxis { Batch, Channels, Rows };

std::string_view name_of(SplitAxis axis);
std::optional<SplitAxis> find_split_axis(std::string_view name);
/// All of them, as the languages write them.
std::vector<std::string> split_axis_names();

/// Whether nodes of this operator can be cut along the axis, shapes and attributes permitting.
bool can_split(const OpDef& op, SplitAxis axis);

/// [begin, end) of one dimension; the whole value where `axis` is -1.
struct Slice {
  int axis = -1;
  int64_t begin = 0;
  int64_t end = 0;

  bool is_whole() const { return axis < 0; }
  friend bool operator==(const Slice&, const Slice&) = default;
};

/// The shape of a slice of a tensor of this shape.
Shape shape_of_slice(Shape shape, const Slice& slice);
/// Does the slice of such a tensor lie in one piece, so that it can be read and written where it is?
bool is_view(const TensorType& whole, const Slice& slice);
/// A copy of the elements; the tensor itself where the slice is whole.
Tensor slice_of(const Tensor& tensor, const Slice& slice);

struct SplitPart {
  Graph graph;                                   ///< the nodes in their order, cut; constants are cut already
  std::vector<std::pair<ValueId, Slice>> reads;  ///< by input of `graph`: what of which value it is
  Slice result;                                  ///< what of the set's result its one output is
};

struct SplitNodes {
  std::vector<SplitPart> parts;  ///< their results, side by side in this order, are the result; empty: see `why`
  std::string why;               ///< why the nodes cannot be cut so
};

/// Cuts `nodes` (ascending) into `count` >= 2 parts along an axis of the result of `at`, one of them. Values keep their
/// names in the parts.
SplitNodes split_nodes(const Graph& graph, const std::vector<NodeId>& nodes, NodeId at, SplitAxis axis, int count);

}  // namespace collage::ir
