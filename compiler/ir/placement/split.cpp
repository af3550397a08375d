// SPDX-License-Identifier: Apache-2.0
// See split.h; node_slices.h knows the operators.
#include "compiler/ir/placement/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "compiler/ir/ops/op_def.h"
#include "compiler/ir/placement/placement.h"

namespace collage::ir {
namespace {

using runtime::Result;
using runtime::Status;

class Splitter {
 public:
  Splitter(const Graph& graph, const std::vector<NodeId>& nodes) : graph_(graph), nodes_(nodes) {}

  Result<std::vector<SplitPart>> run(NodeId at, SplitAxis axis, int count) {
    if (Status found = find_axis(at, axis); !found) return found;
    int64_t unit = 1;
    for (const auto& [result, there] : seeds_) {
      if (at_.end > 0) unit = std::lcm(unit, at_.end / std::gcd(at_.end, there.end));
    }
    for (;;) {
      const int64_t units = at_.end / unit;
      if (units < count) {
        const std::string_view what = unit == 1 ? name_of(axis) : units == 1 ? "group" : "groups";
        return Status::error(fmt::format("{} {} for {} parts", units, what, count));
      }
      Obstacle obstacle;
      std::vector<SplitPart> parts;
      if (cut_all(at, unit, count, &obstacle, &parts)) {
        if (Status joined = are_joined(parts); !joined) return joined;
        return parts;
      }
      const int64_t larger = std::lcm(unit, unit_for(obstacle));
      if (larger == unit || at_.end % larger != 0) return Status::error(std::move(obstacle.why));
      unit = larger;
    }
  }

 private:
  /// Finds the dimension of `at` that is the axis, and those of the set's results that it becomes.
  Status find_axis(NodeId at, SplitAxis axis) {
    results_ = boundary_outputs(graph_, nodes_);
    if (results_.empty()) return Status::error("0 results");
    const Node& node = graph_.node(at);
    const Shape& own = shape(node.outputs[0]);
    std::optional<int> dimension = dimension_of(*node.op, axis, own.size());
    if (!can_split(*node.op, axis) || !dimension) {
      return Status::error(
          fmt::format("{} of {} dimensions cannot be cut along {}", node.op->name, own.size(), name_of(axis)));
    }
    at_ = {*dimension, 0, own[static_cast<size_t>(*dimension)]};
    const std::map<ValueId, std::optional<Slice>> carried = carried_from(at);
    for (ValueId result : results_) {
      const auto found = carried.find(result);
      if (found == carried.end()) continue;
      const std::optional<Slice>& there = found->second;
      if (!there || shape(result)[static_cast<size_t>(there->axis)] != there->end) {
        return Status::error(
            fmt::format("the {} of `%{}` are not those of {}", name_of(axis), graph_.node_name(at),
                        results_.size() == 1 ? "the result" : fmt::format("`%{}`", graph_.value(result).name)));
      }
      seeds_.emplace(result, *there);
    }
    return Status::ok();
  }

  /// By value that depends on `at`: what all of the axis is of it, if it lies in one dimension of it.
  std::map<ValueId, std::optional<Slice>> carried_from(NodeId at) const {
    std::map<ValueId, std::optional<Slice>> carried = {{graph_.node(at).outputs[0], at_}};
    for (NodeId id : nodes_) {
      const Node& node = graph_.node(id);
      for (size_t k = 0; k < node.inputs.size() && id != at; ++k) {
        const auto from = carried.find(node.inputs[k]);
        if (from == carried.end()) continue;
        const std::optional<Slice> whole = from->second;
        for (size_t r = 0; r < node.outputs.size(); ++r) {
          if (!node.outputs[r].is_valid()) continue;
          std::optional<Slice>& there = carried[node.outputs[r]];
          if (whole && !there) there = carried_slice(graph_, node, k, r, *whole);
        }
      }
    }
    return carried;
  }

  const Shape& shape(ValueId value) const { return graph_.value(value).type.shape; }

