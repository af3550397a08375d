// SPDX-License-Identifier: Apache-2.0
// evaluate() of a written plan (evaluate.h).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "compiler/place/evaluate/evaluate.h"

namespace collage::place {
namespace {

class Judge {
 public:
  Judge(const ir::Graph& graph, const ir::Placement& placement)
      : graph_(graph), placement_(placement), partition_of_(graph.node_count(), kNone), formats_(graph.value_count()) {}

  Verdict judge() {
    for (auto step : {&Judge::cover, &Judge::write, &Judge::convert, &Judge::read, &Judge::run}) {
      if (std::string reason = (this->*step)(); !reason.empty()) return reason;
    }
    Duration total;
    for (const ir::Partition& partition : placement_.partitions) total += partition.cost;
    for (const ir::Conversion& conversion : placement_.conversions) total += conversion.cost;
    return total;
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;

  const std::string& name(ir::ValueId value) const { return graph_.value(value).name; }
  bool exists(ir::ValueId value) const { return value.is_valid() && value.slot() < graph_.value_count(); }

  std::string cover() {
    for (size_t p = 0; p < placement_.partitions.size(); ++p) {
      for (ir::NodeId node : placement_.partitions[p].nodes) {
        if (!node.is_valid() || node.slot() >= graph_.node_count())
          return "a partition names a node that does not exist";
        size_t& owner = partition_of_[node.slot()];
        if (owner != kNone) return fmt::format("node `%{}` is in two partitions", graph_.node_name(node));
        owner = p;
      }
    }
    for (ir::NodeId node : graph_.node_ids()) {
      if (partition_of_[node.slot()] == kNone)
        return fmt::format("node `%{}` is in no partition", graph_.node_name(node));
    }
    return "";
  }

  /// What each partition must list, and the formats that values start with.
  std::string write() {
    for (ir::ValueId id : graph_.value_ids()) {
      const ir::Value& value = graph_.value(id);
      if (value.is_constant()) continue;
      if (!value.producer.is_valid()) {
        formats_[id.slot()].insert(ir::kHostPlain);
        continue;
      }
      const size_t home = partition_of_[value.producer.slot()];
      const bool leaves = value.is_output || std::any_of(value.uses.begin(), value.uses.end(), [&](const ir::Use& use) {
                            return partition_of_[use.node.slot()] != home;
                          });
      if (leaves) must_write_.insert({home, id});
    }
    for (size_t p = 0; p < placement_.partitions.size(); ++p) {
      for (const ir::BoundaryValue& output : placement_.partitions[p].outputs) {
        if (!exists(output.value)) return "a partition lists a value that does not exist";
        if (must_write_.erase({p, output.value}) == 0) {
          return fmt::format("partition `{}` lists `%{}`, which does not leave it", placement_.partitions[p].name,
                             name(output.value));
        }
        formats_[output.value.slot()].insert(output.format);
      }
    }
    if (must_write_.empty()) return "";
    return fmt::format("partition `{}` does not list its result `%{}`",
                       placement_.partitions[must_write_.begin()->first].name, name(must_write_.begin()->second));
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
        std::set<ir::Format>& have = formats_[conversion->value.slot()];
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
    for (size_t p = 0; p < placement_.partitions.size(); ++p) {
      const ir::Partition& partition = placement_.partitions[p];
      std::set<ir::ValueId> must_read;
      for (ir::NodeId node : partition.nodes) {
        for (ir::ValueId value : graph_.node(node).inputs) {
          if (!value.is_valid() || graph_.value(value).is_constant()) continue;
          const ir::NodeId producer = graph_.value(value).producer;
          if (!producer.is_valid() || partition_of_[producer.slot()] != p) must_read.insert(value);
        }
      }
      const std::set<ir::ValueId> wanted = must_read;
      for (const ir::BoundaryValue& input : partition.inputs) {
        if (!exists(input.value) || !wanted.contains(input.value)) {
          return fmt::format("partition `{}` lists an operand that it does not read", partition.name);
        }
        must_read.erase(input.value);
        if (!formats_[input.value.slot()].contains(input.format)) {
          return fmt::format("partition `{}` reads `%{}` in `{}`, which it never has", partition.name,
                             name(input.value), ir::to_string(input.format));
        }
      }
      if (!must_read.empty()) {
        return fmt::format("partition `{}` does not list its operand `%{}`", partition.name, name(*must_read.begin()));
      }
    }
    for (ir::ValueId output : graph_.outputs()) {
      if (graph_.value(output).is_constant() || formats_[output.slot()].contains(ir::kHostPlain)) continue;
      return fmt::format("model output `%{}` never reaches the host", name(output));
    }
    return "";
  }

  /// Kahn's algorithm: partitions run once all that they read was written.
  std::string run() {
    std::map<size_t, std::set<size_t>> readers;
    std::vector<size_t> waits(placement_.partitions.size(), 0);
    for (ir::ValueId id : graph_.value_ids()) {
      const ir::Value& value = graph_.value(id);
      if (!value.producer.is_valid()) continue;
      const size_t from = partition_of_[value.producer.slot()];
      for (const ir::Use& use : value.uses) {
        const size_t to = partition_of_[use.node.slot()];
        if (from != to && readers[from].insert(to).second) ++waits[to];
      }
    }
    std::vector<size_t> ready;
    for (size_t p = 0; p < waits.size(); ++p) {
      if (waits[p] == 0) ready.push_back(p);
    }
    for (size_t done = 0; done < ready.size(); ++done) {
      for (size_t next : readers[ready[done]]) {
        if (--waits[next] == 0) ready.push_back(next);
      }
    }
    if (ready.size() == waits.size()) return "";
    const size_t stuck = static_cast<size_t>(
        std::find_if(waits.begin(), waits.end(), [](size_t count) { return count != 0; }) - waits.begin());
    return fmt::format("partition `{}` waits for itself: the partitions form a cycle",
                       placement_.partitions[stuck].name);
  }

  const ir::Graph& graph_;
  const ir::Placement& placement_;
  std::vector<size_t> partition_of_;
  std::vector<std::set<ir::Format>> formats_;
  std::set<std::pair<size_t, ir::ValueId>> must_write_;
};

}  // namespace

Verdict evaluate(const ir::Graph& graph, const ir::Placement& placement) {
  return Judge(graph, placement).judge();
}

}  // namespace collage::place
