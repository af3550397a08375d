// SPDX-License-Identifier: Apache-2.0
// The stages in order are `Pipeline::run`. Each stage expects what those before it left in the members and either goes
// on, has printed what was asked for (`--emit`), or has failed with diagnostics.
#include "compiler/driver/pipeline.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <set>

#include "compiler/codegen/jit.h"
#include "compiler/driver/activate.h"
#include "compiler/driver/candidate_stats.h"
#include "compiler/driver/costs.h"
#include "compiler/driver/model_file.h"
#include "compiler/driver/profile.h"
#include "compiler/driver/report.h"
#include "compiler/driver/run_model.h"
#include "compiler/driver/why_not.h"
#include "compiler/driver/write_file.h"
#include "compiler/driver/write_model.h"
#include "compiler/driver/write_onnx.h"
#include "compiler/driver/written_partitions.h"
#include "compiler/ir/print.h"
#include "compiler/ir/verify.h"
#include "compiler/passes/pass_manager.h"
#include "compiler/place/build_problem.h"
#include "compiler/place/coalesce.h"
#include "compiler/place/evaluate.h"
#include "compiler/place/fit_memory.h"
#include "compiler/place/strategies.h"
#include "compiler/place/to_placement.h"
#include "compiler/plan/build_plan.h"
#include "compiler/plan/check.h"
#include "compiler/plan/print_plan.h"
#include "compiler/sema/build_rules.h"
#include "compiler/support/check.h"

namespace collage::driver {
namespace {

namespace fs = std::filesystem;
using support::Code;

enum class Next { Stage, Done, Failed };

Next stage_if(bool good) {
  return good ? Next::Stage : Next::Failed;
}
Next done_if(bool good) {
  return good ? Next::Done : Next::Failed;
}

class Pipeline {
 public:
  explicit Pipeline(const Options& options) : options_(options) {}

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
    stage("candidates", &Pipeline::find_candidates);
    stage("search", &Pipeline::search);
    stage("plan", &Pipeline::build_plan);
    stage("write", &Pipeline::write_results);
    stage("load", &Pipeline::load_plan);
    stage("check", &Pipeline::check);
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
  Next find_candidates();
  Next search();
  Next build_plan();
  Next write_results();
  Next load_plan();
  Next check();
  Next run_model();
  Next bench();

  /// 2 where nothing but options is wrong.
  int exit_code() const {
    bool only_usage = true;
    for (const support::DiagnosticRecord& record : diags_.records()) {
      bool is_usage = record.code == Code::BadOption || record.code == Code::BadStrategy;
      if (record.severity == support::Severity::Error && !is_usage) only_usage = false;
    }
    return !diags_.has_errors() ? 0 : only_usage ? 2 : 1;
  }
  bool runs() const { return options_.run || options_.check || options_.bench > 0 || options_.profile > 0; }
  Next emit_ir();
  Next emit_text(std::string_view text);
  bool search_placement();
  bool may_join(const ir::Partition& partition) const;
  void fill_report();
  void compare_strategies(const place::Strategy& chosen, const place::SearchOptions& search_options);
  plan::PlanTargets targets() const;
  std::vector<place::MemoryLimit> memory_limits() const;
  void print_times() const;

  const Options& options_;
  support::SourceManager sources_;
  support::Diagnostics diags_{sources_};
  std::vector<std::pair<std::string_view, double>> times_;
  std::string pass_times_;

