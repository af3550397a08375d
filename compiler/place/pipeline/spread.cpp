// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/pipeline/spread.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "compiler/place/build/conversions.h"
#include "compiler/place/build/memory.h"
#include "compiler/place/build/owners.h"
#include "compiler/place/build/representatives.h"
#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/pipeline/chain_of_solution.h"
#include "compiler/place/pipeline/cut_chain.h"
#include "compiler/place/pipeline/pack_chain.h"
#include "compiler/place/pipeline/small_steps.h"
#include "compiler/place/pipeline/spread_bound.h"
#include "compiler/place/problem/shortage.h"
#include "runtime/core/host_space.h"

namespace collage::place {
namespace {

using support::advance;

/// Instances of one kind by name, in order; the first has the candidates.
using Family = std::vector<std::string>;

class Spreader {
 public:
  Spreader(const SpreadInput& input, BuiltProblem& built)
      : input_(input), built_(built), problem_(built.problem), links_(*built.links) {
    for (const MemoryLimit& limit : input.limits) limit_of_[limit.instance] = static_cast<int64_t>(limit.bytes);
    find_families();
  }

  void run() {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    Spread& spread = *built_.spread;
    spread.is_tried = true;
    if (shortage_of(problem_, input_.limits)) return;
    const Problem contracted = contract();
    const std::optional<Solution> base = search_optimal(contracted, search_options(), {});
    if (!base) return;
    const Objective& objective = input_.objective;
    const BoundOfAll bounds(problem_, input_.limits, links_, input_.graph, built_.values);
    const Cost least_of_stream = objective.is_stream ? bounds.throughput() : problem_.cost_of(0);
    std::vector<Staged> plans;
    if (std::optional<Staged> staged = in_stages(*base)) plans.push_back(std::move(*staged));
    if (objective.is_stream) {
      if (std::optional<Staged> other = in_small_steps(contracted, least_of_stream.count())) {
        const bool is_better = plans.empty() || other->most < plans.front().most;
        plans.insert(is_better ? plans.begin() : plans.end(), std::move(*other));
      }
    }
    std::optional<Solution> found;
    for (size_t p = 0; p < plans.size() && !found; ++p) found = over_instances(plans[p]);
    if (!found) {
      if (spread.why.empty() && !input_.limits.empty())
        spread.why = "no way to cut it into stages was found that fits into the memories";
      return;
    }
    if (objective.schedule == nullptr) {
      const Cost one = are_links_least() ? base->bound : problem_.cost_of(0);
      found->bound = std::min(found->cost, std::max(one, bounds.latency()));
      spread.bound = found->bound;
    } else {
      found->bound = problem_.cost_of(0);
      spread.bound = objective.is_stream ? least_of_stream : bounds.makespan();
    }
    found->optimal = objective.schedule == nullptr && found->bound == found->cost;
    found->states = base->states;
    found->seconds = std::chrono::duration<double>(Clock::now() - start).count();
    found->is_limited = !input_.limits.empty();
    spread.solution = std::move(found);
  }

 private:
  void find_families() {
    const std::set<std::string> forbidden = forbidden_instances(problem_, input_.constraints);
    std::set<OwnerId> used;
    for (const Candidate& candidate : problem_.candidates) used.insert(candidate.owner);
    for (OwnerId first : used) {
      const Owner& owner = problem_.owners[first];
      if (!owner.members.empty() || families_.contains(owner.instance)) continue;
      Family family;
      for (OwnerId o : block_of(first)) {
        const Owner& other = problem_.owners[o];
        if (other.members.empty() && !forbidden.contains(other.instance)) family.push_back(other.instance);
      }
      // Where the user names other instances, these have candidates as well.
      if (!family.empty() && family.front() == owner.instance) families_.emplace(owner.instance, std::move(family));
    }
  }

  /// Owners of the same backend; the implicit hosts are one of their own.
  IdRange<OwnerId> block_of(OwnerId owner) const {
    const IdRange<OwnerId> implicit = implicit_hosts(problem_);
    if (owner < implicit.last_plus_one()) return implicit;
    OwnerId begin = owner, end = advance(owner, 1);
    const std::string& backend = problem_.owners[owner].backend;
    while (begin > implicit.last_plus_one() && problem_.owners[advance(begin, -1)].backend == backend) {
      begin = advance(begin, -1);
    }
    while (problem_.owners.holds(end) && problem_.owners[end].backend == backend) end = advance(end, 1);
    return {begin, end};
  }

  std::optional<int64_t> limit(const std::string& instance) const {
    const auto at = limit_of_.find(instance);
    return at == limit_of_.end() ? std::nullopt : std::optional(at->second);
  }

