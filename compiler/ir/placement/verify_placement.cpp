// SPDX-License-Identifier: Apache-2.0
// Checks a placement that a user wrote or that was read from a file.
#include <algorithm>
#include <map>
#include <set>

#include "compiler/ir/placement/verify.h"
#include "runtime/core/joined.h"
#include "runtime/core/layout.h"

namespace collage::ir {
namespace {

using support::Code;
using support::Span;

class PlacementVerifier {
 public:
  PlacementVerifier(const Graph& graph, const Placement& placement, support::Diagnostics& diags)
      : graph_(graph), placement_(placement), diags_(diags) {}

  /// Runs the checks up to the first that fails: later ones rely on earlier ones.
  bool run() {
    check_nodes();
    if (valid_) check_splits();
    if (valid_) check_boundaries();
    if (valid_) check_formats();
    if (valid_) check_cycles();
    return valid_;
  }

 private:
  template <typename... Args>
  support::Diagnostic error(Code code, Span span, fmt::format_string<Args...> format, Args&&... args) {
    valid_ = false;
    return diags_.error(code, span, format, std::forward<Args>(args)...);
  }

  void check_nodes() {
    std::map<NodeId, const Partition*> owners;
    std::map<std::string_view, const Partition*> names;
    for (const Partition& partition : placement_.partitions) {
      if (auto [other, is_new] = names.emplace(partition.name, &partition); !is_new) {
        error(Code::Redefinition, partition.span, "two partitions are called `@{}`", partition.name)
            .note(other->second->span, "the first");
      }
      if (partition.nodes.empty())
        error(Code::BadModel, partition.span, "partition `@{}` has no operator", partition.name);
      for (size_t i = 0; i < partition.nodes.size(); ++i) {
        NodeId node = partition.nodes[i];
        if (!node.is_valid() || node.slot() >= graph_.node_count() || (i > 0 && node <= partition.nodes[i - 1])) {
          error(Code::BadModel, partition.span, "the nodes of partition `@{}` are not in order", partition.name);
          return;
        }
        if (auto [other, is_new] = owners.emplace(node, &partition); !is_new) {
          error(Code::PartitionOverlap, partition.span, "`%{}` is in partition `@{}` and in partition `@{}`",
                graph_.node_name(node), other->second->name, partition.name)
              .note(other->second->span, "`@{}` is here", other->second->name)
              .note(graph_.node(node).span, "the node");
        }
      }
    }
  }

  void check_splits() {
    for (const Partition& partition : placement_.partitions) {
      if (!partition.split) continue;
      std::vector<std::string> instances = instances_of(partition.instance);
      const auto parts = split_nodes(graph_, partition.nodes, partition.split->node, partition.split->axis,
                                     static_cast<int>(instances.size()));
      if (!parts) {
        error(Code::PartitionSplit, partition.span, "partition `@{}` cannot be cut along {}: {}", partition.name,
              name_of(partition.split->axis), parts.message());
      }
      for (const auto* boundary : {&partition.inputs, &partition.outputs}) {
        for (const BoundaryValue& item : *boundary) {
          if (item.format == kHostPlain) continue;
          error(Code::WrongFormat, partition.span, "partition `@{}` is split and has `%{}` in `{}`", partition.name,
                graph_.value(item.value).name, to_string(item.format))
              .note("a split partition is cut and joined in plain host memory");
        }
      }
      std::set<std::string> distinct(instances.begin(), instances.end());
      if (distinct.size() == instances.size()) continue;
      error(Code::PartitionSplit, partition.span, "partition `@{}` names an instance twice", partition.name);
    }
  }

  void check_boundaries() {
    auto values_of = [](const std::vector<BoundaryValue>& boundary) {
      std::vector<ValueId> values;
      for (const BoundaryValue& item : boundary) values.push_back(item.value);
      return values;
    };
    for (const Partition& partition : placement_.partitions) {
      if (values_of(partition.inputs) != boundary_inputs(graph_, partition.nodes)) {
        error(Code::BadModel, partition.span, "the inputs of partition `@{}` are not the values that it reads",
              partition.name);
      }
      if (values_of(partition.outputs) != boundary_outputs(graph_, partition.nodes)) {
        error(Code::BadModel, partition.span, "the outputs of partition `@{}` are not its values that are read outside",
              partition.name);
      }
    }
  }

  /// Checks that values exist in the formats in which they are read: the format of their writer, and results of
  /// conversions. Values of nodes without partition may have any format: it is not decided yet.
  void check_formats() {
    std::map<ValueId, std::set<Format>> formats;
    std::vector<int> owner = partition_of_nodes(graph_, placement_);
    std::set<ValueId> undecided;
    for (ValueId id : graph_.value_ids()) {
      NodeId producer = graph_.value(id).producer;
      if (!producer.is_valid()) formats[id].insert(kHostPlain);
      if (producer.is_valid() && owner[producer.slot()] < 0) undecided.insert(id);
    }
    for (const Partition& partition : placement_.partitions) {
      for (const BoundaryValue& output : partition.outputs) {
        check_layout(output, partition.span);
        formats[output.value].insert(output.format);
      }
    }
    add_conversions(formats, undecided);
    auto exists = [&](ValueId value, const Format& format) {
      return undecided.contains(value) || formats[value].contains(format);
    };
    for (const Partition& partition : placement_.partitions) {
      for (const BoundaryValue& input : partition.inputs) {
        check_layout(input, partition.span);
        if (exists(input.value, input.format)) continue;
        const Value& value = graph_.value(input.value);
        error(Code::WrongFormat, partition.span, "partition `@{}` reads `%{}` in `{}`, where it does not exist",
              partition.name, value.name, to_string(input.format))
            .note(value.span, "it is produced in `{}`", list(formats[input.value]));
      }
    }
    for (ValueId output : graph_.outputs()) {
      if (exists(output, kHostPlain)) continue;
      const Value& value = graph_.value(output);
      error(Code::WrongFormat, value.span, "output `%{}` exists in `{}` only; a model's outputs are plain host tensors",
            value.name, list(formats[output]));
    }
  }

