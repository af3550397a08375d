// SPDX-License-Identifier: Apache-2.0
#include "compiler/search/evolve_placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>

#include "compiler/measure/stop.h"
#include "compiler/place/baselines/evolve.h"
#include "compiler/place/strategies.h"
#include "compiler/plan/check.h"
#include "compiler/program/plan_runner.h"
#include "compiler/request/graph_ports.h"
#include "compiler/search/placement_search.h"
#include "runtime/core/text.h"
#include "runtime/runner/time_plan.h"

namespace collage::search {
namespace {

using place::Genome;
using place::Solution;
using place::Strategy;
using Clock = std::chrono::steady_clock;

constexpr int kRunsOfOne = 5;  ///< of one evaluation
/// Runs of the seed and the best in turn: as many as fit into this time, within bounds.
constexpr double kFinalSeconds = 4;
constexpr int kLeastFinalRuns = 5;
constexpr int kMostFinalRuns = 21;
/// One of many evaluations; a whole search may take as many states as it likes.
constexpr uint64_t kMaxStates = 2'000;

/// Half the interquartile range.
double spread(const std::vector<double>& seconds) {
  return (runner::quantile(seconds, 0.75) - runner::quantile(seconds, 0.25)) / 2;
}

class PlacementEvolution {
 public:
  PlacementEvolution(const SearchInput& input, const FoundPlacement& seed, const plan::PlanTargets& targets,
                     std::vector<runtime::Tensor> operands, EvolveReport* report)
      : input_(input),
        listener_(input.listener != nullptr ? *input.listener : runner::WorkListener()),
        seed_(seed),
        targets_(targets),
        operands_(std::move(operands)),
        report_(report),
        genes_(input.built.problem, solution_of(seed)) {
    report->genes = genes_.choices().size();
  }

  /// Nothing where no other placement ran.
  std::optional<FoundPlacement> search(int evaluations) {
    evaluations_ = evaluations;
    std::vector<Genome> first{Genome(genes_.choices().size(), 0)};
    placements_.emplace(first[0], seed_);
    for (const Strategy& strategy :
         place::simpler_strategies(place::Simpler::All, place::backend_names(input_.built.problem))) {
      runtime::Result<FoundPlacement> found = PlacementSearch(input_, strategy).find();
      if (!found) continue;
      Genome genome = genes_.like(solution_of(*found));
      if (placements_.emplace(genome, std::move(*found)).second) first.push_back(std::move(genome));
    }
    const runner::WorkScope work(listener_, runner::Work::Measuring);
    place::EvolveOptions options;
    options.evaluations = evaluations;
    place::Evolved evolved = place::evolve(
        genes_.choices(), first, [&](const Genome& genome) { return fitness(genome, work); }, options);
    report_->evaluations = evolved.evaluations;
    report_->generations = evolved.generations;
    latency_ = evolved.fitness;
    // The seed is measured first; it may well be the best.
    if (evolved.best == first[0] || evolved.fitness == std::numeric_limits<double>::infinity()) return std::nullopt;
    FoundPlacement best = placements_.at(evolved.best);
    best.seconds = seed_.seconds;
    best.states = seed_.states;
    best.bound = seed_.bound;
    best.optimal = false;
    return best;
  }

  std::optional<program::PlanRunner> load(const FoundPlacement& found, support::Diagnostics& diags,
                                          const std::atomic<bool>* stop = nullptr) const {
    return program::load_runner(input_.graph, found.placement, targets_, input_.cache, diags, stop);
  }
  /// Runs the seed and the best in turn.
  runtime::Status run_finally(const std::vector<program::PlanRunner*>& runners) const {
    const runner::WorkScope work(listener_, runner::Work::Measuring);
    work.report(0, 0, runtime::counted(static_cast<int64_t>(runners.size()), "whole plan") + " in turn");
    return program::run_in_turn(runners, operands_, final_runs(), listener_.stop_measuring);
  }
  /// Whether someone stopped measuring: an error then.
  bool is_stopped(support::Diagnostics& diags) const {
    if (!is_stopped()) return false;
    diags.error_at(support::Code::Stopped, "evolve", "measuring was stopped")
        .note("nothing of it is kept; `--evolve-evaluations N` measures fewer plans");
    return true;
  }

 private:
  bool is_stopped() const { return measure::is_set(listener_.stop_measuring); }

  int final_runs() const {
    const double fitting = kFinalSeconds / std::max(latency_, 1e-9);
    return static_cast<int>(std::clamp<double>(fitting, kLeastFinalRuns, kMostFinalRuns));
  }

  static Solution solution_of(const FoundPlacement& found) {
    Solution solution;
    solution.chosen = found.chosen;
    return solution;
  }

