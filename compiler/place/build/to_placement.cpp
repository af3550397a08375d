// SPDX-License-Identifier: Apache-2.0
// See to_placement.h.
#include "compiler/place/build/to_placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "compiler/place/problem/steiner.h"
#include "runtime/support/check.h"

namespace collage::place {
namespace {

/// `npu[0]` => `npu0`.
std::string name_of_space(const std::string& space) {
  std::string name;
  std::copy_if(space.begin(), space.end(), std::back_inserter(name), [](char c) { return c != '[' && c != ']'; });
  return name;
}

class Writer {
 public:
  /// `times`: null where there are none.
  Writer(const Problem& problem, const Problem* times, const ir::Graph& graph,
         const Table<ProblemValueId, ir::ValueId>& values)
      : problem_(problem),
        times_(times),
        graph_(graph),
        written_(values.size(), problem.host_plain),
        wanted_(values.size()) {
    for (ProblemValueId v : values.ids()) {
      id_of_[values[v]] = v;
      if (problem.values[v].is_output) wanted_[v].push_back(problem.host_plain);
    }
    for (ir::ValueId value : graph.value_ids()) names_.insert(graph.value(value).name);
  }

  /// One candidate, or the units of a region.
  ir::Partition partition(const std::vector<CandidateId>& chosen) {
    std::vector<const Candidate*> units;
    for (CandidateId c : chosen) units.push_back(&problem_.candidates[c]);
    const OwnerId owner_id = units.front()->owner;
    const Owner& owner = problem_.owners[owner_id];
    ir::Partition partition;
    partition.backend = owner.backend;
    partition.instance = owner.instance;
    partition.split = units.front()->split;
    std::vector<ValueFormat> reads, writes;
    for (CandidateId c : chosen) {
      if (times_ == nullptr) break;
      partition.cost += times_->candidates[c].cost.time();
      if (c != chosen.front()) partition.cost -= times_->owners[owner_id].joins->time();
    }
    for (const Candidate* unit : units) {
      partition.nodes.insert(partition.nodes.end(), unit->nodes.begin(), unit->nodes.end());
      reads.insert(reads.end(), unit->reads.begin(), unit->reads.end());
      writes.insert(writes.end(), unit->writes.begin(), unit->writes.end());
    }
    std::sort(partition.nodes.begin(), partition.nodes.end());
    for (ir::ValueId value : ir::boundary_inputs(graph_, partition.nodes)) {
      for (FormatId format : formats_of(reads, value)) {
        partition.inputs.push_back({value, problem_.formats[format]});
        wanted_[id_of_.at(value)].push_back(format);
      }
    }
    for (ir::ValueId value : ir::boundary_outputs(graph_, partition.nodes)) {
      const FormatId format = formats_of(writes, value).front();
      partition.outputs.push_back({value, problem_.formats[format]});
      written_[id_of_.at(value)] = format;
    }
    return partition;
  }

  std::vector<ir::Conversion> conversions() {
    std::vector<ir::Conversion> result;
    for (const auto& [value, v] : id_of_) {
      const Arborescence tree = cheapest_arborescence(problem_.values[v].conversions, written_[v], wanted_[v]);
      COLLAGE_CHECK(tree.reachable(), "no conversions feed the readers of value {}", v.index);
      for (const ConversionEdge& edge : tree.edges) {
        ir::Conversion conversion;
        conversion.value = value;
        conversion.from = problem_.formats[edge.from];
        conversion.to = problem_.formats[edge.to];
        if (times_ != nullptr) conversion.cost = time_of(v, edge);
        conversion.name = unique_name(graph_.value(value).name + "." + name_of_space(conversion.to.space));
        result.push_back(std::move(conversion));
      }
    }
    return result;
  }

 private:
  Duration time_of(ProblemValueId value, const ConversionEdge& edge) const {
    const std::vector<ConversionEdge>& edges = problem_.values[value].conversions;
    const auto at = std::find_if(edges.begin(), edges.end(), [&](const ConversionEdge& other) {
      return other.from == edge.from && other.to == edge.to && other.cost == edge.cost;
    });
    return times_->values[value].conversions[static_cast<size_t>(at - edges.begin())].cost.time();
  }

