// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/expand_splits.h"

#include <algorithm>
#include <map>

#include "compiler/ir/graph/copy_node.h"
#include "compiler/ir/ops/op_def.h"
#include "compiler/ir/placement/verify.h"
#include "compiler/place/candidates/split_candidates.h"
#include "runtime/core/host_space.h"
#include "runtime/devices/device.h"
#include "runtime/support/check.h"

namespace collage::plan {
namespace {

using ir::Format;
using ir::Graph;
using ir::NodeId;
using ir::Partition;
using ir::ValueId;
using runtime::Duration;

class Expander {
 public:
  Expander(const Graph& graph, const ir::Placement& placement, const PlanTargets& targets)
      : from_(graph), placement_(placement), targets_(targets), new_values_(graph.value_count()) {}

  ExpandedSplits run() {
    result_.graph.name = from_.name;
    for (ValueId id : from_.inputs()) {
      const ir::Value& value = from_.value(id);
      new_values_[id.slot()] = result_.graph.add_input(value.name, value.type, value.span);
    }
    result_.placement = placement_;
    for (size_t p = 0; p < placement_.partitions.size(); ++p) {
      result_.origins.push_back(p);
      result_.partition_lanes.push_back(0);
    }
    for (size_t index : ir::execution_order(from_, placement_)) {
      if (placement_.partitions[index].split) {
        expand(index);
      } else {
        copy(index);
      }
    }
    for (size_t c = 0; c < placement_.conversions.size(); ++c) {
      ir::Conversion& conversion = result_.placement.conversions[c];
      conversion.value = outside(conversion.value);
    }
    for (ir::Conversion& conversion : added_) result_.placement.conversions.push_back(std::move(conversion));
    result_.conversion_lanes.assign(placement_.conversions.size(), 0);
    result_.conversion_lanes.insert(result_.conversion_lanes.end(), added_lanes_.begin(), added_lanes_.end());
    for (ValueId output : from_.outputs()) result_.graph.mark_output(outside(output));
    result_.old_values.resize(result_.graph.value_count());
    for (ValueId old : from_.value_ids()) {
      if (new_values_[old.slot()].is_valid()) result_.old_values[new_values_[old.slot()].slot()] = old;
    }
    ir::verify(result_.graph);
    return std::move(result_);
  }

 private:
  /// What stands for a value of the model before.
  ValueId outside(ValueId old) {
    if (!old.is_valid()) return old;
    const ir::Value& value = from_.value(old);
    if (!new_values_[old.slot()].is_valid() && value.is_constant()) {
      new_values_[old.slot()] = result_.graph.add_constant(value.name, *value.constant, value.span);
    }
    return new_values_[old.slot()];
  }

  /// Neither model has it.
  std::string fresh_name(const std::string& base) const { return result_.graph.unique_name(base, &from_); }

  void copy(size_t index) {
    Partition& copied = result_.placement.partitions[index];
    copied.nodes.clear();
    for (NodeId id : placement_.partitions[index].nodes) {
      copied.nodes.push_back(ir::copy_node(
          from_, id, result_.graph, [&](ValueId operand) { return outside(operand); },
          [&](ValueId result) { return from_.value(result).name; },
          [&](ValueId old, ValueId made) { new_values_[old.slot()] = made; }));
    }
    for (ir::BoundaryValue& input : copied.inputs) input.value = outside(input.value);
    for (ir::BoundaryValue& output : copied.outputs) output.value = outside(output.value);
    ir::renumber(
        placement_.partitions[index].nodes, copied.nodes, [&](ValueId value) { return outside(value); },
        copied.matches);
  }

  void expand(size_t index) {
    const Partition& partition = placement_.partitions[index];
    const std::vector<std::string> instances = ir::instances_of(partition.instance);
    const auto split = ir::split_nodes(from_, partition.nodes, partition.split->node, partition.split->axis,
                                       static_cast<int>(instances.size()));
    COLLAGE_CHECK(split, "partition {} cannot be cut: {}", partition.name, split.message());
    const std::vector<ir::SplitPart>& parts = *split;
    place::HostShare host = place::host_share(from_, parts);
    std::vector<std::vector<ValueId>> operands = cut(index, parts, host.cut);
    std::vector<std::vector<ValueId>> made(parts.size());
    // The first host computes its own part once the others have theirs.
    for (const bool is_at_home : {false, true}) {
      for (size_t i = 0; i < parts.size(); ++i) {
        if ((instances[i] == "host") != is_at_home) continue;
        made[i] = add_part(index, parts[i], i, instances[i], operands[i], partition.cost - host.cut - host.join);
      }
    }
    join(index, parts.front().results, made, host.join);
  }