  /// The parts' slices of each result, one after the other, are all of it.
  Status are_joined(const std::vector<SplitPart>& parts) const {
    for (size_t r = 0; r < results_.size(); ++r) {
      const Slice& first = parts.front().results[r].second;
      int64_t end = 0;
      bool is_joined = !first.is_whole();
      for (size_t p = 0; p < parts.size() && is_joined; ++p) {
        const Slice& slice = parts[p].results[r].second;
        is_joined = slice.axis == first.axis && slice.begin == end && slice.more.empty();
        end = slice.end;
      }
      if (is_joined && end == shape(results_[r])[static_cast<size_t>(first.axis)]) continue;
      return Status::error(
          fmt::format("parts of `%{}` do not lie one after the other", graph_.value(results_[r]).name));
    }
    return Status::ok();
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
    std::map<ValueId, Slice> wanted;
    for (const auto& [result, there] : seeds_) {
      wanted.emplace(result, Slice{there.axis, own.begin * there.end / at_.end, own.end * there.end / at_.end});
    }
    std::map<NodeId, NodeSlices> cuts;
    std::set<ValueId> taken_apart;  // read by nodes alone that take their ranges from whatever is there of it
    for (size_t i = nodes_.size(); i-- > 0;) {
      const Node& node = graph_.node(nodes_[i]);
      std::optional<WantedSlices> slices_wanted = wanted_of(node, wanted, at, obstacle);
      if (!slices_wanted) return std::nullopt;
      std::optional<NodeSlices> slices = slices_of_node(graph_, node, *slices_wanted, obstacle);
      if (!slices) {
        const std::optional<Slice>& first = slices_wanted->front();
        if (first && !first->is_whole()) obstacle->extent = shape(node.outputs[0])[static_cast<size_t>(first->axis)];
        return std::nullopt;
      }
      for (size_t k = 0; k < node.inputs.size(); ++k) {
        if (!node.inputs[k].is_valid()) continue;
        auto [known, is_new] = wanted.emplace(node.inputs[k], slices->operands[k]);
        const bool takes_some = k == 0 && slices->bound;
        if (is_new && takes_some) taken_apart.insert(node.inputs[k]);
        if (!takes_some) taken_apart.erase(node.inputs[k]);
        if (is_new || known->second == slices->operands[k]) continue;
        if (taken_apart.contains(node.inputs[k]) && known->second.axis == slices->operands[k].axis) {
          known->second = union_of(known->second, slices->operands[k]);
          continue;
        }
        *obstacle = needed_twice(node.inputs[k]);
        return std::nullopt;
      }
      cuts.emplace(nodes_[i], std::move(*slices));
    }
    for (auto& [id, slices] : cuts) {
      const ValueId operand = graph_.node(id).inputs[0];
      if (!slices.bound || set_bounds(wanted.at(operand), &slices)) continue;
      *obstacle = needed_twice(operand);
      return std::nullopt;
    }
    const auto found = wanted.find(graph_.node(at).outputs[0]);
    const Slice made = found == wanted.end() ? Slice() : found->second;
    // Several results of a Split are each cut along the axis: together they are other ranges of it, of as many indices.
    const bool is_cut_so = made.more.empty() && results_.size() == 1
                               ? made == own
                               : made.axis == own.axis && made.extent() == own.extent();
    if (!is_cut_so) {
      *obstacle = {fmt::format("`%{}` is not cut where the result is", graph_.node_name(at))};
      return std::nullopt;
    }
    bool reads_slice = std::any_of(wanted.begin(), wanted.end(), [&](const auto& item) {
      return !std::binary_search(results_.begin(), results_.end(), item.first) && !item.second.is_whole();
    });
    if (!reads_slice && at_.end > own.end - own.begin) {
      *obstacle = {"no operand is cut"};
      return std::nullopt;
    }
    return build(wanted, cuts);
  }

  Obstacle needed_twice(ValueId value) const {
    return {fmt::format("`%{}` is needed in two different slices", graph_.value(value).name)};
  }

  static Slice union_of(const Slice& a, const Slice& b) {
    std::vector<Range> all = a.ranges();
    for (const Range& range : b.ranges()) all.push_back(range);
    std::sort(all.begin(), all.end(), [](const Range& x, const Range& y) { return x.begin < y.begin; });
    std::vector<Range> joined;
    for (const Range& range : all) {
      if (!joined.empty() && range.begin < joined.back().end) {
        joined.back().end = std::max(joined.back().end, range.end);
      } else {
        joined.push_back(range);
      }
    }
    return slice_of_ranges(a.axis, joined);
  }

  /// Sets where in `there`, a slice of its operand, a Slice finds what it takes of it. False: that is not in one piece.
  static bool set_bounds(const Slice& there, NodeSlices* slices) {
    const Slice& own = slices->operands[0];
    const int64_t last = own.more.empty() ? own.end : own.more.back().end;
    int64_t start = 0, end = 0;
    for (const Range& range : there.ranges()) {
      const auto before = [&](int64_t bound) { return std::clamp(bound, range.begin, range.end) - range.begin; };
      start += before(own.begin);
      end += before(last);
    }
    slices->lists[1][*slices->bound] = start;
    slices->lists[2][*slices->bound] = end;
    return end - start == own.extent();
  }