  std::vector<FormatId> formats_of(const std::vector<ValueFormat>& list, ir::ValueId value) const {
    const auto it = id_of_.find(value);
    COLLAGE_CHECK(it != id_of_.end(), "value %{} is not part of the problem", graph_.value(value).name);
    std::vector<FormatId> formats;
    for (const ValueFormat& entry : list) {
      if (entry.value != it->second) continue;
      if (std::find(formats.begin(), formats.end(), entry.format) == formats.end()) formats.push_back(entry.format);
    }
    COLLAGE_CHECK(!formats.empty(), "a candidate does not say in which format %{} crosses", graph_.value(value).name);
    return formats;
  }

  std::string unique_name(const std::string& base) {
    std::string name = base;
    for (int i = 1; !names_.insert(name).second; ++i) name = base + "." + std::to_string(i);
    return name;
  }

  const Problem& problem_;
  const Problem* times_;
  const ir::Graph& graph_;
  std::map<ir::ValueId, ProblemValueId> id_of_;
  Table<ProblemValueId, FormatId> written_;
  Table<ProblemValueId, std::vector<FormatId>> wanted_;
  std::set<std::string> names_;
};

}  // namespace

ir::Placement to_placement(const Problem& problem, const Solution& solution, const ir::Graph& graph,
                           const Table<ProblemValueId, ir::ValueId>& values,
                           const std::function<std::vector<ir::ChosenMatch>(CandidateId candidate)>& matches_of,
                           const Problem* times) {
  if (times == nullptr && problem.unit != Cost::Unit::Joules) times = &problem;
  Writer writer(problem, times, graph, values);
  ir::Placement placement;
  std::map<RegionId, std::vector<CandidateId>> units_of;
  for (size_t i = 0; i < solution.chosen.size(); ++i) {
    units_of[solution.region.empty() ? RegionId(i) : solution.region[i]].push_back(solution.chosen[i]);
  }
  for (auto& [region, chosen] : units_of) {
    std::sort(chosen.begin(), chosen.end(), [&](CandidateId a, CandidateId b) {
      return problem.candidates[a].nodes.front() < problem.candidates[b].nodes.front();
    });
    placement.partitions.push_back(writer.partition(chosen));
    for (CandidateId c : matches_of ? chosen : std::vector<CandidateId>()) {
      std::vector<ir::ChosenMatch> own = matches_of(c);
      std::move(own.begin(), own.end(), std::back_inserter(placement.partitions.back().matches));
    }
  }
  placement.conversions = writer.conversions();
  number_partitions(graph, placement);
  return placement;
}

ir::Placement to_placement(const BuiltProblem& built, const Solution& solution, const ir::Graph& graph,
                           const Problem* times) {
  ir::Placement placement = to_placement(
      built.problem, solution, graph, built.values, [&](CandidateId c) { return chosen_matches(built, c); }, times);
  for (CandidateId c : solution.chosen) {
    if (built.origin(c).part_matches.empty()) continue;
    const NodeId first = built.problem.candidates[c].nodes.front();
    for (ir::Partition& partition : placement.partitions) {
      if (partition.nodes.front() == first) partition.part_matches = built.origin(c).part_matches;
    }
  }
  return placement;
}

void number_partitions(const ir::Graph& graph, ir::Placement& placement) {
  const std::vector<size_t> order = ir::execution_order(graph, placement);
  COLLAGE_CHECK(order.size() == placement.partitions.size(), "the partitions form a cycle");
  std::vector<ir::Partition> sorted;
  for (size_t p : order) {
    sorted.push_back(std::move(placement.partitions[p]));
    sorted.back().name = fmt::format("p{}", sorted.size() - 1);
  }
  placement.partitions = std::move(sorted);
}

}  // namespace collage::place