  /// A representative has the memory of its family.
  Problem contract() const {
    Problem contracted = problem_;
    std::set<std::string> used;
    for (const Candidate& candidate : problem_.candidates) used.insert(problem_.owners[candidate.owner].instance);
    for (Owner& owner : contracted.owners) {
      if (!used.contains(owner.instance)) continue;
      const auto family = families_.find(owner.instance);
      if (family == families_.end()) {
        owner.memory = limit(owner.instance);
        continue;
      }
      int64_t sum = 0;
      bool is_limited = true;
      for (const std::string& instance : family->second) {
        const std::optional<int64_t> bytes = limit(instance);
        is_limited = is_limited && bytes && *bytes < std::numeric_limits<int64_t>::max() / 2 - sum;
        if (is_limited) sum += *bytes;
      }
      if (is_limited) owner.memory = sum;
    }
    return contracted;
  }

  SearchOptions search_options() const {
    SearchOptions options = input_.options;
    options.on_progress = nullptr;
    options.excess = nullptr;
    return options;
  }

  // ---- stages

  /// The family with most instances that the solution uses; empty: it uses named instances alone.
  std::string main_of(const Solution& base) const {
    std::string main;
    size_t most = 0;
    for (CandidateId c : base.chosen) {
      const std::string& instance = problem_.owners[problem_.candidates[c].owner].instance;
      const auto family = families_.find(instance);
      if (family == families_.end() || family->second.size() <= most) continue;
      most = family->second.size();
      main = instance;
    }
    return main;
  }

  /// Where a representative's share of a stage runs.
  std::string instance_at(const std::string& representative, const std::string& main, StageId stage) const {
    const Family& own = families_.at(representative);
    const Family& leading = families_.at(main);
    if (representative == main) return own[stage.slot()];
    const int host = links_.host_of(leading[stage.slot()]);
    const auto there =
        std::find_if(own.begin(), own.end(), [&](const std::string& one) { return links_.host_of(one) == host; });
    const bool are_apart = links_.host_of(own.front()) != links_.host_of(own.back());
    return are_apart && there != own.end() ? *there : own[stage.slot() * own.size() / leading.size()];
  }

  /// Directly, or through the memories of hosts.
  int64_t copy_time(const std::string& from, const std::string& to, size_t bytes) const {
    if (from == to) return 0;
    if (const std::optional<Duration> direct = links_.copy_cost(from, to, bytes)) return direct->ps();
    std::vector<std::string> way = {from};
    for (const std::string& end : {from, to}) {
      const std::string host = runtime::host_space(links_.host_of(end));
      if (way.back() != host) way.push_back(host);
    }
    if (way.back() != to) way.push_back(to);
    int64_t sum = 0;
    for (size_t i = 1; i < way.size(); ++i) {
      const std::optional<Duration> one = links_.copy_cost(way[i - 1], way[i], bytes);
      if (one) sum += one->ps();
    }
    return sum;
  }

  /// The chain of the chosen candidates. Steps outside the main family use neither its time nor its memory for
  /// constants.
  Chain chain_of(const std::vector<CandidateId>& chosen, const Table<StepId, ChosenId>& order,
                 const std::string& main) const {
    const Family& leading = families_.at(main);
    const std::string& second = leading[std::min<size_t>(1, leading.size() - 1)];
    const auto bytes_of = [&](ProblemValueId v) { return input_.graph.value(built_.values[v]).type.bytes(); };
    Chain chain =
        chain_of_solution(problem_, chosen, order,
                          [&](CandidateId c) { return problem_.owners[problem_.candidates[c].owner].instance == main; },
                          {[&](ProblemValueId v) { return copy_time(leading.front(), second, bytes_of(v)); },
                           [&](ProblemValueId v) { return copy_time(second, runtime::host_space(0), bytes_of(v)); }});
    for (const std::string& instance : leading) chain.stages.push_back({limit(instance)});
    return chain;
  }

  std::optional<Cuts> cut(const Chain& chain) const {
    const Chain with_gaps = with_memory_for_gaps(chain);
    const auto found = [&](const Chain& one) {
      return input_.objective.is_stream ? stream_cuts(one) : least_sum_cuts(one);
    };
    std::optional<Cuts> cuts = found(with_gaps);
    return cuts ? cuts : found(chain);
  }

  /// The arenas of a plan have gaps.
  static Chain with_memory_for_gaps(Chain chain) {
    constexpr int64_t kGaps = 64;
    for (ChainStage& stage : chain.stages) {
      if (stage.memory) *stage.memory -= *stage.memory / kGaps;
    }
    return chain;
  }

  /// Returns packed stages where these are clearly better than cuts, though they need more copies.
  std::optional<Cuts> pack(const Chain& chain, const Cuts& cuts) const {
    constexpr int64_t kRequests = 8;  // on their way to and fro between two stages
    constexpr int64_t kClearly = 64;
    Chain stream = with_memory_for_gaps(chain);
    stream.requests = kRequests;
    return pack_chain(stream, cuts.value - cuts.value / kClearly);
  }