  /// What is wanted of the node's results. Nullopt where nothing is, or where it is not known of one that leaves the
  /// set.
  std::optional<WantedSlices> wanted_of(const Node& node, const std::map<ValueId, Slice>& wanted, NodeId at,
                                        Obstacle* obstacle) const {
    WantedSlices slices(node.outputs.size());
    bool is_read = false;
    for (size_t r = 0; r < node.outputs.size(); ++r) {
      const ValueId value = node.outputs[r];
      if (!value.is_valid()) continue;
      if (const auto found = wanted.find(value); found != wanted.end()) {
        slices[r] = found->second;
        is_read = true;
      } else if (std::binary_search(results_.begin(), results_.end(), value)) {
        *obstacle = {fmt::format("`%{}` does not depend on `%{}`, nor is it read for it", graph_.value(value).name,
                                 graph_.node_name(at))};
        return std::nullopt;
      }
    }
    if (is_read) return slices;
    *obstacle = {fmt::format("{} has several results, or none that is read", node.op->name)};
    return std::nullopt;
  }

  SplitPart build(const std::map<ValueId, Slice>& wanted, std::map<NodeId, NodeSlices>& cuts) {
    SplitPart part;
    part.graph.name = graph_.name;
    std::map<ValueId, ValueId> made;
    auto type_of = [&](ValueId value, const Slice& slice) {
      const TensorType& type = graph_.value(value).type;
      return TensorType{type.dtype, shape_of_slice(type.shape, slice)};
    };
    for (ValueId value : boundary_inputs(graph_, nodes_)) {
      const Slice& slice = wanted.at(value);
      made.emplace(value, part.graph.add_input(graph_.value(value).name, type_of(value, slice)));
      part.reads.emplace_back(value, slice);
    }
    for (NodeId id : nodes_) {
      const Node& node = graph_.node(id);
      NodeSlices& slices = cuts.at(id);
      std::vector<ValueId> inputs;
      for (size_t k = 0; k < node.inputs.size(); ++k) {
        const ValueId input = node.inputs[k];
        if (const auto list = slices.lists.find(k); list != slices.lists.end()) {
          const std::string base = fmt::format("{}.numbers{}", graph_.node_name(id), k);
          inputs.push_back(part.graph.add_constant(graph_.unique_name(base), numbers(list->second)));
          continue;
        }
        if (input.is_valid() && graph_.value(input).is_constant() && made.count(input) == 0) {
          made.emplace(input, part.graph.add_constant(graph_.value(input).name, constant(input, wanted.at(input))));
        }
        inputs.push_back(input.is_valid() ? made.at(input) : input);
      }
      std::vector<std::string> names;
      std::vector<TensorType> types;
      for (size_t r = 0; r < node.outputs.size(); ++r) {
        const bool is_there = node.outputs[r].is_valid() && slices.results[r];
        names.push_back(is_there ? graph_.value(node.outputs[r]).name : "");
        types.push_back(is_there ? type_of(node.outputs[r], *slices.results[r]) : TensorType{});
      }
      while (names.back().empty()) names.pop_back(), types.pop_back();
      NodeId copy = part.graph.add_node(*node.op, std::move(inputs), std::move(slices.attrs), std::move(names),
                                        std::move(types), node.span);
      part.graph.node(copy).origin = node.origin;
      for (size_t r = 0; r < part.graph.node(copy).outputs.size(); ++r) {
        if (part.graph.node(copy).outputs[r].is_valid())
          made.emplace(node.outputs[r], part.graph.node(copy).outputs[r]);
      }
    }
    for (ValueId result : results_) {
      part.graph.mark_output(made.at(result));
      part.results.emplace_back(result, wanted.at(result));
    }
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
  std::vector<ValueId> results_;    ///< ascending
  Slice at_;                        ///< all of the result of `at`, along the axis
  std::map<ValueId, Slice> seeds_;  ///< by result that depends on `at`: what that is of it
};

}  // namespace

runtime::Result<std::vector<SplitPart>> split_nodes(const Graph& graph, const std::vector<NodeId>& nodes, NodeId at,
                                                    SplitAxis axis, int count) {
  return Splitter(graph, nodes).run(at, axis, count);
}

}  // namespace collage::ir
