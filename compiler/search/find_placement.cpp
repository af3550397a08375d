// SPDX-License-Identifier: Apache-2.0
#include "compiler/search/find_placement.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "compiler/place/build/coalesce.h"
#include "compiler/place/build/priced.h"
#include "compiler/place/build/to_placement.h"
#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/pipeline/pipeline_start.h"
#include "compiler/place/schedule/parallel_search.h"
#include "compiler/place/schedule/work_schedule.h"
#include "compiler/plan/build_plan.h"
#include "compiler/program/program.h"
#include "compiler/request/written_partitions.h"
#include "compiler/search/learned_constants.h"
#include "compiler/search/memory_text.h"
#include "compiler/search/why_no_placement.h"
#include "runtime/core/host_space.h"
#include "runtime/support/check.h"

namespace collage::driver {
namespace {

/// Of the time that the user allows: a search for a plan to compare with.
constexpr double kPartOfSimplerPlans = 0.1;

/// The backend's `coalesce`; partitions that were written stay as they are.
bool may_join(const SearchInput& input, const ir::Partition& partition) {
  const ir::Backend* backend = input.rules.find(partition.backend);
  if (backend == nullptr || !backend->policy.coalesce) return false;
  return std::none_of(input.written.partitions.begin(), input.written.partitions.end(),
                      [&](const ir::Partition& written) { return written.nodes == partition.nodes; });
}

/// The backend's `deny`.
bool may_hold(const SearchInput& input, const std::string& backend, const std::vector<ir::NodeId>& nodes) {
  const auto& backends = input.built.backends;
  auto found = std::find_if(backends.begin(), backends.end(), [&](const auto& b) { return b.backend == backend; });
  return found == backends.end() || match::denied_in(found->denied, nodes) == nullptr;
}

/// Some backend denies nodes together that it takes one by one.
bool has_denied_sets(const SearchInput& input) {
  const auto& backends = input.built.backends;
  return std::any_of(backends.begin(), backends.end(), [](const auto& backend) {
    return std::any_of(backend.denied.begin(), backend.denied.end(),
                       [](const match::Denied& denied) { return denied.nodes.size() > 1; });
  });
}

ir::Placement placement_of(const SearchInput& input, const place::BuiltProblem& built,
                           const place::Solution& solution) {
  return place::to_placement(built, solution, input.graph, &input.built.problem);
}

/// `12.3 ms, bound 12.1 ms, gap 1.6 %`
std::string progress_text(const place::SearchProgress& now) {
  if (now.cost == Cost::max()) return "no placement yet";
  const std::string text = fmt::format("{}, bound {}", human(now.cost), human(now.bound));
  const std::optional<double> part = gap(now.cost, now.bound);
  return part ? fmt::format("{}, gap {}", text, place::percent_text(*part)) : text;
}

/// The cost of a plan that must be valid.
Cost checked(const place::Verdict& verdict) {
  COLLAGE_CHECK(std::holds_alternative<Cost>(verdict), "the plan does not hold: {}", std::get<std::string>(verdict));
  return std::get<Cost>(verdict);
}

}  // namespace

std::optional<place::Solution> solve(const SearchInput& input, const place::BuiltProblem& built,
                                     const place::Strategy& strategy, std::string* why) {
  if (input.listener == nullptr) {
    return place::solve_within_memory(input.graph, built, input.limits, strategy, input.options, why);
  }
  WorkScope scope(*input.listener, Work::Searching);
  place::SearchOptions options = input.options;
  options.on_progress = [&](const place::SearchProgress& now) {
    if (input.log != nullptr) input.log->push_back(now);
    scope.report(0, 0, progress_text(now));
  };
  return place::solve_within_memory(input.graph, built, input.limits, strategy, options, why);
}

SearchInput with_problem(const SearchInput& input, const place::BuiltProblem& built) {
  return {.graph = input.graph,
          .built = built,
          .rules = input.rules,
          .written = input.written,
          .limits = input.limits,
          .options = input.options,
          .objective = input.objective,
          .machine = input.machine,
          .cache = input.cache,
          .targets = input.targets};
}

Cost objective_value(const SearchInput& input, const ir::Placement& placement) {
  if (input.objective->is_concurrent()) {
    return Cost::time(input.objective->schedule->value(place::tasks_of(input.graph, placement, input.machine)));
  }
  if (input.priced != nullptr) return place::priced_value(*input.priced, placement);
  return checked(place::evaluate(input.graph, placement));
}

namespace {

/// What the other strategies find, in the same memory. With a budget of time, those that do not search.
std::vector<place::Solution> simpler_solutions(const SearchInput& input, const place::BuiltProblem& built,
                                               const place::Strategy& strategy) {
  std::vector<place::Solution> found;
  for (const place::Strategy& other : place::compared_strategies(place::backend_names(built.problem))) {
    if (other == strategy || (input.options.max_seconds && place::searches(other))) continue;
    if (input.options.is_stopped()) break;
    auto solution = place::solve_within_memory(input.graph, built, input.limits, other, input.options);
    if (solution) found.push_back(std::move(*solution));
  }
  return found;
}

/// Looks for a plan that is better with overlap, where the strategy searches at all. Gives the proven bound.
Cost improve(const SearchInput& input, const place::BuiltProblem& built, const place::Strategy& strategy,
             place::Solution* solution) {
  if (!place::is_exact(strategy)) return {};
  if (built.spread) return built.spread->bound;  // it was cut for this objective
  const place::Problem limited = place::with_memory(built.problem, input.limits);
  const auto fits = [&](const place::Solution& other) {
    if (input.options.excess) return input.options.excess(other).empty();
    const ir::Placement placement = placement_of(input, built, other);
    return std::all_of(input.limits.begin(), input.limits.end(), [&](const place::MemoryLimit& limit) {
      return place::memory_needed(input.graph, placement, limit.instance) <= limit.bytes;
    });
  };
  std::vector<place::Solution> others = simpler_solutions(input, built, strategy);
  if (built.has_cluster && input.objective->is_stream) {
    std::optional<place::Solution> pipeline =
        place::pipeline_start(limited, input.options, place::PipelineGoal::Stream);
    if (pipeline) others.push_back(std::move(*pipeline));
  }
  place::ParallelResult found = place::search_parallel(limited, input.machine, *input.objective->schedule, *solution,
                                                       others, input.options, fits);
  // Written down, ties between steps may fall differently: what was there before stays where that is better.
  const auto value = [&](const place::Solution& one) {
    return objective_value(input, placement_of(input, built, one));
  };
  if (!fits(*solution) || value(found.solution) <= value(*solution)) *solution = std::move(found.solution);
  return found.bound;
}

/// Whether partitions are joined after the search where their backend wants it.
enum class Joins { Yes, No };

struct JoinedPlacement {
  ir::Placement placement;
  Cost time;  ///< one after the other, before partitions were joined
};

/// The placement of a solution, which may be one of the problem without some of its limits.
JoinedPlacement joined_placement(const SearchInput& input, const place::Solution& solution, Joins joins) {
  const place::BuiltProblem& built = input.priced != nullptr ? *input.priced : input.built;
  ir::Placement placement = placement_of(input, built, solution);
  const Cost time = checked(place::evaluate(input.graph, placement));
  if (joins == Joins::Yes && !input.objective->keeps_partitions_apart) {
    place::coalesce(
        input.graph, placement, [&](const ir::Partition& p) { return may_join(input, p); },
        !has_denied_sets(input)
            ? place::MayHold()
            : [&](const std::string& backend,
                  const std::vector<ir::NodeId>& nodes) { return may_hold(input, backend, nodes); });
  }
  keep_written_names(input.written, placement);
  return {std::move(placement), time};
}

FoundPlacement to_found_placement(const SearchInput& input, const place::Solution& solution, Joins joins) {
  const place::BuiltProblem& built = input.priced != nullptr ? *input.priced : input.built;
  FoundPlacement plan;
  for (place::CandidateId c : solution.chosen) {
    const place::CandidateOrigin& origin = built.origin(c);
    if (origin.measured && !origin.unmeasured) plan.measured.push_back({origin.measurement, origin.spread});
  }
  plan.bound = solution.bound;
  plan.chosen = solution.chosen;
  plan.states = solution.states;
  plan.is_known = solution.is_known;
  JoinedPlacement joined = joined_placement(input, solution, joins);
  plan.placement = std::move(joined.placement);
  checked(place::evaluate(input.graph, plan.placement));
  const bool overlaps = input.objective->is_concurrent();
  if (overlaps) {
    plan.predicted = objective_value(input, plan.placement);
  } else if (input.priced != nullptr) {
    plan.predicted = checked(place::evaluate(input.priced->problem, solution));
  } else {
    plan.predicted = joined.time;
  }
  plan.optimal = overlaps ? plan.predicted == plan.bound : solution.optimal;
  plan.solution = solution;
  return plan;
}

/// Devices, and hosts of a cluster, whose memory the outlined plan exceeds. `more`: bytes by instance that only code shows.
std::vector<plan::DeviceMemory> exceeded(const SearchInput& input, const ir::Placement& placement,
                                         const std::map<std::string, int64_t>& more = {}) {
  const bool is_on_host = std::all_of(placement.partitions.begin(), placement.partitions.end(),
                                      [](const ir::Partition& partition) { return partition.instance == "host"; });
  if (input.limits.empty() || input.targets == nullptr || (is_on_host && !input.targets->is_cluster())) return {};
  std::vector<plan::DeviceMemory> devices = plan::count_device_memory(input.graph, placement, *input.targets);
  for (plan::DeviceMemory& device : devices) {
    const auto at = more.find(device.instance);
    if (at != more.end()) device.bytes += static_cast<size_t>(at->second);
  }
  std::erase_if(devices, [](const plan::DeviceMemory& device) { return !device.is_exceeded(); });
  return devices;
}

/// By how many bytes the plan of a solution, joined or not, exceeds the memory of devices.
std::map<std::string, int64_t> excess_of_plan(const SearchInput& input, const place::Solution& solution,
                                              const std::map<std::string, int64_t>& more) {
  std::vector<plan::DeviceMemory> devices;
  for (Joins joins : {Joins::Yes, Joins::No}) {
    devices = exceeded(input, joined_placement(input, solution, joins).placement, more);
    if (devices.empty()) break;
  }
  std::map<std::string, int64_t> excess;
  for (const plan::DeviceMemory& device : devices) {
    excess[device.instance] = static_cast<int64_t>(device.bytes - device.capacity);
  }
  return excess;
}

constexpr size_t kNoLimit = INT64_MAX;  // bytes are signed in the problem

place::MemoryLimit& limit_of(const std::string& instance, std::vector<place::MemoryLimit>& limits) {
  const auto found = std::find_if(limits.begin(), limits.end(),
                                  [&](const place::MemoryLimit& limit) { return limit.instance == instance; });
  return found != limits.end() ? *found : limits.emplace_back(place::MemoryLimit{instance, kNoLimit});
}

/// Devices that values reach, or leave, through `instance`.
std::set<std::string> neighbours(const ir::Placement& placement, const std::string& instance) {
  std::set<std::string> spaces;
  for (const ir::Conversion& conversion : placement.conversions) {
    if (conversion.from.space == instance) spaces.insert(conversion.to.space);
    if (conversion.to.space == instance) spaces.insert(conversion.from.space);
  }
  std::erase_if(spaces, [](const std::string& space) { return runtime::is_host_space(space); });
  spaces.erase(instance);
  return spaces;
}

/// What the search may count on after a plan was too large: less by `attempt` + 1 times what was missing. A device
/// without partitions only passes values on: then its neighbours get nothing.
void lower_limits(const ir::Placement& placement, const std::vector<plan::DeviceMemory>& devices, int attempt,
                  std::vector<place::MemoryLimit>* limits) {
  for (const plan::DeviceMemory& device : devices) {
    const bool has_partition =
        std::any_of(placement.partitions.begin(), placement.partitions.end(),
                    [&](const ir::Partition& partition) { return ir::runs_on(partition.instance, device.instance); });
    size_t& bytes = limit_of(device.instance, *limits).bytes;
    const size_t missing = static_cast<size_t>(attempt + 1) * (device.bytes - device.capacity);
    bytes -= std::min(bytes, missing);
    if (has_partition) continue;
    for (const std::string& neighbour : neighbours(placement, device.instance)) limit_of(neighbour, *limits).bytes = 0;
  }
}

/// Leaves hosts alone, and what pins keep elsewhere.
void take_all_memory(const place::Problem& problem, std::vector<place::MemoryLimit>* limits) {
  for (const place::Owner& owner : problem.owners) {
    if (!runtime::is_host_space(owner.instance)) limit_of(owner.instance, *limits).bytes = 0;
  }
}

}  // namespace

FoundPlacement to_found_placement(const SearchInput& input, const place::Solution& solution) {
  return to_found_placement(input, solution, Joins::Yes);
}

namespace {

/// The placement, compiled, whatever memory it takes. Null where it cannot be built: building it says why.
std::shared_ptr<const Program> compile_anyhow(const SearchInput& input, const ir::Placement& placement,
                                              bool* has_warnings) {
  support::SourceManager no_sources;
  support::Diagnostics unheard(no_sources);
  ProgramOptions options;
  options.cache = input.cache;
  options.listener = input.listener;
  options.excess = plan::MemoryExcess::Allowed;
  std::optional<Program> program = build_program(input.graph, placement, *input.targets, options, unheard);
  *has_warnings = !unheard.records().empty();
  return program ? std::make_shared<const Program>(std::move(*program)) : nullptr;
}

bool weighs_code(const SearchInput& input) {
  return input.compiles && input.targets != nullptr && input.targets->is_cluster() && has_limited_host(input);
}

/// Sets what the plan of a placement exceeds: by its outline, then, where it fits and hosts have limits, by its code. Returns
/// the code if that is too large.
std::shared_ptr<const Program> weigh(const SearchInput& input, FoundPlacement* plan) {
  plan->exceeded = exceeded(input, plan->placement);
  if (!plan->exceeded.empty() || !weighs_code(input)) return nullptr;
  bool has_warnings = false;
  std::shared_ptr<const Program> program = compile_anyhow(input, plan->placement, &has_warnings);
  if (program == nullptr) return nullptr;
  plan->exceeded = plan::device_memory(program->built.plan, *input.targets);
  std::erase_if(plan->exceeded, [](const plan::DeviceMemory& memory) { return !memory.is_exceeded(); });
  if (!plan->exceeded.empty()) return program;
  if (!has_warnings) plan->program = std::move(program);
  return nullptr;
}

struct WeighedPlacement {
  FoundPlacement plan;
  std::shared_ptr<const Program> apart;  ///< code of partitions as the search chose them, where even that is too large
};

/// The placement of a solution: joined, or apart where it fits only so.
WeighedPlacement weighed_placement(const SearchInput& input, const place::Solution& solution) {
  WeighedPlacement weighed{to_found_placement(input, solution, Joins::Yes), nullptr};
  std::shared_ptr<const Program> program = weigh(input, &weighed.plan);
  if (weighed.plan.exceeded.empty()) return weighed;
  FoundPlacement apart = to_found_placement(input, solution, Joins::No);
  const bool was_joined = apart.placement.partitions.size() > weighed.plan.placement.partitions.size();
  weighed.apart = was_joined ? weigh(input, &apart) : std::move(program);
  if (!was_joined) return weighed;
  if (apart.exceeded.empty()) return {std::move(apart), nullptr};
  weighed.plan.exceeded = std::move(apart.exceeded);
  return weighed;
}

/// One strategy, searched again while its plan does not fit into the memory of devices and hosts. `fits_at_once`: the first
/// did.
std::optional<FoundPlacement> find_fitting(const SearchInput& asked, const place::Strategy& strategy, std::string* why,
                                           bool* fits_at_once) {
  using Clock = std::chrono::steady_clock;
  constexpr int kAttempts = 7;  // with less and less memory
  constexpr int kLessons = 8;
  constexpr double kPartOfTime = 0.25;  // that a search after the first one has
  const Clock::time_point start = Clock::now();
  SearchInput input = asked;
  LearnedConstants learned(input.graph, input.priced != nullptr ? *input.priced : input.built);
  if (!input.limits.empty() && input.targets != nullptr) {
    input.options.excess = [&](const place::Solution& solution) {
      return excess_of_plan(asked, solution, learned.more(solution.chosen));
    };
  }
  const place::SearchOptions options = input.options;
  std::optional<FoundPlacement> plan;
  std::optional<Cost> bound;  // of the first search: later ones count more, or have too little memory
  for (int lowered = 0, lessons = 0; lowered < kAttempts;) {
    const double part = bound ? kPartOfTime : 1;
    input.options = options.with_part_of_time(part);
    const place::BuiltProblem& built = learned.built();
    *fits_at_once = !bound;
    std::optional<place::Solution> solution = solve(input, built, strategy, why);
    if (!solution) return plan;  // building it says what is missing
    if (input.objective->is_concurrent()) {
      input.options = options.with_part_of_time(part);
      solution->bound = improve(input, built, strategy, &*solution);
    }
    if (bound) {
      solution->bound = *bound;
      solution->optimal = place::is_exact(strategy) && solution->cost == *bound;
    }
    bound = solution->bound;
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    WeighedPlacement weighed = weighed_placement(input, *solution);
    plan = std::move(weighed.plan);
    plan->seconds = std::max(seconds, plan->solution.seconds);
    if (plan->exceeded.empty() || built.spread) return plan;
    if (weighed.apart != nullptr && lessons < kLessons && learned.learn(weighed.apart->built.plan, plan->chosen)) {
      ++lessons;
      continue;
    }
    lower_limits(plan->placement, plan->exceeded, lowered, &input.limits);
    ++lowered;
    if (lowered + 1 == kAttempts) take_all_memory(built.problem, &input.limits);
  }
  return plan;
}

enum class Baselines { Quick, All };

/// After searches that refused plans, or had limits that were too low: what a simpler strategy finds in the same memory may be
/// better, as is any plan that fits where this one does not.
void take_better_baseline(const SearchInput& input, Baselines baselines, FoundPlacement* plan) {
  using Kind = place::Strategy::Kind;
  SearchInput quick = input;
  quick.options = input.options.with_part_of_time(kPartOfSimplerPlans);
  std::vector<place::Strategy> simpler = {{Kind::Greedy, {}}, {Kind::Eager, {}}};
  if (baselines == Baselines::All) {
    simpler.push_back({Kind::Single, {"host"}});
    for (const auto& backend : input.built.backends) simpler.push_back({Kind::Single, {backend.backend}});
  }
  for (const place::Strategy& strategy : simpler) {
    std::string why;
    bool fits_at_once = false;
    std::optional<FoundPlacement> other = find_fitting(quick, strategy, &why, &fits_at_once);
    if (!other || !other->exceeded.empty()) continue;
    if (plan->exceeded.empty() && other->predicted >= plan->predicted) continue;
    other->bound = other->solution.bound = plan->bound;
    other->optimal = other->solution.optimal = other->predicted == plan->bound;
    other->solution.is_limited = true;
    other->seconds += plan->seconds;
    other->states += plan->states;
    *plan = std::move(*other);
  }
}

}  // namespace

std::optional<FoundPlacement> find_placement(const SearchInput& input, const place::Strategy& strategy,
                                             std::string* why) {
  why->clear();
  // No search can make up for what all memories together lack.
  if (has_limited_host(input)) *why = shortage_text(input);
  if (!why->empty()) return std::nullopt;
  bool fits_at_once = true;
  std::optional<FoundPlacement> plan = find_fitting(input, strategy, why, &fits_at_once);
  // The search refuses plans that it cannot foresee to be too large, and may end with none that is as good.
  const bool may_have_refused = plan && plan->solution.is_limited && !plan->optimal && !input.limits.empty();
  if (plan && place::is_exact(strategy) && (!fits_at_once || may_have_refused)) {
    constexpr size_t kFewNodes = 64;  // up to here strategies that search take little time
    const bool takes_all = !fits_at_once || input.graph.node_count() <= kFewNodes;
    take_better_baseline(input, takes_all ? Baselines::All : Baselines::Quick, &*plan);
  }
  if (plan && has_limited_host(input) && !plan->exceeded.empty()) {
    *why = excess_text(plan->exceeded);
    plan.reset();
  }
  if (!plan && why->empty()) *why = why_no_placement(input, strategy);
  return plan;
}

std::vector<std::pair<std::string, Cost>> simpler_plans(const SearchInput& input) {
  using Kind = place::Strategy::Kind;
  std::vector<std::pair<std::string, Cost>> plans;
  SearchInput quick = input;
  quick.options = input.options.with_part_of_time(kPartOfSimplerPlans);
  auto add = [&](const std::string& label, const place::Strategy& strategy) {
    std::string why;
    std::optional<FoundPlacement> plan = find_placement(quick, strategy, &why);
    if (!plan) return;
    const bool has_bounds = std::any_of(plan->chosen.begin(), plan->chosen.end(),
                                        [&](place::CandidateId c) { return input.built.origin(c).unmeasured; });
    plans.emplace_back(has_bounds ? label + " at least" : label, plan->predicted);
  };
  add("host only", {Kind::Single, {"host"}});
  // What greed takes depends on costs that were not measured then.
  if (input.built.lazy.not_needed == 0) add("greedy", {Kind::Greedy, {}});
  return plans;
}

}  // namespace collage::driver
