// SPDX-License-Identifier: Apache-2.0
// A placed model as text. Every format of a value is a separate SSA value there:
//   - the partition that produces a value defines `%v`, and a conversion defines its own name;
//   - if `v` is an output of the model that is produced outside host memory, the conversion to `host` defines `%v`,
//     which the model returns, and the partition defines `%v.npu0`, named after its space.
#include <algorithm>
#include <map>
#include <queue>
#include <set>

#include "compiler/ir/graph/print_parts.h"
#include "compiler/ir/placement/print.h"
#include "runtime/core/joined.h"

namespace collage::ir {
namespace {

/// `npu[0] NHWC` => `npu0.NHWC`
std::string suffix(const Format& format) {
  std::string text;
  for (char c : to_string(format)) {
    if (c == ' ') text += '.';
    if (c != ' ' && c != '[' && c != ']') text += c;
  }
  return text;
}

/// `npu[0]+npu[1]` => `npu[0] + npu[1]`
std::string instances_text(const std::string& instance) {
  std::string text;
  for (const std::string& one : instances_of(instance)) runtime::add_to_list(text, one, " + ");
  return text;
}

class PlacedPrinter {
 public:
  PlacedPrinter(const Graph& graph, const Placement& placement, int64_t most)
      : graph_(graph), placement_(placement), most_(most), owner_(partition_of_nodes(graph, placement)) {
    for (const Partition& partition : placement.partitions) {
      for (const BoundaryValue& output : partition.outputs) written_[output.value] = output.format;
    }
    choose_names();
  }

  std::string print() {
    text_ = print_header(graph_) + print_constants(graph_, most_);
    for (size_t unit : unit_order()) {
      if (unit < placement_.partitions.size()) {
        print_partition(placement_.partitions[unit]);
      } else {
        print_loose(NodeId(static_cast<int64_t>(unit - placement_.partitions.size())));
      }
    }
    for (ValueId output : graph_.outputs()) emit_conversion(output, kHostPlain);
    for (const Conversion& conversion : placement_.conversions) emit_conversion(conversion.value, conversion.to);
    return text_ + "}\n";
  }

 private:
  Format format_of(ValueId value) const {
    auto it = written_.find(value);
    return it == written_.end() ? kHostPlain : it->second;
  }

  const Conversion* find_conversion(ValueId value, const Format& to) const {
    auto it = by_target_.find({value, to});
    return it == by_target_.end() ? nullptr : it->second;
  }

  void choose_names() {
    std::set<std::string> taken;
    for (ValueId id : graph_.value_ids()) taken.insert(graph_.value(id).name);
    for (const Conversion& conversion : placement_.conversions) {
      by_target_.emplace(std::pair(conversion.value, conversion.to), &conversion);
      if (!returns(conversion)) taken.insert(conversion.name);
    }
    for (const Conversion& conversion : placement_.conversions) {
      if (!returns(conversion)) continue;
      std::string base = graph_.value(conversion.value).name + "." + suffix(format_of(conversion.value));
      std::string name = base;
      for (int i = 1; taken.contains(name); ++i) name = base + "." + std::to_string(i);
      taken.insert(name);
      made_names_.emplace(conversion.value, name);
    }
  }

  /// Returns whether this conversion produces a value that the model returns.
  bool returns(const Conversion& conversion) const {
    return graph_.value(conversion.value).is_output && conversion.to == kHostPlain;
  }

  std::string made_name(ValueId value) const {
    auto it = made_names_.find(value);
    return it == made_names_.end() ? graph_.value(value).name : it->second;
  }

  std::string name_in(ValueId value, const Format& format) const {
    const Conversion* conversion = format == format_of(value) ? nullptr : find_conversion(value, format);
    if (conversion == nullptr) return made_name(value);
    return returns(*conversion) ? graph_.value(value).name : conversion->name;
  }

  /// Prints the conversions that lead to `format` and are not printed yet, first to last.
  void emit_conversion(ValueId value, const Format& format) {
    std::vector<const Conversion*> chain;
    Format at = format;
    while (at != format_of(value)) {
      const Conversion* step = find_conversion(value, at);
      if (step == nullptr || !emitted_.insert(step).second) break;
      chain.push_back(step);
      at = step->from;
    }
    std::reverse(chain.begin(), chain.end());
    for (const Conversion* step : chain) {
      text_ += "  " + sigil_name('%', name_in(value, step->to)) + " = convert " +
               sigil_name('%', name_in(value, step->from)) + " to " + to_string(step->to) + " cost " +
               runtime::to_string(step->cost) + " : " + to_string(graph_.value(value).type) + "\n";
    }
  }

