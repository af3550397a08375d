// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/placement/extract_partition.h"

#include <map>

#include "compiler/ir/graph/copy_node.h"
#include "compiler/ir/ops/op_def.h"

namespace collage::ir {
namespace {

class Extractor {
 public:
  Extractor(const Graph& graph, const Partition& partition, const Extraction& how)
      : from_(graph), partition_(partition), how_(how) {}

  PlacedGraph run() {
    to_.graph.name = how_.model_name;
    for (const BoundaryValue& input : partition_.inputs) {
      map_[input.value] = to_.graph.add_input(name_of(input.value), from_.value(input.value).type);
    }
    for (NodeId node : partition_.nodes) add_node(node);
    Partition made;
    made.name = "p0";
    made.backend = partition_.backend;
    made.instance = partition_.instance;
    for (const std::string& rule : rule_names(partition_)) made.matches.push_back({rule});
    made.nodes = to_.graph.node_ids();
    for (const BoundaryValue& input : partition_.inputs) {
      made.inputs.push_back({map_.at(input.value), input.format});
      convert(map_.at(input.value), kHostPlain, input.format);
    }
    for (const BoundaryValue& output : partition_.outputs) {
      made.outputs.push_back({map_.at(output.value), output.format});
      to_.graph.mark_output(map_.at(output.value));
      convert(map_.at(output.value), output.format, kHostPlain);
    }
    if (partition_.outputs.empty()) {  // its results have no reader, but a model needs an output
      ValueId last = to_.graph.first_output(made.nodes.back());
      to_.graph.mark_output(last);
      made.outputs.push_back({last, kHostPlain});
    }
    to_.placement.partitions.push_back(std::move(made));
    return std::move(to_);
  }

 private:
  std::string name_of(ValueId value) const { return how_.name ? how_.name(value) : from_.value(value).name; }

  void convert(ValueId value, const Format& from, const Format& to) {
    if (from == to) return;
    std::string name = to_.graph.value(value).name + ".converted";
    to_.placement.conversions.push_back({value, from, to, {}, std::move(name), {}});
  }

  void add_node(NodeId id) {
    const auto operand = [&](ValueId value) {
      if (map_.count(value) == 0) add_constant(value);
      return map_.at(value);
    };
    copy_node(
        from_, id, to_.graph, operand, [&](ValueId result) { return name_of(result); },
        [&](ValueId old, ValueId copy) { map_[old] = copy; });
  }

  void add_constant(ValueId id) {
    const Constant& constant = *from_.value(id).constant;
    const std::string name = name_of(id);
    map_[id] = to_.graph.add_constant(name, how_.constant ? how_.constant(constant) : constant);
  }

  const Graph& from_;
  const Partition& partition_;
  const Extraction& how_;
  PlacedGraph to_;
  std::map<ValueId, ValueId> map_;
};

}  // namespace

PlacedGraph extract_partition(const Graph& graph, const Partition& partition, const Extraction& how) {
  return Extractor(graph, partition, how).run();
}

}  // namespace collage::ir
