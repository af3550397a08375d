// SPDX-License-Identifier: Apache-2.0
// The stages in order are `Pipeline::run`. Each stage expects what those before it left in the members and either goes
// on, has printed what was asked for (`--emit`), or has failed with diagnostics.
#include "compiler/driver/commands/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>

#include "compiler/codegen/jit.h"
#include "compiler/driver/commands/compare.h"
#include "compiler/driver/commands/explain.h"
#include "compiler/driver/explain/frequent_refusals.h"
#include "compiler/driver/input/activate.h"
#include "compiler/driver/input/constraints.h"
#include "compiler/driver/input/memory_caps.h"
#include "compiler/driver/input/model_file.h"
#include "compiler/driver/input/phases.h"
#include "compiler/driver/input/placement_file.h"
#include "compiler/driver/input/written_partitions.h"
#include "compiler/driver/output/write_model.h"
#include "compiler/driver/output/write_onnx.h"
#include "compiler/driver/report/candidate_stats.h"
#include "compiler/driver/report/json_report.h"
#include "compiler/driver/report/placement_diff.h"
#include "compiler/driver/report/profile.h"
#include "compiler/driver/report/report.h"
#include "compiler/driver/report/verify_costs.h"
#include "compiler/driver/run/run_model.h"
#include "compiler/driver/search/candidate_placement.h"
#include "compiler/driver/search/certificate.h"
#include "compiler/driver/search/costs.h"
#include "compiler/driver/search/evolve_placement.h"
#include "compiler/driver/search/find_placement.h"
#include "compiler/ir/print.h"
#include "compiler/ir/verify.h"
#include "compiler/measure/machine_limits.h"
#include "compiler/passes/pass_manager.h"
#include "compiler/place/build/build_problem.h"
#include "compiler/place/build/split_eligibility.h"
#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/objectives/objective.h"
#include "compiler/plan/build_plan.h"
#include "compiler/plan/check.h"
#include "compiler/plan/emit_c.h"
#include "compiler/plan/print_lowerings.h"
#include "compiler/plan/print_plan.h"
#include "compiler/sema/build_rules.h"
#include "compiler/support/check.h"
#include "compiler/support/write_file.h"
#include "runtime/plan/plan_schedule.h"

namespace collage::driver {
namespace {

namespace fs = std::filesystem;
using support::Code;

/// Enough for a plan that is good, not for its proof.
constexpr uint64_t kProbeStates = 1'000;
/// The search multiplies and adds to its budget of states.
constexpr uint64_t kBudgetMargin = 1024;

enum class Next { Stage, Done, Failed };

Next stage_if(bool good) {
  return good ? Next::Stage : Next::Failed;
}
Next done_if(bool good) {
  return good ? Next::Done : Next::Failed;
}

class Pipeline {
 public:
  Pipeline(const Options& options, const Listener& listener) : options_(options), listener_(listener) {}