  /// Adds the slices that parts read; the result has the operands of each part.
  std::vector<std::vector<ValueId>> cut(size_t index, const std::vector<ir::SplitPart>& parts, Duration cost) {
    std::vector<std::vector<ValueId>> operands(parts.size());
    std::vector<NodeId> nodes;
    for (size_t p = 0; p < parts.size(); ++p) {
      for (const auto& [value, slice] : parts[p].reads) {
        operands[p].push_back(slice.is_whole() ? outside(value) : slice_of(value, slice, p, &nodes));
      }
    }
    if (nodes.empty()) return operands;
    Partition cut;
    cut.backend = cut.instance = "host";
    cut.cost = cost;
    cut.nodes = std::move(nodes);
    cut.inputs = plain(ir::boundary_inputs(result_.graph, cut.nodes), "host");
    for (const std::vector<ValueId>& values : operands) {
      for (ValueId value : values) {
        const ir::Value& made = result_.graph.value(value);
        const bool is_cut = std::binary_search(cut.nodes.begin(), cut.nodes.end(), made.producer);
        if (is_cut) cut.outputs.push_back({value, ir::kHostPlain});
      }
    }
    add(index, std::move(cut), ".cut", 0);
    return operands;
  }

  /// Several ranges are cut out one by one, then joined.
  ValueId slice_of(ValueId value, const ir::Slice& slice, size_t part, std::vector<NodeId>* nodes) {
    const ir::Value& whole = from_.value(value);
    const std::string name = whole.name + "." + std::to_string(part);
    std::vector<ValueId> pieces;
    for (const ir::Range& range : slice.ranges()) {
      std::vector<ValueId> inputs = {outside(value)};
      for (int64_t number : {range.begin, range.end, static_cast<int64_t>(slice.axis)}) {
        ir::Constant constant;
        constant.data = runtime::Tensor(runtime::DType::I64, {1});
        constant.data.as<int64_t>()[0] = number;
        inputs.push_back(result_.graph.add_constant(fresh_name(whole.name + ".slice"), std::move(constant)));
      }
      const ir::Slice piece{slice.axis, range.begin, range.end};
      nodes->push_back(result_.graph.add_node(*ir::find_op("Slice"), std::move(inputs), {},
                                              {fresh_name(slice.more.empty() ? name : name + ".piece")},
                                              {{whole.type.dtype, shape_of_slice(whole.type.shape, piece)}}));
      pieces.push_back(result_.graph.node(nodes->back()).outputs[0]);
    }
    if (pieces.size() == 1) return pieces.front();
    runtime::AttrMap attrs;
    attrs.set("axis", static_cast<int64_t>(slice.axis));
    nodes->push_back(result_.graph.add_node(*ir::find_op("Concat"), std::move(pieces), std::move(attrs),
                                            {fresh_name(name)},
                                            {{whole.type.dtype, shape_of_slice(whole.type.shape, slice)}}));
    return result_.graph.node(nodes->back()).outputs[0];
  }

  /// The part's nodes on its instance, and copies of what it reads and makes. `time` is for all of that. Returns the
  /// results.
  std::vector<ValueId> add_part(size_t index, const ir::SplitPart& part, size_t number, const std::string& instance,
                                const std::vector<ValueId>& operands, Duration time) {
    const Partition& partition = placement_.partitions[index];
    Graph& graph = result_.graph;
    std::map<ValueId, ValueId> made;
    std::vector<NodeId> nodes;
    for (size_t i = 0; i < operands.size(); ++i) made.emplace(part.graph.inputs()[i], operands[i]);
    for (NodeId id : part.graph.node_ids()) {
      const auto operand = [&](ValueId value) {
        if (part.graph.value(value).is_constant() && made.count(value) == 0) {
          made.emplace(value, constant(part.graph.value(value)));
        }
        return made.at(value);
      };
      const auto name = [&](ValueId result) {
        return fresh_name(part.graph.value(result).name + "." + std::to_string(number));
      };
      nodes.push_back(ir::copy_node(part.graph, id, graph, operand, name,
                                    [&](ValueId old, ValueId copy) { made.emplace(old, copy); }));
    }
    std::vector<ValueId> results;
    for (ValueId output : part.graph.outputs()) results.push_back(made.at(output));
    const int lane = 1 + static_cast<int>(number);
    Partition added;
    added.backend = partition.backend;
    added.instance = instance;
    if (number < partition.part_matches.size()) {
      added.matches.push_back(ir::renumbered(
          partition.part_matches[number], [&](NodeId node) { return nodes[node.slot()]; },
          [&](ValueId value) { return made.at(value); }));
    }
    added.nodes = std::move(nodes);
    added.inputs = plain(ir::boundary_inputs(graph, added.nodes), instance);
    std::vector<ValueId> ascending = results;
    std::sort(ascending.begin(), ascending.end());
    added.outputs = plain(ascending, instance);
    const std::vector<std::string> way = way_to(instance);
    for (const ir::BoundaryValue& input : added.inputs) {
      for (size_t i = 1; i < way.size(); ++i) time = time - copied(input.value, way[i - 1], way[i], lane);
    }
    for (ValueId result : ascending) {
      for (size_t i = way.size(); i-- > 1;) time = time - copied(result, way[i], way[i - 1], lane);
    }
    added.cost = std::max(time, Duration());
    add(index, std::move(added), "." + std::to_string(number), lane);
    return results;
  }

