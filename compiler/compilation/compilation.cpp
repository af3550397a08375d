// SPDX-License-Identifier: Apache-2.0
#include "compiler/compilation/compilation.h"

#include <algorithm>
#include <limits>

#include "compiler/codegen/lower/has_code.h"
#include "compiler/ir/placement/verify.h"
#include "compiler/measure/machine_limits.h"
#include "compiler/place/build/split_eligibility.h"
#include "compiler/place/pipeline/spread.h"
#include "compiler/request/constraints.h"
#include "compiler/request/memory_caps.h"
#include "compiler/search/placement_search.h"
#include "runtime/core/text.h"

namespace collage::compilation {
namespace {

using support::Code;

/// As place::backend_names of the problem will list them.
std::vector<std::string> names_of(const place::ActiveBackends& active) {
  std::vector<std::string> names{"host"};
  for (const place::ActiveBackend& one : active) {
    if (one.backend->name != "host") names.push_back(one.backend->name);
  }
  return names;
}

bool has_splits(const place::ActiveBackend& active) {
  return std::any_of(active.backend->rules.begin(), active.backend->rules.end(),
                     [](const ir::Rule& rule) { return !rule.splits.empty(); });
}

std::vector<place::MemoryLimit> limits_of(const plan::PlanTargets& targets) {
  std::vector<place::MemoryLimit> limits;
  for (const auto* memories : {&targets.devices, &targets.hosts}) {
    for (const plan::DeviceTarget& memory : *memories) {
      if (memory.capacity > 0) limits.push_back({memory.spec.space, memory.capacity});
    }
  }
  return limits;
}

/// All devices, with the ways that copies ask for.
runtime::Machine machine_of(const plan::PlanTargets& targets) {
  runtime::Machine machine([topology = targets.topology](const std::string& from, const std::string& to) {
    const ir::Route* route = topology == nullptr ? nullptr : topology->find_copy(from, to);
    return route == nullptr ? std::vector<runtime::LinkHop>() : route->hops;
  });
  for (const plan::DeviceTarget& device : targets.devices) {
    machine.add_device(device.spec.space, device.spec.copy_queue);
  }
  return machine;
}

/// Returns the backends and devices that options name, nodes are pinned to, or a written placement has partitions on.
std::vector<std::string> named_backends(const request::Settings& settings, const request::ModelFile& model) {
  std::vector<std::string> names = settings.named_backends();
  for (ir::NodeId node : model.model.graph.node_ids()) {
    if (const auto& pin = model.model.graph.node(node).pin) names.push_back(pin->device);
  }
  for (const ir::Partition& partition : model.model.placement.partitions) names.push_back(partition.backend);
  return names;
}

}  // namespace

Compilation::Compilation(request::ModelFile model, std::shared_ptr<const request::RuleFiles> rules,
                         request::Settings settings)
    : model_(std::move(model)), rules_(std::move(rules)), settings_(std::move(settings)) {}

std::unique_ptr<Compilation> Compilation::open(request::ModelFile model,
                                               std::shared_ptr<const request::RuleFiles> rules,
                                               request::Settings settings, support::Diagnostics& diags) {
  std::unique_ptr<Compilation> made(new Compilation(std::move(model), std::move(rules), std::move(settings)));
  if (!made->activate_backends(diags) || !made->resolve_settings(diags)) return nullptr;
  made->open_cache(diags);
  return made;
}

/// Opens the cache. A default folder that cannot be used is not reported.
void Compilation::open_cache(support::Diagnostics& diags) {
  std::string folder = settings_.cache.value_or("");
  if (!settings_.cache && !support::user_cache_folder().empty()) folder = support::user_cache_folder() + "/compiled";
  if (!folder.empty()) {
    cache_ = std::make_unique<support::FileCache>(folder);
    const std::string why = settings_.cache ? cache_->why_unusable() : "";
    if (!why.empty()) {
      diags.warning_at(Code::CannotWrite, folder, "what is compiled cannot be kept there: {}", why)
          .note("`--cache FOLDER` names another folder, `--cache=` none");
    }
  }
  solutions_ = std::make_unique<place::KnownSolutions>(cache_.get());
}

bool Compilation::activate_backends(support::Diagnostics& diags) {
  if (const std::string why = codegen::cpu_obstacle(settings_.code.cpu); !why.empty()) {
    return diags.error_at(Code::BadOption, "--cpu", "{}", why);
  }
  std::optional<std::vector<request::Activation>> activations = request::activate(
      rules_->rules, {settings_.targets, rules_->paths, named_backends(settings_, model_), settings_.allows_simulated},
      diags, settings_.code,
      {settings_.allows_code, settings_.allows_code || settings_.costs.mode == request::CostMode::Estimate,
       settings_.allows_outside});
  if (!activations || !request::allow_rounding(settings_.allow, &*activations, diags)) return false;
  activations_ = std::move(*activations);
  bool good = true;
  for (const request::Activation& activation : activations_) {
    if (activation.absent.empty()) {
      active_.push_back(activation.active);
      active_.back().has_code = codegen::has_code;
    } else if (settings_.is_strict && !activation.is_unnamed_model) {
      good = diags.error_at(Code::BackendFailed, "--strict", "backend `{}` is absent: {}",
                            activation.active.backend->name, activation.absent);
    }
  }
  return good;
}

bool Compilation::resolve_settings(support::Diagnostics& diags) {
  targets_ = request::plan_targets(rules_->rules, activations_, settings_.threads);
  targets_.code = settings_.code;
  targets_.is_concurrent = settings_.objective->is_concurrent();
  std::optional<std::vector<place::MemoryLimit>> caps = request::read_memory_caps(settings_.memory, targets_, diags);
  std::optional<place::Strategy> strategy =
      place::parse_strategy(settings_.strategy, names_of(active_), "--strategy", diags);
  if (!caps || !strategy) return false;
  request::apply_memory_caps(*caps, targets_);
  memory_limits_ = limits_of(targets_);
  if (targets_.is_concurrent) machine_ = machine_of(targets_);
  strategy_ = std::move(*strategy);
  return true;
}

passes::Schedule Compilation::schedule() const {
  return request::pre_schedule(active_);
}

std::optional<std::vector<passes::PassReport>> Compilation::run_passes(const passes::PassOptions& options,
                                                                       support::Diagnostics& diags) {
  std::optional<std::vector<passes::PassReport>> reports(std::in_place);
  if (model_.model.placement.empty()) {
    reports =
        passes::run_passes(model_.model.graph, request::runnable(schedule(), active_, &rewrites_), options, diags);
  }
  if (reports) ir::verify(model_.model.graph);
  return reports;
}

void Compilation::replace_graph(ir::Graph graph, std::vector<place::Constraint> constraints) {
  matches_.reset();
  model_.model.graph = std::move(graph);
  constraints_ = std::move(constraints);
  ir::verify(model_.model.graph);
}

bool Compilation::resolve_constraints(support::Diagnostics& diags) {
  if (!constraints_) constraints_ = request::read_constraints(settings_, graph(), diags);
  return constraints_.has_value();
}

bool Compilation::leave_out(const std::vector<std::string>& instances, bool keeps_places, support::Diagnostics& diags) {
  left_out_.clear();
  keeps_places_ = keeps_places;
  for (const std::string& instance : instances) {
    std::optional<std::vector<place::Constraint>> forbidden =
        request::read_constraints({.forbid = {"*=" + instance}}, graph(), diags);
    if (!forbidden) return false;
    left_out_.insert(left_out_.end(), forbidden->begin(), forbidden->end());
  }
  return true;
}

std::vector<place::Constraint> Compilation::all_constraints() const {
  std::vector<place::Constraint> all = *constraints_;
  if (!keeps_places_) std::erase_if(all, [](const auto& one) { return one.kind == place::Constraint::Kind::Place; });
  all.insert(all.end(), left_out_.begin(), left_out_.end());
  return all;
}

void Compilation::open_costs_once(support::Diagnostics& diags) {
  if (!costs_) costs_ = search::open_costs(settings_, rules_->paths, active_, cache(), listener_, diags);
}

/// Only the exact search can say which costs do not matter, and only if nothing else asks for them. Splits may be left
/// out after the problem is built: what the placement then needs must be measured too.
bool Compilation::measures_lazily() const {
  return !settings_.costs.measures_all && place::is_exact(strategy_) && settings_.objective->sums_times() &&
         std::none_of(active_.begin(), active_.end(), has_splits);
}

std::optional<place::BuiltProblem> Compilation::build_problem(const ir::Placement& written,
                                                              const ir::Placement* offered,
                                                              support::Diagnostics& diags) {
  if (!resolve_constraints(diags)) return std::nullopt;
  const size_t errors = diags.error_count();
  if (given_costs_ == nullptr) open_costs_once(diags);
  if (diags.error_count() > errors) return std::nullopt;
  if (!matches_) {
    matches_.emplace();
    for (const place::ActiveBackend& active : active_) matches_->push_back(place::match_rules(graph(), active));
  }
  place::BuildOptions options;
  options.matches = &*matches_;
  options.constraints = all_constraints();
  options.fixed = &written;
  options.costs = given_costs_ != nullptr ? given_costs_ : costs_->source.get();
  options.offered = offered;
  options.has_code = codegen::has_code;
  // Schedules and energies know candidates, not how they are joined.
  options.lists_regions = !settings_.objective->sums_times();
  place::LazyMeasuring lazy;
  if (costs_ && costs_->source != nullptr && measures_lazily()) {
    // Nothing bounds what another machine can do.
    constexpr double kUnbounded = std::numeric_limits<double>::infinity();
    lazy.machine = costs_->source->is_for_here() ? measure::machine_limits(settings_.threads)
                                                 : place::MachineLimits{kUnbounded, kUnbounded};
    lazy.solve = [&](const place::BuiltProblem& built, bool is_probe) {
      search::SearchInput input = search_input(built, written);
      input.options.is_probe = is_probe;
      return search::PlacementSearch(input).solve(input.built).to_optional();
    };
    options.lazy = &lazy;
  }
  std::optional<place::BuiltProblem> built = place::build_problem(graph(), rules_->rules, active_, diags, options);
  warn_of_costs(diags);
  if (is_stopped(diags)) return std::nullopt;
  if (built) {
    place::leave_out_splits(memory_limits_, place::why_no_splits(*settings_.objective), &*built);
    place::SearchOptions search = settings_.search();
    search.stop = listener_.stop;
    place::spread_over_instances({graph(), active_, memory_limits_, options.constraints, *settings_.objective, search},
                                 &*built);
  }
  return built;
}

bool Compilation::is_stopped(support::Diagnostics& diags) const {
  if (costs() == nullptr || !costs()->is_stopped()) return false;
  const size_t kept = costs()->kept();
  auto error = diags.error_at(Code::Stopped, "costs", "measuring was stopped");
  if (kept > 0) {
    error.note("{} {} kept; run again to go on", runtime::counted(kept, "cost"), kept == 1 ? "is" : "are");
  } else {
    error.note("no cost was measured that is kept");
  }
  return true;
}

void Compilation::warn_of_costs(support::Diagnostics& diags) {
  if (!costs_ || costs_->source == nullptr) return;
  search::warn_of_refused(settings_, costs_->source->take_refused(), diags);
  search::warn_of_unkept(settings_, costs_->database.get(), diags);
  search::warn_of_fleet(settings_, costs_->fleet.get(), diags);
}

std::optional<Candidates> Compilation::find_candidates(ir::Placement written, const ir::Placement* offered,
                                                       support::Diagnostics& diags) {
  std::optional<place::BuiltProblem> built = build_problem(written, offered, diags);
  if (!built) return std::nullopt;
  Candidates found{std::move(written), std::move(*built), std::nullopt};
  if (settings_.objective->price == nullptr) return found;
  found.priced = settings_.objective->price(graph(), active_, found.built, diags);
  if (!found.priced) return std::nullopt;
  return found;
}

std::optional<Candidates> Compilation::measure_all(const Candidates& candidates, support::Diagnostics& diags) {
  settings_.costs.measures_all = true;
  return find_candidates(candidates.written, nullptr, diags);
}

search::SearchInput Compilation::search_input(const place::BuiltProblem& built, const ir::Placement& written) const {
  search::SearchInput input{
      graph(),  built,   rules_->rules, written,      memory_limits_, settings_.search(), settings_.objective,
      machine_, nullptr, &listener_,    cache_.get(), &targets_};
  input.options.stop = listener_.stop;
  input.options.known = solutions_.get();
  return input;
}

search::SearchInput Compilation::search_input(const Candidates& candidates) const {
  search::SearchInput input = search_input(candidates.built, candidates.written);
  input.priced = candidates.priced ? &*candidates.priced : nullptr;
  input.compiles = true;
  return input;
}

std::optional<search::FoundPlacement> Compilation::find_placement(const Candidates& candidates,
                                                                  const place::Strategy& strategy,
                                                                  support::Diagnostics& diags, search::SearchLog* log,
                                                                  bool compiles) const {
  search::SearchInput input = search_input(candidates);
  input.log = log;
  input.compiles = compiles;
  runtime::Result<search::FoundPlacement> found = search::PlacementSearch(input, strategy).find();
  const std::string option = "--strategy=" + settings_.strategy;
  if (!found) return diags.error_at(Code::NoPlacement, option, "no placement was found: {}", found.message());
  if (!found->solution.given_up.empty()) diags.warning_at(Code::NoPlacement, option, "{}", found->solution.given_up);
  return std::move(*found);
}

}  // namespace collage::compilation