  int run() {
    Next next = Next::Stage;
    auto stage = [&](std::string_view name, Next (Pipeline::*function)()) {
      if (next != Next::Stage) return;
      auto start = std::chrono::steady_clock::now();
      next = (this->*function)();
      times_.emplace_back(name, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    };
    stage("read model", &Pipeline::read_model);
    stage("read rules", &Pipeline::read_rules);
    stage("passes", &Pipeline::run_passes);
    stage("inputs", &Pipeline::read_inputs);
    stage("compare plans", &Pipeline::diff_plans);
    stage("candidates", &Pipeline::find_candidates);
    stage("compare", &Pipeline::compare);
    stage("explain", &Pipeline::explain);
    stage("search", &Pipeline::search);
    stage("plan", &Pipeline::build_plan);
    stage("write", &Pipeline::write_results);
    stage("load", &Pipeline::load_plan);
    stage("check", &Pipeline::check);
    stage("verify", &Pipeline::verify);
    stage("run", &Pipeline::run_model);
    stage("bench", &Pipeline::bench);
    if (options_.time_passes) print_times();
    fmt::print(stderr, "{}", diags_.render());
    return exit_code();
  }

 private:
  Next read_model();
  Next read_rules();
  Next run_passes();
  Next read_inputs();
  Next diff_plans();
  Next find_candidates();
  Next compare();
  Next explain();
  Next search();
  Next build_plan();
  Next write_results();
  Next load_plan();
  Next check();
  Next verify();
  Next run_model();
  Next bench();

  /// 2 where nothing but options is wrong.
  int exit_code() const {
    bool only_usage = true;
    for (const support::DiagnosticRecord& record : diags_.records()) {
      bool is_usage =
          record.code == Code::BadOption || record.code == Code::BadStrategy || record.code == Code::BadObjective;
      if (record.severity == support::Severity::Error && !is_usage) only_usage = false;
    }
    return !diags_.has_errors() ? 0 : only_usage ? 2 : 1;
  }
  bool runs() const {
    return options_.run || options_.check || options_.verify_costs || options_.bench > 0 || options_.profile > 0;
  }
  Next emit_model(const ir::Placement& placement);
  Next emit_text(std::string_view text);
  std::optional<ir::Placement> read_written(const std::string& plan_path);
  std::optional<ir::Placement> read_plan_beside(const std::string& path, const std::string& option);
  std::optional<place::BuiltProblem> build_problem(const ir::Placement& written, const ir::Placement* offered,
                                                   support::Diagnostics& diags);
  bool measures_lazily() const;
  SearchInput search_input(const place::BuiltProblem& built, const ir::Placement& written) const;
  bool search_placement();
  std::optional<FoundPlan> follow_candidate_plan(const place::Strategy& strategy, std::string* why);
  void consider_candidate_plan(const place::Strategy& strategy, FoundPlan* found);
  void remember(const FoundPlan& found, const place::Strategy& strategy);
  void fill_report();
  plan::PlanTargets targets() const;
  std::vector<place::MemoryLimit> memory_limits() const;
  void print_times() const;

  const Options& options_;
  const Listener& listener_;
  const place::Objective* objective_ = &place::objective_latency;  ///< read_model
  support::SourceManager sources_;
  support::Diagnostics diags_{sources_};
  std::vector<std::pair<std::string_view, double>> times_;
  std::string pass_times_;

  sema::Model model_;                ///< read_model; passes change its graph
  std::set<fs::path> weights_read_;  ///< read_model: never written over
  ir::RuleSet rules_;                ///< read_rules
  std::vector<BoundInput> inputs_;   ///< read_inputs
  std::vector<Activation> activations_;
  std::vector<place::MemoryLimit> memory_caps_;  ///< read_rules
  std::vector<place::ActiveBackend> active_;     ///< read_rules: activations that are not absent
  RewriteCounts rewrites_;                       ///< run_passes
  Costs costs_;                                  ///< build_problem
  ir::Placement written_;                        ///< find_candidates: partitions of the model or the plan
  ir::Placement offered_;                        ///< find_candidates: those of `--candidate-placement`
  place::BuiltProblem built_;
  place::BuiltProblem priced_;  ///< find_candidates, where the objective has prices
  ir::Placement placement_;     ///< search
  Report report_;
  std::unique_ptr<WorkScope> compiling_;  ///< build_plan
  size_t compiled_ = 0;                   ///< operators
  std::unique_ptr<codegen::Jit> jit_;     ///< build_plan
  plan::BuiltPlan plan_;
  std::unique_ptr<runtime::Executor> executor_;  ///< load_plan
};

Next Pipeline::read_model() {
  objective_ = place::parse_objective(options_.objective, "--objective", diags_);
  if (objective_ == nullptr) return Next::Failed;
  std::optional<sema::Model> model = read_model_file(options_, sources_, diags_);
  if (!model) return diags_.has_errors() ? Next::Failed : Next::Done;
  model_ = std::move(*model);
  weights_read_ = files_of_constants(model_.graph, fs::path(options_.model).parent_path().string());
  return Next::Stage;
}

Next Pipeline::read_rules() {
  std::optional<ir::RuleSet> rules = sema::load_rules(sources_, options_.rules, diags_);
  if (!rules) return Next::Failed;
  rules_ = std::move(*rules);
  if (!passes::check_phases(rules_, diags_)) return Next::Failed;
  std::optional<std::vector<Activation>> activations = activate(rules_, options_.targets, diags_);
  if (!activations || !allow_rounding(options_.allow, &*activations, diags_)) return Next::Failed;
  activations_ = std::move(*activations);
  for (const Activation& activation : activations_) {
    if (!options_.strict || activation.absent.empty()) continue;
    diags_.error_at(Code::BackendFailed, "--strict", "backend `{}` is absent: {}", activation.active.backend->name,
                    activation.absent);
  }
  for (const Activation& activation : activations_) {
    if (activation.absent.empty()) active_.push_back(activation.active);
  }
  std::optional<std::vector<place::MemoryLimit>> caps = read_memory_caps(options_.memory, targets(), diags_);
  if (!caps) return Next::Failed;
  memory_caps_ = std::move(*caps);
  return stage_if(!diags_.has_errors());
}

Next Pipeline::run_passes() {
  std::optional<passes::Schedule> schedule = pre_schedule(active_, diags_);
  if (!schedule) return Next::Failed;
  if (options_.print_passes) {
    fmt::print("{}", passes::to_string(*schedule));
    return Next::Done;
  }
  if (model_.placement.empty()) {
    passes::PassOptions pass_options;
    pass_options.disabled = options_.disabled_passes;
    pass_options.print_after = options_.print_after;
    pass_options.print = [](std::string_view text) { fmt::print("{}", text); };
    auto reports = passes::run_passes(model_.graph, runnable(*schedule, active_, &rewrites_), pass_options, diags_);
    if (!reports) return Next::Failed;
    pass_times_ = passes::to_string(*reports);
  }
  ir::verify(model_.graph);
  if (options_.emit == Emit::Graph) return emit_model(model_.placement);
  if (options_.emit == Emit::Onnx) return done_if(write_onnx(model_, options_.output, diags_));
  return options_.emit == Emit::Ir ? emit_model(model_.placement) : Next::Stage;
}

/// The model language, weights in a .safetensors beside it: to `-o`, or the text to standard output. There the stages
/// that are for looking at keep their weights in the text.
Next Pipeline::emit_model(const ir::Placement& placement) {
  fs::path model(options_.model), output(options_.output);
  bool to_file = !options_.output.empty();
  if (!to_file && options_.emit != Emit::Ir) return emit_text(ir::print(model_.graph, placement));
  std::string stem = (to_file ? output : model).stem().string();
  WeightsPlace place{output.parent_path().string(), stem, to_file, weights_read_};
  if (!move_weights_out(model_.graph, model.parent_path().string(), place, diags_)) return Next::Failed;
  return emit_text(ir::print(model_.graph, placement));
}

/// What `--emit` asked for: to `-o`, or to standard output.
Next Pipeline::emit_text(std::string_view text) {
  if (!options_.output.empty()) return write_file(options_.output, text, diags_) ? Next::Done : Next::Failed;
  fmt::print("{}", text);
  return Next::Done;
}

/// Before the work of compiling: a wrong file name should not cost the user a search.
Next Pipeline::read_inputs() {
  const place::StrategyRow* strategy = place::find_strategy(options_.strategy);
  const bool measures = strategy != nullptr && strategy->role == place::StrategyRow::Role::Measured;
  if (!runs() && !measures) return Next::Stage;
  std::optional<std::vector<BoundInput>> inputs = bind_inputs(options_, model_.graph, diags_);
  if (!inputs) return Next::Failed;
  inputs_ = std::move(*inputs);
  return Next::Stage;
}

/// Partitions that are to be built as written: those of the plan if a path is given, or else of the model.
std::optional<ir::Placement> Pipeline::read_written(const std::string& plan_path) {
  return plan_path.empty() ? model_.placement : read_plan_beside(plan_path, "--placement");
}

std::optional<ir::Placement> Pipeline::read_plan_beside(const std::string& path, const std::string& option) {
  if (model_.placement.empty()) return read_placement(path, model_.graph, sources_, diags_);
  return diags_.error_at(Code::BadOption, option, "the model has partitions of its own, and no plan can be followed");
}

/// The problem under the user's constraints.
std::optional<place::BuiltProblem> Pipeline::build_problem(const ir::Placement& written, const ir::Placement* offered,
                                                           support::Diagnostics& diags) {
  std::optional<std::vector<place::Constraint>> constraints = read_constraints(options_, model_.graph, diags);
  if (!constraints) return std::nullopt;
  place::BuildOptions build_options;
  build_options.constraints = std::move(*constraints);
  build_options.fixed = &written;
  if (!costs_.source) costs_ = open_costs(options_, active_, listener_, diags);
  build_options.costs = costs_.source.get();
  build_options.offered = offered;
  // `collage-check-certificate`, schedules and energies know candidates, not how they are joined.
  build_options.lists_regions = !options_.certificate.empty() || !objective_->sums_times();
  place::LazyMeasuring lazy;
  if (costs_.source && measures_lazily()) {
    lazy.machine = measure::machine_limits(options_.threads);
    lazy.solve = [&](const place::BuiltProblem& built, bool is_probe) {
      SearchInput input = search_input(built, written);
      if (is_probe) input.options.max_states = std::min(input.options.max_states, kProbeStates);
      return solve(input, input.built, {});
    };
    build_options.lazy = &lazy;
  }
  std::optional<place::BuiltProblem> built = place::build_problem(model_.graph, rules_, active_, diags, build_options);
  if (built) place::leave_out_splits(memory_limits(), why_no_splits(*objective_), &*built);
  return built;
}

/// Only the exact search can say which costs do not matter, and only if nothing else asks for them.
bool Pipeline::measures_lazily() const {
  const bool asks_for_all = options_.measure_all || options_.compare || !options_.diff_placements.empty() ||
                            !options_.why.empty() || !options_.why_not.empty() || options_.emit == Emit::Candidates;
  // Splits may be left out after the problem is built: what the plan then needs must be measured too.
  const bool has_splits = std::any_of(active_.begin(), active_.end(), [](const place::ActiveBackend& active) {
    return std::any_of(active.backend->rules.begin(), active.backend->rules.end(),
                       [](const ir::Rule& rule) { return !rule.splits.empty(); });
  });
  const place::StrategyRow* strategy = place::find_strategy(options_.strategy);
  const bool is_exact = strategy != nullptr && strategy->role == place::StrategyRow::Role::Exact;
  return !asks_for_all && !has_splits && is_exact && objective_->sums_times();
}

SearchInput Pipeline::search_input(const place::BuiltProblem& built, const ir::Placement& written) const {
  place::SearchOptions search_options;
  search_options.stop = listener_.stop;
  if (options_.max_states > 0) search_options.max_states = options_.max_states;
  if (options_.budget) {
    search_options.max_seconds = options_.budget;
    // Time alone is the limit then.
    if (options_.max_states == 0) search_options.max_states = UINT64_MAX / kBudgetMargin;
  }
  const plan::PlanTargets all = targets();
  std::vector<runtime::DeviceSpec> devices;
  for (const plan::DeviceTarget& device : all.devices) devices.push_back(device.spec);
  const place::BuiltProblem* priced = objective_->price != nullptr ? &priced_ : nullptr;
  return {model_.graph,    built,          rules_,     written,
          memory_limits(), search_options, objective_, runtime::machine_of(devices),
          priced,          &listener_};
}

Next Pipeline::diff_plans() {
  if (options_.diff_placements.empty()) return Next::Stage;
  std::vector<NamedPlacement> plans;
  for (const std::string& path : options_.diff_placements) {
    std::optional<ir::Placement> written = read_written(path);
    if (!written) return Next::Failed;
    std::optional<place::BuiltProblem> built = build_problem(*written, nullptr, diags_);
    if (!built) return Next::Failed;
    std::string why;
    std::optional<FoundPlan> plan = find_plan(search_input(*built, *written), {}, &why);
    if (!plan) {
      diags_.error_at(Code::NoPlan, path, "no placement was found: {}", why);
      return Next::Failed;
    }
    plans.push_back({path, std::move(*plan)});
  }
  return emit_text(print_placement_diff(model_.graph, plans[0], plans[1]));
}

Next Pipeline::find_candidates() {
  std::optional<ir::Placement> written = read_written(options_.placement);
  if (!written) return Next::Failed;
  written_ = std::move(*written);
  if (!options_.candidate_placement.empty()) {
    std::optional<ir::Placement> offered = read_plan_beside(options_.candidate_placement, "--candidate-placement");
    if (!offered) return Next::Failed;
    offered_ = std::move(*offered);
  }
  std::optional<place::BuiltProblem> built = build_problem(written_, &offered_, diags_);
  if (!built) return Next::Failed;
  built_ = std::move(*built);
  if (objective_->price != nullptr) {
    std::optional<place::BuiltProblem> priced = objective_->price(model_.graph, active_, built_, diags_);
    if (!priced) return Next::Failed;
    priced_ = std::move(*priced);
  }
  if (options_.emit != Emit::Candidates) return Next::Stage;
  return emit_text(place::print_candidates(model_.graph, built_));
}

Next Pipeline::compare() {
  if (!options_.compare) return Next::Stage;
  SearchInput input = search_input(built_, written_);
  std::optional<Comparison> comparison = compare_strategies(input, options_.strategy, diags_);
  if (!comparison) return Next::Failed;
  if (std::string why; !options_.candidate_placement.empty()) {
    std::optional<FoundPlan> followed = follow_candidate_plan({}, &why);
    if (followed) add_row(input, options_.candidate_placement, std::move(*followed), *comparison);
  }
  bool measures = options_.run || options_.bench > 0;
  if (measures && options_.evolve_evaluations > 0) {
    EvolveReport report;
    std::optional<FoundPlan> evolved =
        evolve_plan(input, *comparison->rows.front().plan, targets(), options_, inputs_, &report, diags_);
    if (!evolved) return Next::Failed;
    add_row(input, "evolve", std::move(*evolved), *comparison);
  }
  bool good = !measures || measure(input, targets(), options_, inputs_, *comparison, diags_);
  fmt::print("{}", options_.json ? comparison_json(model_.graph, to_json(*comparison)) : print(*comparison));
  if (!options_.compare_json.empty()) good &= write_file(options_.compare_json, to_json(*comparison), diags_);
  return good ? Next::Done : Next::Failed;
}

/// Questions about the placement, which are all that is asked then.
Next Pipeline::explain() {
  if (options_.why.empty() && options_.why_not.empty()) return Next::Stage;
  std::optional<Questions> questions = read_questions(options_, model_.graph, rules_, activations_, diags_);
  std::optional<place::Strategy> strategy =
      place::parse_strategy(options_.strategy, backend_names(built_.problem), "--strategy", diags_);
  if (!questions || !strategy) return Next::Failed;
  SearchInput input = search_input(built_, written_);
  std::string why;
  std::optional<FoundPlan> plan = find_plan(input, *strategy, &why);
  if (!plan) {
    diags_.error_at(Code::NoPlan, "--strategy=" + options_.strategy, "no placement was found: {}", why);
    return Next::Failed;
  }
  const ExplainedPlan explained{input, *strategy, active_, *plan, sources_, costs_.source != nullptr};
  if (!options_.json) return emit_text(answer_why(*questions, explained) + answer_why_not(*questions, explained));
  placement_ = plan->placement;
  remember(*plan, *strategy);
  fill_report();
  return emit_text(answers_json(model_.graph, placement_, report_, answer_why(*questions, explained),
                                answer_why_not(*questions, explained)));
}

Next Pipeline::search() {
  if (is_fully_placed(model_.graph, model_.placement)) {
    if (!options_.certificate.empty()) {
      diags_.error_at(Code::BadOption, "--certificate", "the model is placed already, and nothing is searched");
      return Next::Failed;
    }
    placement_ = complete_costs(model_.placement, built_);
    report_.searched = false;
  } else if (!search_placement()) {
    return Next::Failed;
  }
  fill_report();
  if (!options_.save_placement.empty() &&
      !write_file(options_.save_placement, print_placement(model_.graph, placement_), diags_))
    return Next::Failed;
  return options_.emit == Emit::Placement ? emit_model(placement_) : Next::Stage;
}

bool Pipeline::search_placement() {
  std::optional<place::Strategy> strategy =
      place::parse_strategy(options_.strategy, backend_names(built_.problem), "--strategy", diags_);
  if (!strategy) return false;
  SearchInput input = search_input(built_, written_);
  std::string why;
  const bool evolves = place::is_measured(*strategy);
  if (evolves) strategy = place::Strategy{};
  std::optional<FoundPlan> found = find_plan(input, *strategy, &why);
  if (!found) {
    return diags_.error_at(Code::NoPlan, "--strategy=" + options_.strategy, "no placement was found: {}", why);
  }
  if (!options_.certificate.empty() && !write_certificate(options_.certificate, input, found->solution, diags_)) {
    return false;
  }
  if (!options_.candidate_placement.empty()) consider_candidate_plan(*strategy, &*found);
  if (evolves) {
    EvolveReport evolved;
    found = evolve_plan(input, *found, targets(), options_, inputs_, &evolved, diags_);
    if (!found) return false;
    report_.evolved = to_string(evolved);
  }
  remember(*found, *strategy);
  report_.has_bound = report_.has_bound && !evolves;
  placement_ = std::move(found->placement);
  if (report_.has_bound && !active_.empty()) report_.baselines = simpler_plans(input);
  return true;
}

/// What the report says of the search.
void Pipeline::remember(const FoundPlan& found, const place::Strategy& strategy) {
  report_.search_seconds = found.seconds;
  report_.value = found.predicted;
  report_.bound = found.bound;
  report_.optimal = found.optimal;
  report_.has_bound = place::is_exact(strategy);
  report_.states = found.states;
  report_.is_stopped = listener_.stop != nullptr && *listener_.stop;
}

/// The user's own plan as it is, what it does not name searched.
std::optional<FoundPlan> Pipeline::follow_candidate_plan(const place::Strategy& strategy, std::string* why) {
  // That a constraint forbids the plan is no error: it is only offered.
  support::Diagnostics quiet(sources_);
  if (std::optional<place::BuiltProblem> built = build_problem(offered_, nullptr, quiet)) {
    return find_plan(search_input(*built, offered_), strategy, why);
  }
  if (!quiet.records().empty()) {
    const support::DiagnosticRecord& first = quiet.records().front();
    *why = first.where.empty() ? first.message : fmt::format("{}: {}", first.where, first.message);
  }
  return std::nullopt;
}

/// Holds the outcome against the user's own plan, and keeps the cheaper of the two.
void Pipeline::consider_candidate_plan(const place::Strategy& strategy, FoundPlan* found) {
  std::string why;
  std::optional<FoundPlan> followed = follow_candidate_plan(strategy, &why);
  PlanVerdict verdict = judge_candidate_plan(options_.candidate_placement, offered_, std::move(followed), why, found);
  report_.considered = to_string(verdict, found->predicted);
}

/// The predicted cost is the evaluator's, which shares nothing with the search.
void Pipeline::fill_report() {
  place::Verdict verdict = place::evaluate(model_.graph, placement_);
  COLLAGE_CHECK(std::holds_alternative<Duration>(verdict), "the plan does not hold: {}",
                std::get<std::string>(verdict));
  report_.strategy = options_.strategy;
  report_.rewrites = to_string(rewrites_);
  report_.predicted = std::get<Duration>(verdict);
  report_.objective = objective_;
  if (!report_.searched) report_.value = objective_value(search_input(built_, written_), placement_);
  report_.candidates = built_.problem.candidates.size();
  report_.distinct = count_distinct(model_.graph, built_);
  report_.truncated = count_truncated(built_);
  if (costs_.source) {
    const measure::MeasuringStats& stats = costs_.source->stats();
    report_.costs = costs_line(stats, built_.lazy);
    report_.not_needed = built_.lazy.not_needed;
    report_.measured = stats.measured;
    report_.cached = stats.from_cache;
  }
  size_t rule_count = 0;
  bool has_host = false;
  for (const Activation& activation : activations_) {
    const ir::Backend& backend = *activation.active.backend;
    rule_count += backend.rules.size();
    has_host |= backend.name == "host";
    report_.rule_summary +=
        fmt::format("{}{} {}", report_.rule_summary.empty() ? "" : ", ", backend.name, backend.rules.size());
    report_.backends.push_back({backend.name, activation.absent, backend.rules.size(), {}});
  }
  for (size_t i = 0; i < active_.size(); ++i) {
    for (BackendRow& row : report_.backends) {
      if (row.backend != active_[i].backend->name) continue;
      for (const FrequentRefusal& refusal : frequent_refusals(model_.graph, active_[i], built_.backends[i], sources_)) {
        row.refused.push_back(to_string(refusal));
      }
    }
  }
  if (!has_host) report_.backends.push_back({"host", "", 0, {}});
  report_.rule_summary += fmt::format("{}{} rules", rule_count == 0 ? "" : ": ", rule_count);
}

plan::PlanTargets Pipeline::targets() const {
  plan::PlanTargets targets = plan_targets(rules_, activations_, options_.threads);
  targets.is_concurrent = objective_->is_concurrent();
  apply(memory_caps_, targets);
  return targets;
}

std::vector<place::MemoryLimit> Pipeline::memory_limits() const {
  std::vector<place::MemoryLimit> limits;
  for (const plan::DeviceTarget& device : targets().devices) {
    if (device.capacity > 0) limits.push_back({device.spec.space, device.capacity});
  }
  return limits;
}

Next Pipeline::build_plan() {
  codegen::JitOptions jit_options;
  jit_options.threads = options_.threads;
  jit_options.keep_text = options_.emit == Emit::Llvm || options_.emit == Emit::Asm;
  compiling_ = std::make_unique<WorkScope>(listener_, Work::Compiling);
  jit_options.on_lower = [this](size_t nodes) {
    if (compiling_) compiling_->report(compiled_, model_.graph.node_count(), "operators");
    compiled_ += nodes;
  };
  runtime::Result<std::unique_ptr<codegen::Jit>> jit = codegen::Jit::create(jit_options);
  if (!jit) {
    diags_.error_at(Code::BackendFailed, "host", "{}", jit.message());
    return Next::Failed;
  }
  jit_ = std::move(*jit);
  std::optional<plan::BuiltPlan> built = plan::build_plan(model_.graph, placement_, targets(), *jit_, diags_);
  compiling_.reset();
  if (!built) return Next::Failed;
  plan_ = std::move(*built);
  report_.uncompiled = uncompiled_ops(plan_.plan);
  if (options_.strict && !plan_.fallbacks.empty()) {
    diags_.error_at(Code::BackendFailed, "--strict", "{} partitions fell back to the reference kernels",
                    plan_.fallbacks.size());
    return Next::Failed;
  }
  if (options_.dump_lowering) return emit_text(plan::print_lowerings(model_.graph, placement_, targets(), plan_));
  switch (options_.emit) {
    case Emit::Plan: return emit_text(plan::print_plan(plan_.plan));
    case Emit::C: {
      std::optional<std::string> text = plan::emit_c(model_.graph, placement_, targets(), plan_, diags_);
      return text ? emit_text(*text) : Next::Failed;
    }
    case Emit::Llvm: return emit_text(jit_->llvm_text());
    case Emit::Asm: return emit_text(jit_->asm_text());
    default: return Next::Stage;
  }
}

/// The placed model (until packages exist), `--placement-json`, and the summary.
Next Pipeline::write_results() {
  std::string output = options_.output;
  if (output.empty() && !runs()) output = fs::path(options_.model).stem().string() + ".collage";
  if (!output.empty()) {
    fs::path path(output);
    ir::Graph written = model_.graph;
    WeightsPlace place{path.parent_path().string(), path.filename().string(), true, weights_read_};
    std::optional<std::string> weights =
        move_weights_out(written, fs::path(options_.model).parent_path().string(), place, diags_);
    if (!weights) return Next::Failed;
    if (!write_file(output, ir::print(written, placement_), diags_)) return Next::Failed;
    report_.wrote = weights->empty() ? output : output + ", " + *weights;
  }
  if (!options_.placement_json.empty() &&
      !write_file(options_.placement_json, placement_json(model_.graph, placement_, report_), diags_)) {
    return Next::Failed;
  }
  const auto print_report = options_.json ? summary_json : summary;
  fmt::print("{}", print_report(model_.graph, placement_, report_));
  return runs() ? Next::Stage : Next::Done;
}

Next Pipeline::load_plan() {
  runtime::Result<std::unique_ptr<runtime::Executor>> executor =
      runtime::Executor::load(plan_.plan, *jit_, options_.threads);
  if (!executor) {
    diags_.error_at(Code::RunFailed, model_.graph.name, "{}", executor.message());
    return Next::Failed;
  }
  executor_ = std::move(*executor);
  return Next::Stage;
}

Next Pipeline::check() {
  if (!options_.check) return Next::Stage;
  auto work = std::make_unique<WorkScope>(listener_, Work::Checking);
  std::vector<ir::Tensor> inputs = inputs_of_run(model_.graph, inputs_, 0);
  runtime::Result<plan::CheckReport> report = plan::check_plan(model_.graph, plan_, *executor_, inputs);
  if (!report) {
    diags_.error_at(Code::RunFailed, model_.graph.name, "{}", report.message());
    return Next::Failed;
  }
  work.reset();
  fmt::print("{}", plan::print(*report));
  plan::report_failures(*report, diags_);
  executor_->observe({});
  return stage_if(report->passed());
}

Next Pipeline::verify() {
  if (!options_.verify_costs) return Next::Stage;
  constexpr int kUsualRuns = 20;
  const plan::PlanTargets all = targets();
  auto work = std::make_unique<WorkScope>(listener_, Work::Running);
  runtime::Result<VerifyReport> report =
      verify_costs({model_.graph, placement_, all, plan_, *executor_}, inputs_of_run(model_.graph, inputs_, 0),
                   std::max(options_.bench, kUsualRuns));
  if (!report) {
    diags_.error_at(Code::RunFailed, model_.graph.name, "{}", report.message());
    return Next::Failed;
  }
  work.reset();
  fmt::print("{}", print(*report));
  return Next::Stage;
}

Next Pipeline::run_model() {
  return options_.run ? stage_if(driver::run_model(options_, model_.graph, inputs_, *executor_, listener_, diags_))
                      : Next::Stage;
}

Next Pipeline::bench() {
  if (options_.profile > 0) {
    std::vector<ir::Tensor> inputs = inputs_of_run(model_.graph, inputs_, 0);
    auto rows = static_cast<size_t>(options_.profile);
    if (!profile_model(plan_.plan, inputs, rows, *executor_, diags_)) return Next::Failed;
  }
  if (options_.device_log) {
    for (const std::string& line : executor_->device_log()) fmt::print("{}\n", line);
  }
  if (options_.bench == 0) return Next::Stage;
  return stage_if(bench_model(options_, model_.graph, plan_.plan, inputs_, *executor_, listener_, diags_));
}

void Pipeline::print_times() const {
  for (const auto& [name, seconds] : times_) {
    fmt::print(stderr, "time        {:<14}{:>10.3f} ms\n", name, seconds * 1e3);
    if (name == "passes") fmt::print(stderr, "{}", pass_times_);
  }
}

}  // namespace

int run_pipeline(const Options& options, const Listener& listener) {
  return Pipeline(options, listener).run();
}

}  // namespace collage::driver
