// SPDX-License-Identifier: Apache-2.0
// See split.h; node_slices.h knows the operators.
#include "compiler/ir/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "compiler/ir/op_def.h"
#include "compiler/ir/placement.h"

namespace collage::ir {
namespace {

class Splitter {
 public:
  Splitter(const Graph& graph, const std::vector<NodeId>& nodes) : graph_(graph), nodes_(nodes) {}

  SplitNodes run(NodeId at, SplitAxis axis, int count) {
    SplitNodes split;
    if (!find_axis(at, axis, &split.why)) return split;
    int64_t unit = at_.end == 0 ? 1 : at_.end / std::gcd(at_.end, there_.end);
    for (;;) {
      const int64_t units = at_.end / unit;
      if (units < count) {
        const std::string_view what = unit == 1 ? name_of(axis) : units == 1 ? "group" : "groups";
        split.why = fmt::format("{} {} for {} parts", units, what, count);
        return split;
      }
      Obstacle obstacle;
      if (cut_all(at, unit, count, &obstacle, &split.parts)) return split;
      split.parts.clear();
      const int64_t larger = std::lcm(unit, unit_for(obstacle));
      if (larger == unit || at_.end % larger != 0) {
        split.why = std::move(obstacle.why);
        return split;
      }
      unit = larger;
    }
  }

 private:
  /// Finds the dimension of `at` that is the axis, and the one of the set's result that it becomes.
  bool find_axis(NodeId at, SplitAxis axis, std::string* why) {
    std::vector<ValueId> results = boundary_outputs(graph_, nodes_);
    if (results.size() != 1) {
      *why = fmt::format("{} results", results.size());
      return false;
    }
    result_ = results[0];
    for (NodeId id : nodes_) {
      const Node& node = graph_.node(id);
      auto is_read = [&](ValueId v) { return v.is_valid() && (v == result_ || !graph_.value(v).uses.empty()); };
      if (is_read(node.outputs[0]) && std::count_if(node.outputs.begin(), node.outputs.end(), is_read) == 1) continue;
      *why = fmt::format("{} has several results, or none that is read", node.op->name);
      return false;
    }
    const Node& node = graph_.node(at);
    const Shape& own = shape(node.outputs[0]);
    std::optional<int> dimension = dimension_of(*node.op, axis, own.size());
    if (!can_split(*node.op, axis) || !dimension) {
      *why = fmt::format("{} of {} dimensions cannot be cut along {}", node.op->name, own.size(), name_of(axis));
      return false;
    }
    at_ = {*dimension, 0, own[static_cast<size_t>(*dimension)]};
    std::optional<Slice> there = at_;
    for (ValueId value = node.outputs[0]; value != result_ && there;) {
      const NodeId reader = reader_in_set(value);
      there = carried_slice(graph_, graph_.node(reader), shape(value), *there);
      value = graph_.node(reader).outputs[0];
    }
    if (!there || there->axis < 0 || shape(result_)[static_cast<size_t>(there->axis)] != there->end) {
      *why = fmt::format("the {} of `%{}` are not those of the result", name_of(axis), graph_.node_name(at));
      return false;
    }
    there_ = *there;
    return true;
  }

  const Shape& shape(ValueId value) const { return graph_.value(value).type.shape; }

  /// Every value of the set leads to its one result, whichever reader is followed.
  NodeId reader_in_set(ValueId value) const {
    const std::vector<Use>& uses = graph_.value(value).uses;
    auto use = std::find_if(uses.begin(), uses.end(),
                            [&](const Use& u) { return std::binary_search(nodes_.begin(), nodes_.end(), u.node); });
    return use->node;
  }

  /// The number of which boundaries at `at` have to be multiples, so that the obstacle is none; 1: there is none.
  int64_t unit_for(const Obstacle& obstacle) const {
    if (obstacle.multiple <= 1) return 1;
    return obstacle.multiple * at_.end / std::gcd(obstacle.multiple * at_.end, obstacle.extent);
  }

  bool cut_all(NodeId at, int64_t unit, int count, Obstacle* obstacle, std::vector<SplitPart>* parts) {
    const int64_t units = at_.end / unit;
    int64_t begin = 0;
    for (int p = 0; p < count; ++p) {
      const int64_t end = begin + (units / count + (p < units % count ? 1 : 0)) * unit;
      std::optional<SplitPart> part = cut({at_.axis, begin, end}, at, obstacle);
      if (!part) return false;
      parts->push_back(std::move(*part));
      begin = end;
    }
    return true;
  }

