// SPDX-License-Identifier: Apache-2.0
#include "compiler/search/evolve_placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>

#include "compiler/place/baselines/evolve.h"
#include "compiler/place/strategies.h"
#include "compiler/plan/check.h"
#include "compiler/program/plan_runner.h"
#include "compiler/request/graph_ports.h"
#include "compiler/search/placement_search.h"
#include "runtime/core/text.h"
#include "runtime/runner/time_plan.h"

namespace collage::driver {
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
        seed_(seed),
        targets_(targets),
        operands_(std::move(operands)),
        report_(report),
        genes_(input.built.problem, solution_of(seed)) {
    report->genes = genes_.choices().size();
  }

  /// Nothing where no other placement ran.
  std::optional<FoundPlacement> search(int evaluations) {
    std::vector<Genome> first{Genome(genes_.choices().size(), 0)};
    placements_.emplace(first[0], seed_);
    for (const Strategy& strategy :
         place::simpler_strategies(place::Simpler::All, place::backend_names(input_.built.problem))) {
      runtime::Result<FoundPlacement> found = PlacementSearch(input_, strategy).find();
      if (!found) continue;
      Genome genome = genes_.like(solution_of(*found));
      if (placements_.emplace(genome, std::move(*found)).second) first.push_back(std::move(genome));
    }
    place::EvolveOptions options;
    options.evaluations = evaluations;
    place::Evolved evolved = place::evolve(
        genes_.choices(), first, [&](const Genome& genome) { return fitness(genome); }, options);
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

  int final_runs() const {
    const double fitting = kFinalSeconds / std::max(latency_, 1e-9);
    return static_cast<int>(std::clamp<double>(fitting, kLeastFinalRuns, kMostFinalRuns));
  }

  std::optional<PlanRunner> load(const FoundPlacement& found, support::Diagnostics& diags) const {
    return load_runner(input_.graph, found.placement, targets_, input_.cache, diags);
  }
  const std::vector<runtime::Tensor>& operands() const { return operands_; }

 private:
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

  double fitness(const Genome& genome) {
    // A placement that does not fit, for lack of memory for instance, is skipped without a diagnostic.
    support::SourceManager sources;
    support::Diagnostics quiet(sources);
    const FoundPlacement* found = placement_of(genome);
    std::optional<PlanRunner> runner;
    if (found != nullptr) runner = load(*found, quiet);
    if (!runner || !run_in_turn({&*runner}, operands_, kRunsOfOne)) {
      ++report_->failed;
      return std::numeric_limits<double>::infinity();
    }
    return runner::median(runner->seconds);
  }

  const SearchInput& input_;
  const FoundPlacement& seed_;
  const plan::PlanTargets& targets_;
  std::vector<runtime::Tensor> operands_;
  EvolveReport* report_;
  place::PlanGenes genes_;
  double latency_ = 0;  ///< of the best, as it was measured first
  std::map<Genome, FoundPlacement> placements_;
};

}  // namespace

std::optional<FoundPlacement> evolve_placement(const SearchInput& input, const FoundPlacement& seed,
                                               const plan::PlanTargets& targets, const Settings& settings,
                                               const std::vector<runner::BoundInput>& inputs, EvolveReport* report,
                                               support::Diagnostics& diags) {
  const Clock::time_point start = Clock::now();
  PlacementEvolution evolution(input, seed, targets, runner::inputs_of_run(ports_of(input.graph), inputs, 0), report);
  std::optional<FoundPlacement> best = evolution.search(settings.evolve_evaluations);
  std::optional<PlanRunner> seed_runner = evolution.load(seed, diags);
  if (!seed_runner) return std::nullopt;
  std::vector<PlanRunner*> turn{&*seed_runner};
  std::optional<PlanRunner> best_runner;
  if (best) best_runner = evolution.load(*best, diags);
  if (best_runner) turn.push_back(&*best_runner);
  if (runtime::Status status = run_in_turn(turn, evolution.operands(), evolution.final_runs()); !status) {
    return diags.error_at(support::Code::RunFailed, input.graph.name, "{}", status.message());
  }
  report->seed_seconds = runner::median(seed_runner->seconds);
  report->noise = spread(seed_runner->seconds);
  if (best_runner) {
    report->best_seconds = runner::median(best_runner->seconds);
    report->noise = std::max(report->noise, spread(best_runner->seconds));
    const bool agrees = difference(best_runner->outputs, seed_runner->outputs) <= plan::kDefaultTolerance;
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

}  // namespace collage::driver
