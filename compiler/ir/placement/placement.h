// SPDX-License-Identifier: Apache-2.0
// Which nodes run where: partitions over the nodes of a Graph, and conversions of values between formats.
//
// A Graph is never rewritten for placement. A Placement stands beside it and names its nodes and values by id; printed
// together (`print.h`) they are a placed model, and a placed model parses into the two again.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/graph/graph.h"
#include "compiler/ir/placement/chosen_match.h"
#include "compiler/ir/placement/split.h"
#include "runtime/core/duration.h"
#include "runtime/core/stored_tensor.h"

namespace collage::ir {

using runtime::Duration;

using runtime::Storage;

/// How a tensor exists at a partition boundary: how it lies (core/stored_tensor.h), and where: `host` or an instance,
/// `npu[0]`.
struct Format : runtime::TensorForm {
  std::string space = "host";

  Format() = default;
  explicit Format(std::string in_space, runtime::TensorForm form = {})
      : TensorForm(std::move(form)), space(std::move(in_space)) {}
  Format(std::string in_space, std::string layout, std::optional<Storage> storage = {})
      : Format(std::move(in_space), TensorForm{std::move(layout), storage}) {}

  const runtime::TensorForm& form() const { return *this; }

  friend bool operator==(const Format&, const Format&) = default;
  friend std::partial_ordering operator<=>(const Format& a, const Format& b) {
    const std::partial_ordering spaces = a.space <=> b.space;
    return spaces != 0 ? spaces : a.form() <=> b.form();
  }
};

inline const Format kHostPlain{};

/// As the languages write it: `host`, `npu[0]`, `npu[0] NHWC`, `npu[0] NHWC f16`, `dsp[0] i8 scale 0.05 zero 3`. A
/// plain layout is not written, nor is the storage that the value has anyway.
std::string to_string(const Format& format);
/// What a tensor of this type takes in memory in this format.
size_t bytes_in(const TensorType& type, const Format& format);
/// One spelling of each format: `NCHW` => plain, `f32` of an f32 value => nothing.
Format canonical(const Format& format, const TensorType& type);
/// Why no tensor of this type can be in this format: `has 2 dimensions, layout NHWC does not exist for it`; empty if
/// one can.
std::string format_mismatch(const TensorType& type, const Format& format);

struct BoundaryValue {
  ValueId value;
  Format format;
  friend bool operator==(const BoundaryValue&, const BoundaryValue&) = default;
};

/// `split %c along channels`: the nodes are cut into as many parts as there are instances, which run at once
/// (split.h). Operands come from the host, the result is joined there, and all formats at the boundary are plain host
/// ones. The partition's cost has everything in it: copies, parts, join.
struct PartitionSplit {
  NodeId node;
  SplitAxis axis = SplitAxis::Batch;
  friend bool operator==(const PartitionSplit&, const PartitionSplit&) = default;
};

struct Partition {
  std::string name;                  ///< `p3`; unique
  std::string backend;               ///< rule file's backend name: `npu`, `host`
  std::string instance;              ///< where it runs: `npu[0]`, `host`; of a split one `npu[0]+npu[1]`
  std::vector<ChosenMatch> matches;  ///< make it up, by first node; from a text, until they are found, names of rules
  Duration cost;
  std::vector<NodeId> nodes;           ///< ascending
  std::vector<BoundaryValue> inputs;   ///< values made outside, constants excluded, in order of first use
  std::vector<BoundaryValue> outputs;  ///< values read outside or graph outputs, in id order
  support::Span span;
  std::optional<PartitionSplit> split{};
  std::vector<ChosenMatch> part_matches{};  ///< of a split one: by part, in the ids of that part's graph (split.h)
};

/// Names of its matches: `conv`, `conv:direct{tile=16}`.
std::vector<std::string> rule_names(const Partition& partition);

/// Where a partition runs: `npu[0]+npu[1]` => `npu[0]`, `npu[1]`.
std::vector<std::string> instances_of(std::string_view instance);
/// Is this instance one of those?
bool runs_on(std::string_view instance, std::string_view one);
/// The memory of its boundary values: `npu[0]`; `host` of a split one, and where the name has no number.
std::string boundary_space(std::string_view instance);

/// One value gains one more format. Several conversions of a value form a tree that starts at the writer's format.
struct Conversion {
  ValueId value;
  Format from;
  Format to;
  Duration cost;
  std::string name;  ///< of the converted value in the text: `x.npu0`; unique
  support::Span span;
};

struct Placement {
  std::vector<Partition> partitions;
  std::vector<Conversion> conversions;

  bool empty() const { return partitions.empty(); }
};

/// Boundary values of a node set: values read from outside (constants excluded) in order of first use; values read
/// outside or graph outputs, in id order.
std::vector<ValueId> boundary_inputs(const Graph& graph, const std::vector<NodeId>& nodes);
std::vector<ValueId> boundary_outputs(const Graph& graph, const std::vector<NodeId>& nodes);

/// Node -> index of its partition, -1 where it has none.
std::vector<int> partition_of_nodes(const Graph& graph, const Placement& placement);

/// Indices of partitions in an order in which they can run: ready ones by their smallest node id first. Shorter than
/// the number of partitions if there is a cycle.
std::vector<size_t> execution_order(const Graph& graph, const Placement& placement);

}  // namespace collage::ir
