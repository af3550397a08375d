// SPDX-License-Identifier: Apache-2.0
// One model under one set of rules and settings, from reading to a program. Each step returns a value that can be kept
// and given to later steps, several times and in any number:
//
//     Compilation::open  ->  run_passes  ->  find_candidates  ->  find_placement  ->  build_program  ->  load_program
//     model, rules           graph           Candidates           FoundPlacement           Program            Executor
//
// Nothing here prints or exits. Errors and warnings go to the Diagnostics that a step is given.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/passes/pass_manager.h"
#include "compiler/place/known/known_solutions.h"
#include "compiler/place/strategies.h"
#include "compiler/plan/targets.h"
#include "compiler/request/activate.h"
#include "compiler/request/model_file.h"
#include "compiler/request/phases.h"
#include "compiler/request/requests.h"
#include "compiler/request/rule_files.h"
#include "compiler/search/costs.h"
#include "compiler/search/found_placement.h"
#include "runtime/support/file_cache.h"

namespace collage::compilation {

/// The placement problem of a compilation, and what it was made from.
struct Candidates {
  ir::Placement written;  ///< partitions that are to be built as they are
  place::BuiltProblem built;
  std::optional<place::BuiltProblem> priced;  ///< where the objective has prices of its own
};

class Compilation {
 public:
  /// Decides which backends take part, and resolves the settings that name backends and devices. Returns null after
  /// errors.
  static std::unique_ptr<Compilation> open(request::ModelFile model, std::shared_ptr<const request::RuleFiles> rules,
                                           request::Settings settings, support::Diagnostics& diags);
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  /// Sets the listener that is informed of long work and may stop it; before `find_candidates`.
  void set_listener(runner::WorkListener listener) { listener_ = std::move(listener); }

  /// The passes that `run_passes` runs.
  passes::Schedule schedule() const;
  /// Once, before anything below. A model that comes with a placement stays as it is written. Returns what each pass
  /// did, nullopt after errors.
  std::optional<std::vector<passes::PassReport>> run_passes(const passes::PassOptions& options,
                                                            support::Diagnostics& diags);

  /// After the passes: another form of the model, with the constraints of the settings on its nodes. What was made of
  /// the former graph must not be used afterwards.
  void replace_graph(ir::Graph graph, std::vector<place::Constraint> constraints);

  /// The problem with the partitions of `written` kept and those of `offered`, if not null, among the candidates.
  /// Measures costs where the settings want it. Returns nullopt after errors.
  std::optional<Candidates> find_candidates(ir::Placement written, const ir::Placement* offered,
                                            support::Diagnostics& diags);
  /// Later candidates do without these instances. Without `keeps_places` also without what `--place` says. Matches and
  /// measured costs are kept. False after errors.
  bool leave_out(const std::vector<std::string>& instances, bool keeps_places, support::Diagnostics& diags);
  /// The candidates again, with the measured costs that their search did without; what was offered is not among them.
  /// Returns nullopt after errors.
  std::optional<Candidates> measure_all(const Candidates& candidates, support::Diagnostics& diags);
  /// What searches of these candidates start from. Refers to `candidates` and to this compilation.
  search::SearchInput search_input(const Candidates& candidates) const;

  /// The placement that a strategy finds, before anything is measured as a whole. `log`, if not null, gets what the
  /// search reached on its way. `compiles`: SearchInput::compiles. Returns nullopt after an error.
  std::optional<search::FoundPlacement> find_placement(const Candidates& candidates, const place::Strategy& strategy,
                                                       support::Diagnostics& diags, search::SearchLog* log = nullptr,
                                                       bool compiles = true) const;

  const request::ModelFile& file() const { return model_; }
  const sema::Model& model() const { return model_.model; }
  const ir::Graph& graph() const { return model_.model.graph; }
  const request::RuleFiles& rules() const { return *rules_; }
  const request::Settings& settings() const { return settings_; }
  const place::Strategy& strategy() const { return strategy_; }
  const std::vector<request::Activation>& activations() const { return activations_; }
  /// The activations that are not absent.
  const place::ActiveBackends& active() const { return active_; }
  const plan::PlanTargets& targets() const { return targets_; }
  const request::RewriteCounts& rewrites() const { return rewrites_; }
  const runner::WorkListener& listener() const { return listener_; }
  /// The cache of compiled code and solved searches; null where nothing is kept.
  support::FileCache* cache() const { return cache_.get(); }
  /// What measured the costs; null where they are estimated, or before `find_candidates`.
  const measure::MeasuredCosts* costs() const { return costs_ ? costs_->source.get() : nullptr; }
  /// Makes `find_candidates` take costs from there, all at once, instead of measuring. The source outlives the
  /// compilation.
  void take_costs_from(place::CostSource& source) { given_costs_ = &source; }
  /// As `costs`, to measure more.
  measure::MeasuredCosts* measuring() { return costs_ ? costs_->source.get() : nullptr; }
  /// Whether someone stopped measuring (WorkListener::stop_measuring): an error then, which says what is kept.
  bool is_stopped(support::Diagnostics& diags) const;
  /// What went wrong with kept costs since the last warning; `find_candidates` calls it, and who measures more does.
  void warn_of_costs(support::Diagnostics& diags);

 private:
  Compilation(request::ModelFile model, std::shared_ptr<const request::RuleFiles> rules, request::Settings settings);
  bool activate_backends(support::Diagnostics& diags);
  bool resolve_settings(support::Diagnostics& diags);
  void open_cache(support::Diagnostics& diags);
  bool resolve_constraints(support::Diagnostics& diags);
  std::vector<place::Constraint> all_constraints() const;
  void open_costs_once(support::Diagnostics& diags);
  bool measures_lazily() const;
  search::SearchInput search_input(const place::BuiltProblem& built, const ir::Placement& written) const;
  std::optional<place::BuiltProblem> build_problem(const ir::Placement& written, const ir::Placement* offered,
                                                   support::Diagnostics& diags);

  request::ModelFile model_;  ///< passes change its graph
  std::shared_ptr<const request::RuleFiles> rules_;
  request::Settings settings_;
  runner::WorkListener listener_;
  std::unique_ptr<support::FileCache> cache_;
  std::unique_ptr<place::KnownSolutions> solutions_;
  std::vector<request::Activation> activations_;
  place::ActiveBackends active_;
  plan::PlanTargets targets_;  ///< with the memory caps of the settings
  std::vector<place::MemoryLimit> memory_limits_;
  runtime::Machine machine_;
  place::Strategy strategy_;
  std::optional<std::vector<place::Constraint>> constraints_;
  std::vector<place::Constraint> left_out_;  ///< `leave_out`
  bool keeps_places_ = true;
  /// Matches in the graph after the passes: rules are matched once for all problems.
  std::optional<support::Table<place::BackendId, place::BackendMatches>> matches_;
  request::RewriteCounts rewrites_;
  std::optional<search::Costs> costs_;        ///< absent until they are needed
  place::CostSource* given_costs_ = nullptr;  ///< instead of these
};

}  // namespace collage::compilation