  /// A solution among candidates of representatives, cut.
  struct Staged {
    Solution solution;
    std::string main;                   ///< the family of the stages; empty: nothing is cut
    Table<ChosenId, StageId> stage_of;  ///< empty where nothing is cut
    int64_t most = 0;                   ///< what the busiest stage does or receives; all where nothing is cut
  };

  std::optional<Staged> in_stages(const Solution& solution) const {
    Staged staged{solution, main_of(solution), {}, solution.cost.count()};
    if (staged.main.empty()) return staged;
    const Table<StepId, ChosenId> order = steps_of(problem_, solution.chosen);
    const Chain chain = chain_of(solution.chosen, order, staged.main);
    std::optional<Cuts> cuts = cut(chain);
    if (!cuts) return std::nullopt;
    if (input_.objective.is_stream) {
      if (std::optional<Cuts> packed = pack(chain, *cuts)) cuts = std::move(packed);
    }
    staged.stage_of.resize(solution.chosen.size());
    for (StepId step : order.ids()) staged.stage_of[order[step]] = cuts->stage_of[step];
    staged.most = cuts->value;
    return staged;
  }

  /// As small_steps.h says. Nothing where that is no placement of stages.
  std::optional<Staged> in_small_steps(const Problem& contracted, int64_t least_most) const {
    constexpr int64_t kStepsOfAStage = 8;  // so many at least, where they are not longer by themselves
    SearchOptions options = search_options();
    options.is_probe = true;
    const std::optional<Solution> small =
        search_among(contracted, small_candidates(contracted, least_most / kStepsOfAStage), options);
    if (!small) return std::nullopt;
    std::optional<Staged> staged = in_stages(*small);
    if (!staged || staged->main.empty()) return std::nullopt;
    Table<NodeId, StageId> stage_of(problem_.node_count);
    for (ChosenId p : staged->stage_of.ids()) {
      for (NodeId node : problem_.candidates[small->chosen[p.slot()]].nodes) stage_of[node] = staged->stage_of[p];
    }
    const std::optional<Solution> joined =
        search_among(contracted, candidates_in_stages(contracted, stage_of), options);
    if (!joined || main_of(*joined) != staged->main) return staged;
    Staged result{*joined, staged->main, {}, 0};
    for (CandidateId c : joined->chosen) result.stage_of.push_back(stage_of[problem_.candidates[c].nodes.front()]);
    const Table<StepId, ChosenId> order = steps_of(problem_, joined->chosen);
    Table<StepId, StageId> stages;
    for (ChosenId p : order) stages.push_back(result.stage_of[p]);
    result.most = most_of_stages(chain_of(joined->chosen, order, result.main), stages);
    return result.most < staged->most ? result : *staged;
  }

  // ---- candidates

  std::optional<Solution> over_instances(const Staged& staged) {
    const Solution& base = staged.solution;
    Solution solution = base;
    if (!staged.main.empty()) {
      for (ChosenId p : staged.stage_of.ids()) {
        solution.chosen[p.slot()] = moved(base.chosen[p.slot()], staged.main, staged.stage_of[p]);
      }
      convert_again();
      if (!base.region.empty()) solution.region = regions_of(solution.chosen, base.region, staged.stage_of);
    }
    Problem limited = problem_;
    for (Owner& owner : limited.owners) owner.memory = limit(owner.instance);
    const Verdict verdict = evaluate(limited, solution);
    if (const auto* reason = std::get_if<std::string>(&verdict)) {
      built_.spread->why = *reason;
      return std::nullopt;
    }
    solution.cost = std::get<Cost>(verdict);
    solution.multipliers = nullptr;  // of another problem
    return solution;
  }

  /// The candidate on the instance of its stage, which comes into the problem.
  CandidateId moved(CandidateId c, const std::string& main, StageId stage) {
    const Candidate& given = problem_.candidates[c];
    const std::string from = problem_.owners[given.owner].instance;
    if (!families_.contains(from) || built_.origin(c).fixed.is_valid()) return c;
    const std::string to = instance_at(from, main, stage);
    if (to == from) return c;
    Candidate candidate = given;
    for (OwnerId o : block_of(given.owner)) {
      if (problem_.owners[o].instance == to) candidate.owner = o;
    }
    for (std::vector<ValueFormat>* list : {&candidate.reads, &candidate.writes}) {
      for (ValueFormat& item : *list) {
        ir::Format format = problem_.formats[item.format];
        if (format.space != from) continue;
        format.space = to;
        item.format = intern_format(format, &problem_.formats);
      }
    }
    CandidateOrigin origin = built_.origin(c);
    built_.add_candidate(std::move(candidate), std::move(origin));
    return advance(problem_.candidates.next_id(), -1);
  }