  /// `own`: the slice of the result of `at`.
  std::optional<SplitPart> cut(const Slice& own, NodeId at, Obstacle* obstacle) {
    const Slice result = {there_.axis, own.begin * there_.end / at_.end, own.end * there_.end / at_.end};
    std::map<ValueId, Slice> wanted = {{result_, result}};
    std::map<NodeId, NodeSlices> cuts;
    for (size_t i = nodes_.size(); i-- > 0;) {
      const Node& node = graph_.node(nodes_[i]);
      const Slice& slice = wanted.at(node.outputs[0]);
      std::optional<NodeSlices> slices = slices_of_node(graph_, node, slice, obstacle);
      if (!slices) {
        obstacle->extent = shape(node.outputs[0])[static_cast<size_t>(slice.axis)];
        return std::nullopt;
      }
      for (size_t k = 0; k < node.inputs.size(); ++k) {
        if (!node.inputs[k].is_valid()) continue;
        auto [known, is_new] = wanted.emplace(node.inputs[k], slices->operands[k]);
        if (is_new || known->second == slices->operands[k]) continue;
        obstacle->why = fmt::format("`%{}` is needed in two different slices", graph_.value(node.inputs[k]).name);
        return std::nullopt;
      }
      cuts.emplace(nodes_[i], std::move(*slices));
    }
    if (wanted.at(graph_.node(at).outputs[0]) != own) {
      obstacle->why = fmt::format("`%{}` is not cut where the result is", graph_.node_name(at));
      return std::nullopt;
    }
    bool reads_slice = std::any_of(wanted.begin(), wanted.end(),
                                   [&](const auto& item) { return item.first != result_ && !item.second.is_whole(); });
    if (!reads_slice && at_.end > own.end - own.begin) {
      obstacle->why = "no operand is cut";
      return std::nullopt;
    }
    return build(result, wanted, cuts);
  }

  SplitPart build(const Slice& result, const std::map<ValueId, Slice>& wanted, std::map<NodeId, NodeSlices>& cuts) {
    SplitPart part;
    part.result = result;
    part.graph.name = graph_.name;
    std::map<ValueId, ValueId> made;
    auto type_of = [&](ValueId value) {
      const TensorType& type = graph_.value(value).type;
      return TensorType{type.dtype, shape_of_slice(type.shape, wanted.at(value))};
    };
    for (ValueId value : boundary_inputs(graph_, nodes_)) {
      made.emplace(value, part.graph.add_input(graph_.value(value).name, type_of(value)));
      part.reads.emplace_back(value, wanted.at(value));
    }
    for (NodeId id : nodes_) {
      const Node& node = graph_.node(id);
      std::vector<ValueId> inputs;
      ValueId output = node.outputs[0];
      for (size_t k = 0; k < node.inputs.size(); ++k) {
        const ValueId input = node.inputs[k];
        if (k == 1 && cuts.at(id).shape) {
          const std::string name = graph_.unique_name(graph_.value(output).name + ".shape");
          inputs.push_back(part.graph.add_constant(name, numbers(*cuts.at(id).shape)));
          continue;
        }
        if (input.is_valid() && graph_.value(input).is_constant() && made.count(input) == 0) {
          made.emplace(input, part.graph.add_constant(graph_.value(input).name, constant(input, wanted.at(input))));
        }
        inputs.push_back(input.is_valid() ? made.at(input) : input);
      }
      NodeId copy = part.graph.add_node(*node.op, std::move(inputs), std::move(cuts.at(id).attrs),
                                        {graph_.value(output).name}, {type_of(output)}, node.span);
      part.graph.node(copy).origin = node.origin;
      made.emplace(output, part.graph.node(copy).outputs[0]);
    }
    part.graph.mark_output(made.at(result_));
    return part;
  }

  Constant constant(ValueId value, const Slice& slice) const {
    const Constant& whole = *graph_.value(value).constant;
    if (slice.is_whole()) return whole;
    Constant cut;
    cut.data = slice_of(whole.data, slice);
    return cut;
  }

  static Constant numbers(const Shape& list) {
    Constant constant;
    constant.data = Tensor(DType::I64, {static_cast<int64_t>(list.size())});
    std::copy(list.begin(), list.end(), constant.data.as<int64_t>().begin());
    return constant;
  }

  const Graph& graph_;
  const std::vector<NodeId>& nodes_;
  ValueId result_;
  Slice at_;     ///< all of the result of `at`, along the axis
  Slice there_;  ///< what that is of the set's result
};

}  // namespace

SplitNodes split_nodes(const Graph& graph, const std::vector<NodeId>& nodes, NodeId at, SplitAxis axis, int count) {
  return Splitter(graph, nodes).run(at, axis, count);
}

}  // namespace collage::ir
