// SPDX-License-Identifier: Apache-2.0
// How operators can be cut: the axes that the languages name, and which slices of a node's operands a slice of its
// result needs. An operator's definition names its family (ir/ops/cut_family.h): pointwise ones are cut wherever they
// are, and others that name none cannot be cut.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/graph/graph.h"
#include "compiler/ir/graph/slice.h"

namespace collage::ir {

/// In images [N, C, rows, …]: dimensions 0, 1, 2. In matrix products: the first dimension, the last, the last but one.
/// Heads: dimension 1 of four or more, dimension 0 of three.
enum class SplitAxis { Batch, Channels, Rows, Heads };

std::string_view name_of(SplitAxis axis);
std::optional<SplitAxis> find_split_axis(std::string_view name);
/// Names of all axes, as the languages write them.
std::vector<std::string> split_axis_names();

/// Returns whether nodes of this operator can be cut along the axis for some shapes and attributes.
bool can_split(const OpDef& op, SplitAxis axis);
/// Returns the dimension of a result of that many dimensions that is the axis. Nullopt: it has none.
std::optional<int> dimension_of(const OpDef& op, SplitAxis axis, size_t rank);

/// Why nodes cannot be cut so.
struct Obstacle {
  std::string why;
  int64_t multiple = 1;  ///< more than 1: it is none where all boundaries in a node's result are multiples of this
  int64_t extent = 0;    ///< of that result, in the dimension that is cut
};

/// By result of a node: its slice that is wanted, or nullopt where nothing reads it.
using WantedSlices = std::vector<std::optional<Slice>>;

/// Slices of a node's operands that slices of its results need, and the attributes of the part.
struct NodeSlices {
  std::vector<Slice> operands;
  WantedSlices results;  ///< of the part's node: those that are wanted, and of a Split all
  AttrMap attrs;
  std::map<size_t, Shape> lists =
      {};  ///< by operand that is a list of numbers: what it says in the part, if that is new
  /// For a Slice along the dimension that is cut: the place of that dimension in its lists. Its operand may have more
  /// ranges than it takes; the caller sets `starts` and `ends` of the part.
  std::optional<size_t> bound = {};
};

/// Returns what the node needs to compute the wanted slices, of which there is at least one: of its first result alone,
/// or of results of a Split. Nullopt: see `obstacle`.
std::optional<NodeSlices> slices_of_node(const Graph& graph, const Node& node, const WantedSlices& wanted,
                                         Obstacle* obstacle);

/// Returns where all of a dimension of operand `operand`, from 0 on, lies in result `result`, if it lies in one
/// dimension of it; only `slices_of_node` finds out whether the node can be cut there.
std::optional<Slice> carried_slice(const Graph& graph, const Node& node, size_t operand, size_t result,
                                   const Slice& whole);

}  // namespace collage::ir