  /// Repeats until nothing changes, so that conversions may be written in any order; a cycle of them adds no format.
  void add_conversions(std::map<ValueId, std::set<Format>>& formats, const std::set<ValueId>& undecided) {
    std::vector<const Conversion*> pending;
    std::set<std::string_view> names;
    for (const Conversion& conversion : placement_.conversions) {
      pending.push_back(&conversion);
      check_layout({conversion.value, conversion.to}, conversion.span);
      if (!names.insert(conversion.name).second) {
        error(Code::Redefinition, conversion.span, "`%{}` is defined by two conversions", conversion.name);
      }
    }
    while (true) {
      auto possible = [&](const Conversion* c) {
        return undecided.contains(c->value) || formats[c->value].contains(c->from);
      };
      auto rest = std::stable_partition(pending.begin(), pending.end(), possible);
      if (rest == pending.begin()) break;
      for (auto it = pending.begin(); it != rest; ++it) {
        if (formats[(*it)->value].insert((*it)->to).second || undecided.contains((*it)->value)) continue;
        error(Code::WrongFormat, (*it)->span, "`%{}` is in `{}` already", graph_.value((*it)->value).name,
              to_string((*it)->to));
      }
      pending.erase(pending.begin(), rest);
    }
    for (const Conversion* conversion : pending) {
      error(Code::WrongFormat, conversion->span, "`%{}` is converted from `{}`, where it does not exist",
            graph_.value(conversion->value).name, to_string(conversion->from));
    }
  }

  void check_layout(const BoundaryValue& item, Span span) {
    const Value& value = graph_.value(item.value);
    if (!runtime::layout_permutation(item.format.layout, value.type.shape.size())) {
      error(Code::WrongFormat, span, "`%{}` is `{}`, which has no layout `{}`", value.name, to_string(value.type),
            item.format.layout);
    } else if (std::string why = format_mismatch(value.type, item.format); !why.empty()) {
      error(Code::WrongFormat, span, "`%{}` {}", value.name, why);
    }
  }

  /// Finds cycles. Nodes without partition count as partitions of one node, since a path through them closes a cycle,
  /// too.
  void check_cycles() {
    std::vector<int> owner = partition_of_nodes(graph_, placement_);
    size_t count = placement_.partitions.size();
    auto unit_of = [&](NodeId node) {
      int p = owner[node.slot()];
      return p >= 0 ? static_cast<size_t>(p) : count + node.slot();
    };
    std::vector<std::set<size_t>> predecessors(count + graph_.node_count());
    for (NodeId node : graph_.node_ids()) {
      for (ValueId input : graph_.node(node).inputs) {
        if (!input.is_valid() || !graph_.value(input).producer.is_valid()) continue;
        size_t writer = unit_of(graph_.value(input).producer);
        if (writer != unit_of(node)) predecessors[unit_of(node)].insert(writer);
      }
    }
    std::vector<size_t> cycle = find_cycle(predecessors);
    if (cycle.empty()) return;
    std::vector<const Partition*> members;
    std::string names;
    for (size_t unit : cycle) {
      if (unit >= count) continue;
      members.push_back(&placement_.partitions[unit]);
    }
    std::sort(members.begin(), members.end());  // in the order of the placement, which is the order of addresses
    for (const Partition* member : members) names += (names.empty() ? "`@" : ", `@") + member->name + "`";
    auto report =
        error(Code::PartitionCycle, members.front()->span, "partitions depend on each other in a cycle: {}", names);
    for (size_t i = 1; i < members.size(); ++i) report.note(members[i]->span, "`@{}` is here", members[i]->name);
  }

  /// Returns a cycle of the graph with these predecessors, or an empty list. Depth-first without recursion.
  static std::vector<size_t> find_cycle(const std::vector<std::set<size_t>>& predecessors) {
    enum class Mark { New, Open, Done };
    std::vector<Mark> marks(predecessors.size(), Mark::New);
    for (size_t root = 0; root < predecessors.size(); ++root) {
      if (marks[root] != Mark::New) continue;
      std::vector<std::pair<size_t, std::set<size_t>::const_iterator>> path = {{root, predecessors[root].begin()}};
      marks[root] = Mark::Open;
      while (!path.empty()) {
        auto& [unit, next] = path.back();
        if (next == predecessors[unit].end()) {
          marks[unit] = Mark::Done;
          path.pop_back();
          continue;
        }
        size_t before = *next++;
        if (marks[before] == Mark::Open) {
          std::vector<size_t> cycle;
          auto start = std::find_if(path.begin(), path.end(), [&](const auto& step) { return step.first == before; });
          for (auto step = start; step != path.end(); ++step) cycle.push_back(step->first);
          return cycle;
        }
        if (marks[before] == Mark::New) {
          marks[before] = Mark::Open;
          path.emplace_back(before, predecessors[before].begin());
        }
      }
    }
    return {};
  }

  static std::string list(const std::set<Format>& formats) {
    return runtime::joined(formats, ", ", [](const Format& format) { return to_string(format); });
  }

  const Graph& graph_;
  const Placement& placement_;
  support::Diagnostics& diags_;
  bool valid_ = true;
};

}  // namespace

bool verify(const Graph& graph, const Placement& placement, support::Diagnostics& diags) {
  return PlacementVerifier(graph, placement, diags).run();
}

}  // namespace collage::ir