  const FoundPlacement* placement_of(const Genome& genome) {
    const auto known = placements_.find(genome);
    if (known != placements_.end()) return &known->second;
    place::SearchOptions options = input_.options;
    options.max_states = std::min(options.max_states, kMaxStates);
    std::optional<Solution> solution = genes_.plan_of(genome, options);
    if (!solution) return nullptr;
    return &placements_.emplace(genome, to_found_placement(input_, *solution)).first->second;
  }

  double fitness(const Genome& genome, const runner::WorkScope& work) {
    constexpr double kDoesNotRun = std::numeric_limits<double>::infinity();
    if (is_stopped()) return kDoesNotRun;
    // Where no genome is new any more, there are fewer than were asked for.
    work.report(0, 0, fmt::format("whole plan {} of at most {}", ++tried_, evaluations_));
    // A placement that does not fit, for lack of memory for instance, is skipped without a diagnostic.
    support::SourceManager sources;
    support::Diagnostics quiet(sources);
    const FoundPlacement* found = placement_of(genome);
    std::optional<program::PlanRunner> runner;
    if (found != nullptr) runner = load(*found, quiet, listener_.stop_measuring);
    if (!runner || !program::run_in_turn({&*runner}, operands_, kRunsOfOne, listener_.stop_measuring)) {
      ++report_->failed;
      return kDoesNotRun;
    }
    return runner::median(runner->seconds);
  }

  const SearchInput& input_;
  const runner::WorkListener listener_;
  const FoundPlacement& seed_;
  const plan::PlanTargets& targets_;
  std::vector<runtime::Tensor> operands_;
  EvolveReport* report_;
  place::PlanGenes genes_;
  int evaluations_ = 0, tried_ = 0;
  double latency_ = 0;  ///< of the best, as it was measured first
  std::map<Genome, FoundPlacement> placements_;
};

}  // namespace

std::optional<FoundPlacement> evolve_placement(const SearchInput& input, const FoundPlacement& seed,
                                               const plan::PlanTargets& targets, const request::Settings& settings,
                                               const std::vector<runner::BoundInput>& inputs, EvolveReport* report,
                                               support::Diagnostics& diags) {
  const Clock::time_point start = Clock::now();
  PlacementEvolution evolution(input, seed, targets, runner::inputs_of_run(request::ports_of(input.graph), inputs, 0),
                               report);
  std::optional<FoundPlacement> best = evolution.search(settings.evolve_evaluations);
  if (evolution.is_stopped(diags)) return std::nullopt;
  std::optional<program::PlanRunner> seed_runner = evolution.load(seed, diags);
  if (!seed_runner) return std::nullopt;
  std::vector<program::PlanRunner*> turn{&*seed_runner};
  std::optional<program::PlanRunner> best_runner;
  if (best) best_runner = evolution.load(*best, diags);
  if (best_runner) turn.push_back(&*best_runner);
  const runtime::Status status = evolution.run_finally(turn);
  if (evolution.is_stopped(diags)) return std::nullopt;
  if (!status) {
    return diags.error_at(support::Code::RunFailed, input.graph.name, "{}", status.message());
  }
  report->seed_seconds = runner::median(seed_runner->seconds);
  report->noise = spread(seed_runner->seconds);
  if (best_runner) {
    report->best_seconds = runner::median(best_runner->seconds);
    report->noise = std::max(report->noise, spread(best_runner->seconds));
    const bool agrees = program::difference(best_runner->outputs, seed_runner->outputs) <= plan::kDefaultTolerance;
    report->is_kept = !agrees || report->best_seconds >= report->seed_seconds - report->noise;
  }
  report->seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return report->is_kept ? seed : *best;
}

std::string to_string(const EvolveReport& report) {
  const auto time = [](double seconds) { return human(Duration::seconds(seconds)); };
  const auto percent = [&](double seconds) { return fmt::format("{:.1f} %", 100 * seconds / report.seed_seconds); };
  std::string text =
      fmt::format("{} measured in {:.3g} s, {} over {}", runtime::counted(report.evaluations, "plan"), report.seconds,
                  runtime::counted(report.generations, "generation"), runtime::counted(report.genes, "partition"));
  if (report.failed > 0) text += fmt::format(", {} failed", report.failed);
  text += fmt::format(": optimal {}", time(report.seed_seconds));
  if (report.best_seconds <= 0) return text + ", nothing measured less";
  const double gain = report.seed_seconds - report.best_seconds;
  text += fmt::format(", best {} ({} {}, noise {})", time(report.best_seconds), percent(gain < 0 ? -gain : gain),
                      gain < 0 ? "more" : "less", percent(report.noise));
  return text + (report.is_kept ? ": the optimal plan stays" : "");
}

}  // namespace collage::search
