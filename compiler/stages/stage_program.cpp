// SPDX-License-Identifier: Apache-2.0
#include "compiler/stages/stage_program.h"

#include <fmt/format.h>

#include <map>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/ops/op_def.h"
#include "compiler/plan/check.h"
#include "compiler/request/constraints.h"
#include "runtime/core/joined.h"

namespace collage::stages {
namespace {

using runtime::Result;
using runtime::Status;

/// Up to here the reference kernels take less than a millisecond or so, and compiling a hundred times as long.
constexpr double kLittleFlops = 2e5;
constexpr double kLittleBytes = 1 << 20;
/// How much more may be little where the code may be called once.
constexpr double kIfCalledOnce = 16;

std::string backends_of(const runtime::Plan& plan) {
  std::map<std::string, size_t> counts;
  for (const runtime::PlanPartition& partition : plan.partitions) ++counts[partition.backend];
  std::string text;
  for (const auto& [backend, count] : counts) runtime::add_to_list(text, fmt::format("{} {}", backend, count));
  return text;
}

}  // namespace

request::Settings settings_of_stage(const request::Settings& settings, const ir::Graph& graph, bool has_run_time_shapes,
                                    const support::Diagnostics& diags) {
  request::Settings of_stage = settings;
  if (has_run_time_shapes) of_stage.costs.mode = request::CostMode::Estimate;
  for (std::vector<std::string>* texts : {&of_stage.place, &of_stage.forbid, &of_stage.together}) {
    for (std::string& text : *texts)
      text = request::constraint_in_part(text, texts == &of_stage.together, graph, diags);
    std::erase(*texts, "");
  }
  return of_stage;
}

bool needs_compiling(const ir::Graph& graph, bool has_run_time_shapes, const request::Settings& of_stage) {
  if (!of_stage.place.empty() || !of_stage.forbid.empty() || !of_stage.together.empty()) return true;
  double flops = 0, bytes = 0;
  for (ir::NodeId node : graph.node_ids()) {
    flops += ir::work_of(graph, node).flops;
    bytes += ir::bytes_of(graph, node);
  }
  const double more = has_run_time_shapes ? kIfCalledOnce : 1;
  return flops > kLittleFlops * more || bytes > kLittleBytes * more;
}

std::unique_ptr<StageProgram> StageProgram::make(ir::Graph graph, bool has_run_time_shapes,
                                                 const StageSettings& settings, support::Diagnostics& diags) {
  std::unique_ptr<StageProgram> made(new StageProgram());
  made->graph_ = std::move(graph);
  made->operators_ = made->graph_.node_count();
  made->checks_ = settings.checks;
  made->integer_steps_ = settings.integer_steps;
  const bool is_whole = settings.compiles_little;
  request::Settings own =
      is_whole ? settings.settings : settings_of_stage(settings.settings, made->graph_, has_run_time_shapes, diags);
  if (!is_whole && !needs_compiling(made->graph_, has_run_time_shapes, own)) return made;
  return made->compile(std::move(own), settings, diags) ? std::move(made) : nullptr;
}

bool StageProgram::compile(request::Settings settings, const StageSettings& from, support::Diagnostics& diags) {
  compilation_ = compilation::Compilation::open({from.model, {graph_, {}}, {}}, from.rules, std::move(settings), diags);
  if (compilation_ == nullptr) return false;
  compilation_->set_listener(from.listener);
  if (!compilation_->run_passes(from.passes, diags)) return false;
  std::optional<compilation::Candidates> candidates = compilation_->find_candidates({}, nullptr, diags);
  if (!candidates) return false;
  std::optional<search::FoundPlacement> found =
      compilation_->find_placement(*candidates, compilation_->strategy(), diags);
  if (!found) return false;
  program::ProgramOptions options;
  options.is_strict = from.settings.is_strict;
  options.cache = compilation_->cache();
  options.listener = &compilation_->listener();
  program_ = program::build_program(compilation_->graph(), found->placement, compilation_->targets(), options, diags);
  if (!program_) return false;
  if (checks_ && !program_->parts.empty()) {
    return diags.error_at(support::Code::BadOption, "check", "stages of a model cannot be checked on several hosts");
  }
  backends_ = backends_of(program_->built.plan);
  executor_ = program::load_program(*program_, program::run_threads(*program_, compilation_->settings()), diags);
  return executor_ != nullptr;
}

Result<std::vector<ir::Tensor>> StageProgram::run(const std::vector<ir::Tensor>& inputs) {
  if (executor_ == nullptr) return ir::evaluate_graph(graph_, inputs);
  Result<std::vector<ir::Tensor>> outputs = executor_->run(inputs);
  if (!outputs || !checks_) return outputs;
  auto report = plan::check_plan(compilation_->graph(), program_->built, *executor_, inputs, plan::kDefaultTolerance,
                                 integer_steps_);
  executor_->observe({});
  if (!report) return report.status();
  if (!report->passed()) return Status::error("partitions differ from the reference kernels\n" + plan::print(*report));
  return outputs;
}

}  // namespace collage::stages