  /// Conversions of all formats that there are now. Those whose costs were measured keep them, in the memories of other
  /// hosts as well.
  void convert_again() {
    Table<ProblemValueId, std::map<std::pair<ir::Format, ir::Format>, Cost>> known(problem_.values.size());
    const auto on_first_host = [&](FormatId id) {
      ir::Format format = problem_.formats[id];
      if (runtime::is_host_space(format.space)) format.space = runtime::host_space(0);
      return format;
    };
    for (ProblemValueId v : problem_.values.ids()) {
      for (const ConversionEdge& edge : problem_.values[v].conversions) {
        if (problem_.formats[edge.from].space != problem_.formats[edge.to].space) continue;
        known[v].emplace(std::pair(on_first_host(edge.from), on_first_host(edge.to)), edge.cost);
      }
    }
    add_conversions(input_.graph, links_, &built_);
    add_memory(input_.graph, input_.backends, &built_);
    for (ProblemValueId v : problem_.values.ids()) {
      for (ConversionEdge& edge : problem_.values[v].conversions) {
        if (problem_.formats[edge.from].space != problem_.formats[edge.to].space) continue;
        const auto at = known[v].find({on_first_host(edge.from), on_first_host(edge.to)});
        if (at != known[v].end()) edge.cost = at->second;
      }
    }
  }

  /// What is left of a region in a stage, as far as it hangs together. A stage is a stretch of an order of execution,
  /// so that no way leaves a part and comes back.
  std::vector<RegionId> regions_of(const std::vector<CandidateId>& chosen, const std::vector<RegionId>& before,
                                   const Table<ChosenId, StageId>& stage_of) const {
    std::vector<size_t> root(chosen.size());
    for (size_t p = 0; p < root.size(); ++p) root[p] = p;
    const auto find = [&](size_t p) {
      while (root[p] != p) p = root[p] = root[root[p]];
      return p;
    };
    std::map<ValueFormat, size_t> writer;
    for (size_t p = 0; p < chosen.size(); ++p) {
      for (const ValueFormat& write : problem_.candidates[chosen[p]].writes) writer.emplace(write, p);
    }
    for (size_t p = 0; p < chosen.size(); ++p) {
      for (const ValueFormat& read : problem_.candidates[chosen[p]].reads) {
        const auto at = writer.find(read);
        if (at == writer.end() || before[at->second] != before[p]) continue;
        if (stage_of[ChosenId(at->second)] == stage_of[ChosenId(p)]) root[find(p)] = find(at->second);
      }
    }
    std::vector<RegionId> regions;
    for (size_t p = 0; p < chosen.size(); ++p) regions.emplace_back(find(p));
    return regions;
  }

  /// No two instances of different kinds are joined by a faster link than their representatives are. False as well
  /// where there are too many to see.
  bool are_links_least() const {
    constexpr size_t kMostRoutes = 65'536;
    size_t routes = 0;
    const auto is_slower = [](const ir::Route& one, const ir::Route& other) {
      return one.bytes_per_second <= other.bytes_per_second && one.latency >= other.latency;
    };
    for (const auto& [a, own] : families_) {
      for (const auto& [b, others] : families_) {
        if (a >= b) continue;
        const ir::Route* between = links_.find_route(a, b);
        for (const std::string& x : own) {
          for (const std::string& y : others) {
            const ir::Route* one = links_.find_route(x, y);
            if (one == nullptr) continue;
            if (between == nullptr || !is_slower(*one, *between) || ++routes > kMostRoutes) return false;
          }
        }
      }
    }
    return true;
  }

  const SpreadInput& input_;
  BuiltProblem& built_;
  Problem& problem_;
  const FormatGraph& links_;
  std::map<std::string, int64_t> limit_of_;
  std::map<std::string, Family> families_;  ///< by the instance that has the candidates
};

}  // namespace

void spread_over_instances(const SpreadInput& input, BuiltProblem* built) {
  if (built->spread && !built->spread->is_tried) Spreader(input, *built).run();
}

runtime::Result<Solution> spread_solution(const BuiltProblem& built) {
  const Spread& spread = *built.spread;
  if (!spread.solution) return runtime::Status::error(spread.why);
  Solution solution = *spread.solution;
  if (built.problem.unit == solution.cost.unit()) return solution;
  const Verdict verdict = evaluate(built.problem, solution);
  if (!std::holds_alternative<Cost>(verdict)) return runtime::Status::error("");
  solution.cost = std::get<Cost>(verdict);
  solution.bound = built.problem.cost_of(0);
  solution.optimal = false;
  return solution;
}

}  // namespace collage::place
