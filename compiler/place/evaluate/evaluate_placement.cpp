// SPDX-License-Identifier: Apache-2.0
// evaluate() of a placement (evaluate.h).
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/place/evaluate/evaluate.h"

namespace collage::place {
namespace {

/// A partition by its place in the placement.
using JudgedPart = Id<struct JudgedPartTag>;

class Judge {
 public:
  Judge(const ir::Graph& graph, const ir::Placement& placement)
      : graph_(graph), placement_(placement), partition_of_(graph.node_count()), formats_(graph.value_count()) {}

  Verdict judge() {
    for (auto step : {&Judge::cover, &Judge::write, &Judge::convert, &Judge::read, &Judge::run}) {
      if (std::string reason = (this->*step)(); !reason.empty()) return reason;
    }
    runtime::Duration total;
    for (const ir::Partition& partition : placement_.partitions) total += partition.cost;
    for (const ir::Conversion& conversion : placement_.conversions) total += conversion.cost;
    return Cost::time(total);
  }

 private:
  IdRange<JudgedPart> parts() const { return support::first_ids<JudgedPart>(placement_.partitions.size()); }
  const ir::Partition& partition(JudgedPart p) const { return placement_.partitions[p.slot()]; }
  const std::string& name(ir::ValueId value) const { return graph_.value(value).name; }
  bool exists(ir::ValueId value) const { return formats_.holds(value); }

  std::string cover() {
    for (JudgedPart p : parts()) {
      for (ir::NodeId node : partition(p).nodes) {
        if (!partition_of_.holds(node)) return "a partition names a node that does not exist";
        if (partition_of_[node].is_valid()) {
          return fmt::format("node `%{}` is in two partitions", graph_.node_name(node));
        }
        partition_of_[node] = p;
      }
    }
    for (ir::NodeId node : graph_.node_ids()) {
      if (!partition_of_[node].is_valid()) {
        return fmt::format("node `%{}` is in no partition", graph_.node_name(node));
      }
    }
    return "";
  }

  /// What each partition must list, and the formats that values start with.
  std::string write() {
    for (ir::ValueId id : graph_.value_ids()) {
      const ir::Value& value = graph_.value(id);
      if (value.is_constant()) continue;
      if (!value.producer.is_valid()) {
        formats_[id].insert(ir::kHostPlain);
        continue;
      }
      const JudgedPart home = partition_of_[value.producer];
      const bool leaves = value.is_output || std::any_of(value.uses.begin(), value.uses.end(), [&](const ir::Use& use) {
                            return partition_of_[use.node] != home;
                          });
      if (leaves) must_write_.insert({home, id});
    }
    for (JudgedPart p : parts()) {
      for (const ir::BoundaryValue& output : partition(p).outputs) {
        if (!exists(output.value)) return "a partition lists a value that does not exist";
        if (must_write_.erase({p, output.value}) == 0) {
          return fmt::format("partition `{}` lists `%{}`, which does not leave it", partition(p).name,
                             name(output.value));
        }
        formats_[output.value].insert(output.format);
      }
    }
    if (must_write_.empty()) return "";
    return fmt::format("partition `{}` does not list its result `%{}`", partition(must_write_.begin()->first).name,
                       name(must_write_.begin()->second));
  }

  /// Conversions in any order, as long as each finds its source.
  std::string convert() {
    std::vector<const ir::Conversion*> waiting;
    for (const ir::Conversion& conversion : placement_.conversions) {
      if (!exists(conversion.value)) return "a conversion names a value that does not exist";
      waiting.push_back(&conversion);
    }
    for (bool moved = true; moved;) {
      moved = false;
      std::vector<const ir::Conversion*> later;
      for (const ir::Conversion* conversion : waiting) {
        std::set<ir::Format>& have = formats_[conversion->value];
        if (!have.contains(conversion->from)) {
          later.push_back(conversion);
          continue;
        }
        if (!have.insert(conversion->to).second) {
          return fmt::format("`%{}` is converted to `{}`, which it has already", name(conversion->value),
                             ir::to_string(conversion->to));
        }
        moved = true;
      }
      waiting = std::move(later);
    }
    if (waiting.empty()) return "";
    return fmt::format("`%{}` is converted from `{}`, which it never has", name(waiting.front()->value),
                       ir::to_string(waiting.front()->from));
  }

  std::string read() {
    for (JudgedPart p : parts()) {
      const ir::Partition& reader = partition(p);
      std::set<ir::ValueId> must_read;
      for (ir::NodeId node : reader.nodes) {
        for (ir::ValueId value : graph_.node(node).inputs) {
          if (!value.is_valid() || graph_.value(value).is_constant()) continue;
          const ir::NodeId producer = graph_.value(value).producer;
          if (!producer.is_valid() || partition_of_[producer] != p) must_read.insert(value);
        }
      }
      const std::set<ir::ValueId> wanted = must_read;
      for (const ir::BoundaryValue& input : reader.inputs) {
        if (!exists(input.value) || !wanted.contains(input.value)) {
          return fmt::format("partition `{}` lists an operand that it does not read", reader.name);
        }
        must_read.erase(input.value);
        if (!formats_[input.value].contains(input.format)) {
          return fmt::format("partition `{}` reads `%{}` in `{}`, which it never has", reader.name, name(input.value),
                             ir::to_string(input.format));
        }
      }
      if (!must_read.empty()) {
        return fmt::format("partition `{}` does not list its operand `%{}`", reader.name, name(*must_read.begin()));
      }
    }
    for (ir::ValueId output : graph_.outputs()) {
      if (graph_.value(output).is_constant() || formats_[output].contains(ir::kHostPlain)) continue;
      return fmt::format("model output `%{}` never reaches the host", name(output));
    }
    return "";
  }

  /// Kahn's algorithm: partitions run once all that they read was written.
  std::string run() {
    Table<JudgedPart, std::set<JudgedPart>> readers(placement_.partitions.size());
    Table<JudgedPart, size_t> waits(placement_.partitions.size());
    for (ir::ValueId id : graph_.value_ids()) {
      const ir::Value& value = graph_.value(id);
      if (!value.producer.is_valid()) continue;
      const JudgedPart from = partition_of_[value.producer];
      for (const ir::Use& use : value.uses) {
        const JudgedPart to = partition_of_[use.node];
        if (from != to && readers[from].insert(to).second) ++waits[to];
      }
    }
    std::vector<JudgedPart> ready;
    for (JudgedPart p : parts()) {
      if (waits[p] == 0) ready.push_back(p);
    }
    for (size_t done = 0; done < ready.size(); ++done) {
      for (JudgedPart next : readers[ready[done]]) {
        if (--waits[next] == 0) ready.push_back(next);
      }
    }
    for (JudgedPart p : parts()) {
      if (waits[p] == 0) continue;
      return fmt::format("partition `{}` waits for itself: the partitions form a cycle", partition(p).name);
    }
    return "";
  }

  const ir::Graph& graph_;
  const ir::Placement& placement_;
  Table<NodeId, JudgedPart> partition_of_;
  Table<ir::ValueId, std::set<ir::Format>> formats_;
  std::set<std::pair<JudgedPart, ir::ValueId>> must_write_;
};

}  // namespace

Verdict evaluate(const ir::Graph& graph, const ir::Placement& placement) {
  return Judge(graph, placement).judge();
}

}  // namespace collage::place