  void print_partition(const Partition& partition) {
    std::map<ValueId, std::string> read_names;
    std::string inputs;
    for (const BoundaryValue& input : partition.inputs) {
      emit_conversion(input.value, input.format);
      std::string name = name_in(input.value, input.format);
      runtime::add_to_list(inputs, sigil_name('%', name));
      read_names.emplace(input.value, std::move(name));
    }
    std::string results;
    std::string formats;
    for (const BoundaryValue& output : partition.outputs) {
      runtime::add_to_list(results, sigil_name('%', made_name(output.value)));
      runtime::add_to_list(formats, to_string(output.format));
    }
    if (results.empty()) results = "_";  // its results have no reader
    text_ += "  " + results + " = partition " + sigil_name('@', partition.name) + " on " + partition.backend + "(" +
             instances_text(partition.instance) + ")";
    if (partition.split) {
      text_ += " split " + sigil_name('%', made_name(graph_.first_output(partition.split->node))) + " along " +
               std::string(name_of(partition.split->axis));
    }
    for (size_t i = 0; i < partition.matches.size(); ++i)
      text_ += (i == 0 ? " rule " : ", ") + quoted(partition.matches[i].name);
    text_ += " cost " + runtime::to_string(partition.cost) + " (" + inputs + ")";
    if (!formats.empty()) text_ += " -> (" + formats + ")";
    text_ += " {\n";
    NameOf result_name = [&](ValueId id) { return made_name(id); };
    NameOf operand_name = [&](ValueId id) {
      auto it = read_names.find(id);
      return it == read_names.end() ? made_name(id) : it->second;
    };
    for (NodeId node : partition.nodes) text_ += print_node(graph_, node, "    ", result_name, operand_name, most_);
    text_ += "  }\n";
  }

  void print_loose(NodeId node) {
    NameOf name = [&](ValueId id) { return made_name(id); };
    text_ += print_node(graph_, node, "  ", name, name, most_);
  }

  /// Orders partitions, by index, and nodes without partition, numbered after them: ready ones by their smallest node
  /// id, as `execution_order`. Units on a cycle come last, in the same order.
  std::vector<size_t> unit_order() const {
    size_t partition_count = placement_.partitions.size();
    size_t count = partition_count + graph_.node_count();
    auto unit_of = [&](NodeId node) {
      int owner = owner_[node.slot()];
      return owner >= 0 ? static_cast<size_t>(owner) : partition_count + node.slot();
    };
    std::vector<std::set<size_t>> successors(count);
    std::vector<size_t> pending(count, 0);
    std::vector<int32_t> first_node(count, -1);
    for (NodeId node : graph_.node_ids()) {
      size_t unit = unit_of(node);
      if (first_node[unit] < 0) first_node[unit] = node.index;
      for (ValueId input : graph_.node(node).inputs) {
        if (!input.is_valid() || !graph_.value(input).producer.is_valid()) continue;
        size_t writer = unit_of(graph_.value(input).producer);
        if (writer != unit && successors[writer].insert(unit).second) ++pending[unit];
      }
    }
    std::set<std::pair<int32_t, size_t>> ready;
    std::set<std::pair<int32_t, size_t>> waiting;
    for (size_t unit = 0; unit < count; ++unit) {
      if (first_node[unit] < 0) continue;
      (pending[unit] == 0 ? ready : waiting).emplace(first_node[unit], unit);
    }
    std::vector<size_t> order;
    while (!ready.empty() || !waiting.empty()) {
      auto& source = ready.empty() ? waiting : ready;
      auto [first, unit] = *source.begin();
      source.erase(source.begin());
      order.push_back(unit);
      for (size_t next : successors[unit]) {
        if (--pending[next] == 0 && waiting.erase({first_node[next], next}) > 0) ready.emplace(first_node[next], next);
      }
    }
    return order;
  }

  const Graph& graph_;
  const Placement& placement_;
  const int64_t most_;  ///< elements of a constant that is printed
  std::vector<int> owner_;
  std::map<ValueId, Format> written_;
  std::map<std::pair<ValueId, Format>, const Conversion*> by_target_;
  std::map<ValueId, std::string> made_names_;
  std::set<const Conversion*> emitted_;  // used only for membership, so the order of pointers has no effect
  std::string text_;
};

}  // namespace

std::string print(const Graph& graph, const Placement& placement, Elements elements) {
  const std::string text = PlacedPrinter(graph, placement, most_printed(elements)).print();
  return elements == Elements::All ? text : note_on_elements(text) + text;
}

}  // namespace collage::ir