  /// The memories that a value passes from the first host to an instance.
  std::vector<std::string> way_to(const std::string& instance) const {
    std::vector<std::string> way = {"host"};
    const std::string home = runtime::host_space(targets_.host_of(instance));
    for (const std::string& next : {home, instance}) {
      if (next != way.back()) way.push_back(next);
    }
    return way;
  }

  /// A constant that is not cut is one for all parts.
  ValueId constant(const ir::Value& value) {
    ValueId old = from_.find_value(value.name);
    if (old.is_valid() && from_.value(old).type == value.type) return outside(old);
    return result_.graph.add_constant(fresh_name(value.name), *value.constant, value.span);
  }

  /// Sees to it that a value gets there. What that takes, by the link of the device, or of the host that is not the
  /// first.
  Duration copied(ValueId value, const std::string& from, const std::string& to, int lane) {
    const bool starts_nearer = from == "host" || (targets_.has_host(from) && !targets_.has_host(to));
    const std::string& near = starts_nearer ? from : to;
    const DeviceTarget* target = targets_.find_memory(starts_nearer ? to : from);
    Duration cost;
    if (target != nullptr) {
      const std::optional<runtime::DeviceSpec::Link> link = targets_.find_link(*target, near);
      if (link) cost = runtime::transfer_time(*link, result_.graph.value(value).type.bytes());
    }
    Format wanted{to, "plain"};
    bool is_there = std::any_of(placement_.conversions.begin(), placement_.conversions.end(),
                                [&](const auto& c) { return new_values_[c.value.slot()] == value && c.to == wanted; });
    is_there = is_there || std::any_of(added_.begin(), added_.end(),
                                       [&](const ir::Conversion& c) { return c.value == value && c.to == wanted; });
    if (is_there) return cost;
    std::string name = fresh_name(result_.graph.value(value).name + "." + to);
    added_.push_back({value, {from, "plain"}, wanted, cost, std::move(name), {}});
    added_lanes_.push_back(lane);
    return cost;
  }

  /// `parts`: by part and result.
  void join(size_t index, const std::vector<std::pair<ValueId, ir::Slice>>& results,
            const std::vector<std::vector<ValueId>>& parts, Duration cost) {
    std::vector<NodeId> nodes;
    std::vector<ValueId> joined;
    for (size_t r = 0; r < results.size(); ++r) {
      const auto& [result, slice] = results[r];
      const ir::Value& value = from_.value(result);
      runtime::AttrMap attrs;
      attrs.set("axis", static_cast<int64_t>(slice.axis));
      std::vector<ValueId> pieces;
      for (const std::vector<ValueId>& made : parts) pieces.push_back(made[r]);
      nodes.push_back(result_.graph.add_node(*ir::find_op("Concat"), std::move(pieces), std::move(attrs), {value.name},
                                             {value.type}, value.span));
      joined.push_back(result_.graph.node(nodes.back()).outputs[0]);
      new_values_[result.slot()] = joined.back();
    }
    Partition& partition = result_.placement.partitions[index];
    partition.backend = partition.instance = "host";
    partition.matches.clear();
    partition.part_matches.clear();
    partition.cost = cost;
    partition.inputs = plain(ir::boundary_inputs(result_.graph, nodes), "host");
    partition.outputs = plain(joined, "host");
    partition.nodes = std::move(nodes);
    partition.split.reset();
  }

  static std::vector<ir::BoundaryValue> plain(const std::vector<ValueId>& values, const std::string& space) {
    std::vector<ir::BoundaryValue> boundary;
    for (ValueId value : values) boundary.push_back({value, {space, "plain"}});
    return boundary;
  }

  void add(size_t index, Partition partition, const std::string& suffix, int lane) {
    partition.name = placement_.partitions[index].name + suffix;
    partition.span = placement_.partitions[index].span;
    result_.placement.partitions.push_back(std::move(partition));
    result_.origins.push_back(index);
    result_.partition_lanes.push_back(lane);
  }

  const Graph& from_;
  const ir::Placement& placement_;
  const PlanTargets& targets_;
  ExpandedSplits result_;
  std::vector<ValueId> new_values_;    ///< by value of the model before
  std::vector<ir::Conversion> added_;  ///< copies of parts
  std::vector<int> added_lanes_;
};

}  // namespace

std::optional<ExpandedSplits> expand_splits(const Graph& graph, const ir::Placement& placement,
                                            const PlanTargets& targets) {
  bool any = std::any_of(placement.partitions.begin(), placement.partitions.end(),
                         [](const Partition& partition) { return partition.split.has_value(); });
  if (!any) return std::nullopt;
  return Expander(graph, placement, targets).run();
}

}  // namespace collage::plan
