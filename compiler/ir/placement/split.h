// SPDX-License-Identifier: Apache-2.0
// Splits a set of nodes into several that work in parallel: each computes a slice of each of its results.
//
//     %c = Conv(%x, %w) {pads = [1, 1, 1, 1]}  %y = Relu(%c)      of 64 channels and 56 rows, in two parts
//
//     channels   part 0: Relu(Conv(x, w[0:32])), part 1: Relu(Conv(x, w[32:64]))          both read all of x
//     rows       part 0: Relu(Conv(x[.., 0:29, ..], w)) with pads [1, 1, 0, 1], part 1: the rows from 27 on
//
//     %s = MatMul(%q, %k)  %p = Softmax(%s)  %m = MatMul(%p, %v)  %t = Transpose(%m)  %y = Reshape(%t, [1, 5, 32])
//                                                                 8 heads, 5 queries, 4 numbers each, in two parts
//     heads      part 0: q, k and v[:, 0:4] => y[.., 0:16], part 1: q, k and v[:, 4:8] => y[.., 16:32]
//
//     %h = MatMul(%x, %w)  %q, %k, %v = Split(%h) {axis = 2}  …   the same, with one product for q, k and v
//
//     heads      part 0: MatMul(x, w[.., 0:16 and 32:48 and 64:80]), of which Split takes thirds, part 1: the rest
//
// Slices are derived from the results upwards: for each operator, from the slices of its results follow the slices of
// its operands. They depend only on shapes and attributes. Where operators keep indices together (groups of a
// convolution, heads that read one head of keys), each part has whole groups. A result that does not depend on the node
// that is cut, such as keys that are also returned, is cut as other nodes read it.
#pragma once

#include <utility>
#include <vector>

#include "compiler/ir/analysis/node_slices.h"
#include "compiler/ir/graph/graph.h"
#include "runtime/core/status.h"

namespace collage::ir {

struct SplitPart {
  Graph graph;                                   ///< the nodes in their order, cut; constants are cut already
  std::vector<std::pair<ValueId, Slice>> reads;  ///< by input of `graph`: the value and its slice
  /// By output of `graph`: the result of the set, of which there may be several, and the slice of it that the output
  /// is.
  std::vector<std::pair<ValueId, Slice>> results;
};

/// Cuts `nodes` (ascending) into `count` >= 2 parts along an axis of the result of `at`, one of them. The results of
/// the parts, concatenated in their order, are the results. Values keep their names in the parts.
runtime::Result<std::vector<SplitPart>> split_nodes(const Graph& graph, const std::vector<NodeId>& nodes, NodeId at,
                                                    SplitAxis axis, int count);

}  // namespace collage::ir