  sema::Model model_;                ///< read_model; passes change its graph
  std::set<fs::path> weights_read_;  ///< read_model: never written over
  ir::RuleSet rules_;                ///< read_rules
  std::vector<BoundInput> inputs_;   ///< read_inputs
  std::vector<Activation> activations_;
  std::vector<place::ActiveBackend> active_;  ///< find_candidates: activations that are not absent
  Costs costs_;                               ///< find_candidates
  place::BuiltProblem built_;
  ir::Placement placement_;  ///< search
  Report report_;
  std::unique_ptr<codegen::Jit> jit_;  ///< build_plan
  plan::BuiltPlan plan_;
  std::unique_ptr<runtime::Executor> executor_;  ///< load_plan
};

Next Pipeline::read_model() {
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
  std::optional<std::vector<Activation>> activations = activate(rules_, options_.targets, diags_);
  if (!activations) return Next::Failed;
  activations_ = std::move(*activations);
  for (const Activation& activation : activations_) {
    if (!options_.strict || activation.absent.empty()) continue;
    diags_.error_at(Code::BackendFailed, "--strict", "backend `{}` is absent: {}", activation.active.backend->name,
                    activation.absent);
  }
  return stage_if(!diags_.has_errors());
}

Next Pipeline::run_passes() {
  if (model_.placement.empty()) {
    passes::PassOptions pass_options;
    pass_options.disabled = options_.disabled_passes;
    pass_options.print_after = options_.print_after;
    pass_options.print = [](std::string_view text) { fmt::print("{}", text); };
    auto reports = passes::run_passes(model_.graph, passes::all_passes(), pass_options, diags_);
    if (!reports) return Next::Failed;
    pass_times_ = passes::to_string(*reports);
  }
  ir::verify(model_.graph);
  if (options_.emit == Emit::Graph) {
    return emit_text(ir::print(model_.graph, model_.placement));
  }
  if (options_.emit == Emit::Onnx) return done_if(write_onnx(model_, options_.output, diags_));
  return options_.emit == Emit::Ir ? emit_ir() : Next::Stage;
}

/// The model language, weights in a .safetensors beside it: to `-o`, or the text to standard output.
Next Pipeline::emit_ir() {
  fs::path model(options_.model), output(options_.output);
  bool to_file = !options_.output.empty();
  std::string stem = (to_file ? output : model).stem().string();
  WeightsPlace place{output.parent_path().string(), stem, to_file, weights_read_};
  if (!move_weights_out(model_.graph, model.parent_path().string(), place, diags_)) return Next::Failed;
  return emit_text(ir::print(model_.graph, model_.placement));
}

/// What `--emit` asked for: to `-o`, or to standard output.
Next Pipeline::emit_text(std::string_view text) {
  if (!options_.output.empty()) return write_file(options_.output, text, diags_) ? Next::Done : Next::Failed;
  fmt::print("{}", text);
  return Next::Done;
}

/// Before the work of compiling: a wrong file name should not cost the user a search.
Next Pipeline::read_inputs() {
  if (!runs()) return Next::Stage;
  std::optional<std::vector<BoundInput>> inputs = bind_inputs(options_, model_.graph, diags_);
  if (!inputs) return Next::Failed;
  inputs_ = std::move(*inputs);
  return Next::Stage;
}

Next Pipeline::find_candidates() {
  for (const Activation& activation : activations_) {
    if (activation.absent.empty()) active_.push_back(activation.active);
  }
  place::BuildOptions build_options;
  costs_ = open_costs(options_, active_, diags_);
  build_options.costs = costs_.source.get();
  std::optional<place::BuiltProblem> built =
      place::build_problem(model_.graph, rules_, active_, model_.placement, diags_, build_options);
  if (!built) return Next::Failed;
  built_ = std::move(*built);
  if (!options_.why_not.empty()) {
    return print_why_not(model_.graph, active_, built_, options_.why_not[0], options_.why_not[1], diags_)
               ? Next::Done
               : Next::Failed;
  }
  if (options_.emit != Emit::Candidates) return Next::Stage;
  return emit_text(place::print_candidates(model_.graph, built_));
}

Next Pipeline::search() {
  if (is_fully_placed(model_.graph, model_.placement)) {
    placement_ = complete_costs(model_.placement, built_);
    report_.searched = false;
  } else if (!search_placement()) {
    return Next::Failed;
  }
  fill_report();
  if (options_.emit != Emit::Placement) return Next::Stage;
  return emit_text(ir::print(model_.graph, placement_));
}

bool Pipeline::search_placement() {
  std::vector<std::string> names = {"host"};
  for (const place::ActiveBackend& active : active_) names.push_back(active.backend->name);
  std::optional<place::Strategy> strategy = place::parse_strategy(options_.strategy, names, "--strategy", diags_);
  if (!strategy) return false;
  place::SearchOptions search_options;
  if (options_.max_states > 0) search_options.max_states = options_.max_states;
  auto start = std::chrono::steady_clock::now();
  std::optional<place::Solution> solution =
      place::solve_within_memory(model_.graph, built_, memory_limits(), *strategy, search_options);
  report_.search_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!solution) {
    return diags_.error_at(Code::NoRoute, options_.model,
                           "no placement was found: some value cannot reach a place where it is needed");
  }
  report_.bound = solution->bound;
  report_.optimal = solution->optimal;
  report_.has_bound = strategy->kind == place::Strategy::Kind::Optimal;
  report_.states = solution->states;
  placement_ = place::to_placement(built_.problem, *solution, model_.graph, built_.values,
                                   [&](int c) { return built_.origins[static_cast<size_t>(c)].rules; });
  place::coalesce(model_.graph, placement_, [&](const ir::Partition& partition) { return may_join(partition); });
  keep_written_names(model_.placement, placement_);
  compare_strategies(*strategy, search_options);
  return true;
}

/// The backend's `coalesce`; partitions that the user wrote stay as they are.
bool Pipeline::may_join(const ir::Partition& partition) const {
  const ir::Backend* backend = rules_.find(partition.backend);
  if (backend == nullptr || !backend->policy.coalesce) return false;
  return std::none_of(model_.placement.partitions.begin(), model_.placement.partitions.end(),
                      [&](const ir::Partition& written) { return written.nodes == partition.nodes; });
}

/// The predicted cost is the evaluator's, which shares nothing with the search.
void Pipeline::fill_report() {
  place::Verdict verdict = place::evaluate(model_.graph, placement_);
  COLLAGE_CHECK(std::holds_alternative<Duration>(verdict), "the plan does not hold: {}",
                std::get<std::string>(verdict));
  report_.strategy = options_.strategy;
  report_.predicted = std::get<Duration>(verdict);
  report_.candidates = built_.problem.candidates.size();
  report_.distinct = count_distinct(model_.graph, built_);
  report_.truncated = count_truncated(built_);
  if (costs_.source) {
    const measure::MeasuringStats& stats = costs_.source->stats();
    report_.costs = costs_line(stats);
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
    report_.backends.push_back({backend.name, activation.absent, backend.rules.size(), ""});
  }
  for (size_t i = 0; i < active_.size(); ++i) {
    for (BackendRow& row : report_.backends) {
      if (row.backend == active_[i].backend->name) row.refused = most_frequent_refusal(built_.backends[i]);
    }
  }
  if (!has_host) report_.backends.push_back({"host", "", 0, ""});
  report_.rule_summary += fmt::format("{}{} rules", rule_count == 0 ? "" : ": ", rule_count);
}

/// What the simpler strategies would have cost: the price of not searching.
void Pipeline::compare_strategies(const place::Strategy& chosen, const place::SearchOptions& search_options) {
  if (chosen.kind != place::Strategy::Kind::Optimal || active_.empty()) return;
  auto add = [&](const std::string& label, const std::string& text) {
    std::optional<place::Strategy> strategy = place::parse_strategy(text, {"host"}, "", diags_);
    if (!strategy) return;
    if (auto solution = place::solve_within_memory(model_.graph, built_, memory_limits(), *strategy, search_options))
      report_.instead.emplace_back(label, solution->cost);
  };
  add("host only", "single:host");
  add("greedy", "greedy");
}

plan::PlanTargets Pipeline::targets() const {
  return plan_targets(rules_, activations_, options_.threads);
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
  runtime::Result<std::unique_ptr<codegen::Jit>> jit = codegen::Jit::create(jit_options);
  if (!jit) {
    diags_.error_at(Code::BackendFailed, "host", "{}", jit.message());
    return Next::Failed;
  }
  jit_ = std::move(*jit);
  std::optional<plan::BuiltPlan> built = plan::build_plan(model_.graph, placement_, targets(), *jit_, diags_);
  if (!built) return Next::Failed;
  plan_ = std::move(*built);
  report_.uncompiled = uncompiled_ops(plan_.plan);
  if (options_.strict && !plan_.fallbacks.empty()) {
    diags_.error_at(Code::BackendFailed, "--strict", "{} partitions fell back to the reference kernels",
                    plan_.fallbacks.size());
    return Next::Failed;
  }
  switch (options_.emit) {
    case Emit::Plan: return emit_text(plan::print_plan(plan_.plan));
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
  fmt::print("{}", summary(model_.graph, placement_, report_));
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
  std::vector<ir::Tensor> inputs = inputs_of_run(model_.graph, inputs_, 0);
  runtime::Result<plan::CheckReport> report = plan::check_plan(model_.graph, plan_, *executor_, inputs);
  if (!report) {
    diags_.error_at(Code::RunFailed, model_.graph.name, "{}", report.message());
    return Next::Failed;
  }
  fmt::print("{}", plan::print(*report));
  plan::report_failures(*report, diags_);
  executor_->observe({});
  return stage_if(report->passed());
}

Next Pipeline::run_model() {
  return options_.run ? stage_if(driver::run_model(options_, model_.graph, inputs_, *executor_, diags_)) : Next::Stage;
}

Next Pipeline::bench() {
  if (options_.profile > 0) {
    std::vector<ir::Tensor> inputs = inputs_of_run(model_.graph, inputs_, 0);
    auto rows = static_cast<size_t>(options_.profile);
    if (!profile_model(plan_.plan, inputs, rows, *executor_, diags_)) return Next::Failed;
  }
  return options_.bench > 0 ? stage_if(bench_model(options_, model_.graph, inputs_, *executor_, diags_)) : Next::Stage;
}

void Pipeline::print_times() const {
  for (const auto& [name, seconds] : times_) {
    fmt::print(stderr, "time        {:<14}{:>10.3f} ms\n", name, seconds * 1e3);
    if (name == "passes") fmt::print(stderr, "{}", pass_times_);
  }
}

}  // namespace

int run_pipeline(const Options& options) {
  return Pipeline(options).run();
}

}  // namespace collage::driver
