// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/build/energy.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "compiler/place/formats/format_graph.h"
#include "runtime/core/host_space.h"
#include "runtime/support/check.h"

namespace collage::place {
namespace {

using support::Code;

class Energies {
 public:
  Energies(const ir::Graph& graph, const ActiveBackends& backends, const BuiltProblem& built,
           support::Diagnostics& diags)
      : graph_(graph), backends_(backends), built_(built), diags_(diags), links_(*built.links) {}

  std::optional<BuiltProblem> run() {
    BuiltProblem result = built_;
    result.problem.unit = Cost::Unit::Joules;
    for (const Owner& owner : result.problem.owners) COLLAGE_CHECK(!owner.joins, "regions have energies as a whole");
    for (CandidateId c : result.candidate_ids()) {
      Candidate& candidate = result.problem.candidates[c];
      candidate.cost = of_candidate(candidate, result.origin(c));
    }
    for (ProblemValueId v : result.values.ids()) {
      const size_t bytes = graph_.value(result.values[v]).type.bytes();
      for (ConversionEdge& edge : result.problem.values[v].conversions) {
        const std::string& from = result.problem.formats[edge.from].space;
        const std::string& to = result.problem.formats[edge.to].space;
        edge.cost = from == to ? at_power(of_space(from), edge.cost) : of_copy(from, to, bytes);
      }
    }
    if (!complained_.empty()) return std::nullopt;
    return result;
  }

 private:
  static Cost at_power(double watts, Cost time) { return Cost::joules(watts * time.time().seconds()); }

  const ActiveBackend* find(std::string_view name) const {
    const auto it = std::find_if(backends_.begin(), backends_.end(),
                                 [&](const ActiveBackend& active) { return active.backend->name == name; });
    return it == backends_.end() ? nullptr : &*it;
  }

  Cost of_candidate(const Candidate& candidate, const CandidateOrigin& origin) {
    if (std::optional<double> joules = by_rules(origin)) return Cost::joules(*joules);
    const Owner& owner = built_.problem.owners[candidate.owner];
    const double instances = static_cast<double>(std::max<size_t>(1, owner.members.size()));
    const std::string first = ir::instances_of(owner.instance).front();
    if (!runtime::is_host_space(first)) return at_power(instances * of_space(first), candidate.cost);
    const ActiveBackend* active = find(owner.backend);
    const double watts = active != nullptr && active->backend->power ? *active->backend->power : of_space(first);
    return at_power(instances * watts, candidate.cost);
  }

  std::optional<double> by_rules(const CandidateOrigin& origin) {
    if (!origin.backend.is_valid() || origin.matches.empty()) return std::nullopt;
    const ActiveBackend& active = backends_[origin.backend];
    const Table<MatchId, match::Match>& matches = built_.backends[origin.backend].matches;
    double joules = 0;
    for (MatchId m : origin.matches) {
      const match::Match& match = matches[m];
      const ir::Rule& rule = active.backend->rules[static_cast<size_t>(match.rule)];
      if (!rule.energy) return std::nullopt;
      const match::Quantities quantities = match::quantities_of(graph_, match.nodes, active.backend);
      const runtime::Result<double> one = match::evaluate_cost(
          *rule.energy,
          {graph_, *active.backend, active.attrs, match.bindings, &quantities, &match.knobs, active.environment.get()});
      if (!one) return std::nullopt;
      joules += *one;
    }
    return joules;
  }

  /// Watts.
  double of_space(const std::string& space) {
    if (runtime::is_host_space(space)) {
      const ActiveBackend* host = find(kHostBackend);
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

  Cost of_copy(const std::string& from, const std::string& to, size_t bytes) {
    const ir::Route* route = links_.find_route(from, to);
    COLLAGE_CHECK(route != nullptr, "a copy from {} to {} without a link", from, to);
    if (route->joules_per_byte) return Cost::joules(*route->joules_per_byte * static_cast<double>(bytes));
    if (complained_.insert(from < to ? from + "-" + to : to + "-" + from).second) {
      diags_.error(Code::NoEnergy, route->silent, "the link between `{}` and `{}` gives no energy", from, to)
          .note("`link host bandwidth 4 GB/s energy 20 pJ`: of each byte");
    }
    return {};
  }

  const ir::Graph& graph_;
  const ActiveBackends& backends_;
  const BuiltProblem& built_;
  support::Diagnostics& diags_;
  const FormatGraph& links_;
  std::set<std::string> complained_;
};

}  // namespace

std::optional<BuiltProblem> with_energies(const ir::Graph& graph, const ActiveBackends& backends,
                                          const BuiltProblem& built, support::Diagnostics& diags) {
  return Energies(graph, backends, built, diags).run();
}

}  // namespace collage::place
