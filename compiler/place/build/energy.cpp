// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/build/energy.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/place/formats/format_graph.h"
#include "compiler/support/check.h"

namespace collage::place {
namespace {

using support::Code;

class Energies {
 public:
  Energies(const ir::Graph& graph, const std::vector<ActiveBackend>& backends, const BuiltProblem& built,
           support::Diagnostics& diags)
      : graph_(graph), backends_(backends), built_(built), diags_(diags), links_(backends) {}

  std::optional<BuiltProblem> run() {
    BuiltProblem result = built_;
    for (size_t c = 0; c < result.problem.candidates.size(); ++c) {
      Candidate& candidate = result.problem.candidates[c];
      candidate.cost = of_candidate(candidate, result.origin(c));
    }
    for (size_t v = 0; v < result.problem.values.size(); ++v) {
      const size_t bytes = graph_.value(result.values[v]).type.bytes();
      for (ConversionEdge& edge : result.problem.values[v].conversions) {
        const std::string& from = result.problem.formats[static_cast<size_t>(edge.from)].space;
        const std::string& to = result.problem.formats[static_cast<size_t>(edge.to)].space;
        edge.cost = from == to ? at_power(of_space(from), edge.cost) : of_copy(from, to, bytes);
      }
    }
    if (!complained_.empty()) return std::nullopt;
    return result;
  }

 private:
  static Duration at_power(double watts, Duration time) { return Duration::seconds(watts * time.seconds()); }

  const ActiveBackend* find(const std::string& name) const {
    const auto it = std::find_if(backends_.begin(), backends_.end(),
                                 [&](const ActiveBackend& active) { return active.backend->name == name; });
    return it == backends_.end() ? nullptr : &*it;
  }

  Duration of_candidate(const Candidate& candidate, const CandidateOrigin& origin) {
    if (std::optional<double> joules = by_rules(origin)) return Duration::seconds(*joules);
    const Owner& owner = built_.problem.owners[static_cast<size_t>(candidate.owner)];
    const double devices = static_cast<double>(std::max<size_t>(1, owner.members.size()));
    if (owner.instance != "host") return at_power(devices * of_space(owner.instance), candidate.cost);
    const ActiveBackend* active = find(owner.backend);
    return at_power(active != nullptr && active->backend->power ? *active->backend->power : of_space("host"),
                    candidate.cost);
  }

  std::optional<double> by_rules(const CandidateOrigin& origin) {
    if (origin.backend < 0 || origin.matches.empty()) return std::nullopt;
    const ActiveBackend& active = backends_[static_cast<size_t>(origin.backend)];
    const std::vector<match::Match>& matches = built_.backends[static_cast<size_t>(origin.backend)].matches;
    double joules = 0;
    for (size_t m : origin.matches) {
      const match::Match& match = matches[m];
      const ir::Rule& rule = active.backend->rules[static_cast<size_t>(match.rule)];
      if (!rule.energy) return std::nullopt;
      const match::Quantities quantities = match::quantities_of(graph_, match.nodes);
      std::string why;
      const std::optional<double> one = match::evaluate_cost(
          *rule.energy,
          {graph_, *active.backend, active.attrs, match.bindings, &quantities, &match.knobs, active.environment.get()},
          &why);
      if (!one) return std::nullopt;
      joules += *one;
    }
    return joules;
  }

  /// Watts.
  double of_space(const std::string& space) {
    if (space == "host") {
      const ActiveBackend* host = find("host");
      return host != nullptr && host->backend->power ? *host->backend->power : kHostWatts;
    }
    const std::string device = space.substr(0, space.find('['));
    for (const ActiveBackend& active : backends_) {
      for (const ir::DeviceDecl& declared : active.backend->devices) {
        if (declared.name != device) continue;
        if (declared.power) return *declared.power;
        if (!complained_.insert(device).second) return 0;
        diags_
            .error(Code::NoEnergy, declared.span,
                   "backend `{}` gives no energy for all that it does: `{}` has no power", active.backend->name, device)
            .note("`power 2 W` in the device; or `energy` in every rule, and one layout");
        return 0;
      }
    }
    return 0;
  }

  Duration of_copy(const std::string& from, const std::string& to, size_t bytes) {
    const ir::Link* link = links_.find_link(from, to);
    COLLAGE_CHECK(link != nullptr, "a copy from {} to {} without a link", from, to);
    if (link->joules_per_byte) return Duration::seconds(*link->joules_per_byte * static_cast<double>(bytes));
    if (complained_.insert(from < to ? from + "-" + to : to + "-" + from).second) {
      diags_.error(Code::NoEnergy, link->span, "the link between `{}` and `{}` gives no energy", from, to)
          .note("`link host bandwidth 4 GB/s energy 20 pJ`: of each byte");
    }
    return {};
  }

  const ir::Graph& graph_;
  const std::vector<ActiveBackend>& backends_;
  const BuiltProblem& built_;
  support::Diagnostics& diags_;
  FormatGraph links_;
  std::set<std::string> complained_;
};

/// The cost of a listed conversion.
Duration edge_cost(const BuiltProblem& built, const ir::Conversion& conversion) {
  const auto v = std::lower_bound(built.values.begin(), built.values.end(), conversion.value) - built.values.begin();
  for (const ConversionEdge& edge : built.problem.values[static_cast<size_t>(v)].conversions) {
    const bool is_it = built.problem.formats[static_cast<size_t>(edge.from)] == conversion.from &&
                       built.problem.formats[static_cast<size_t>(edge.to)] == conversion.to;
    if (is_it) return edge.cost;
  }
  return conversion.cost;
}

std::vector<int> nodes_of(const ir::Partition& partition) {
  std::vector<int> nodes;
  for (ir::NodeId node : partition.nodes) nodes.push_back(node.index);
  return nodes;
}

}  // namespace

std::optional<BuiltProblem> with_energies(const ir::Graph& graph, const std::vector<ActiveBackend>& backends,
                                          const BuiltProblem& built, support::Diagnostics& diags) {
  return Energies(graph, backends, built, diags).run();
}

void restore_times(const BuiltProblem& built, const Solution& solution, ir::Placement* placement) {
  std::map<int, Duration> by_first_node;
  for (int c : solution.chosen) {
    const Candidate& candidate = built.problem.candidates[static_cast<size_t>(c)];
    by_first_node[candidate.nodes.front()] = candidate.cost;
  }
  for (ir::Partition& partition : placement->partitions) {
    partition.cost = by_first_node.at(partition.nodes.front().index);
  }
  for (ir::Conversion& conversion : placement->conversions) conversion.cost = edge_cost(built, conversion);
}

Duration energy_of(const BuiltProblem& with_energies, const ir::Placement& placement) {
  const Problem& problem = with_energies.problem;
  Duration total;
  for (const ir::Partition& partition : placement.partitions) {
    const std::vector<int> nodes = nodes_of(partition);
    const auto is_it = [&](const Candidate& candidate) {
      const Owner& owner = problem.owners[static_cast<size_t>(candidate.owner)];
      return candidate.nodes == nodes && owner.backend == partition.backend && owner.instance == partition.instance;
    };
    const auto found = std::find_if(problem.candidates.begin(), problem.candidates.end(), is_it);
    COLLAGE_CHECK(found != problem.candidates.end(), "partition {} is no candidate", partition.name);
    total += found->cost;
  }
  for (const ir::Conversion& conversion : placement.conversions) total += edge_cost(with_energies, conversion);
  return total;
}

}  // namespace collage::place
