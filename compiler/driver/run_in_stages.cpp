// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/run_in_stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "compiler/driver/stage_commands.h"
#include "compiler/request/option_values.h"
#include "compiler/stages/staged_model.h"
#include "runtime/core/duration.h"
#include "runtime/runner/run_model.h"

namespace collage::driver {
namespace {

using support::Code;
using Clock = std::chrono::steady_clock;

/// A command or an option about one plan of the whole model; empty: there is none.
std::string whole_plan_option(const request::Request& request) {
  if (request.command == request::CommandName::Diff || request.command == request::CommandName::Simulate)
    return std::string(row_of(request.command).word);
  for (const request::OptionRow& row : request::option_table()) {
    if (!row.needs_whole_plan || !row.commands.has(request.command) || !request::is_given(row, request)) continue;
    const std::string_view name = name_of(row);
    // There are texts for each stage, and one table of all.
    if (name == "--output" && request.emit != request::Emit::All) continue;
    if (name == "--json" && request.command == request::CommandName::Compare) continue;
    return std::string(name);
  }
  return request.settings.strategy == "evolve" ? "--strategy=evolve" : "";
}

/// What does for each stage what the option does for a whole model; empty: nothing.
std::string_view instead_of(std::string_view option) {
  if (option == "--output")
    return "a package holds one plan; `--emit=graph -o NAME.ir --input NAME=FILE …` writes each stage as a model of "
           "its own";
  if (option == "--placement")
    return "`--place NODES=BACKEND` is about nodes of any stage; `--emit=graph -o NAME.ir` writes each stage as a "
           "model, which follows the file that `--save-placement` wrote for it";
  return "";
}

bool is_constrained(const request::Settings& settings) {
  return !settings.place.empty() || !settings.forbid.empty() || !settings.together.empty();
}

stages::StageSettings stage_settings(const StagedCommand& command) {
  stages::StageSettings settings{command.source.path(), command.rules, command.request.settings};
  settings.passes.disabled = command.request.passes.disabled;
  settings.checks = command.request.checks;
  settings.integer_steps = command.request.integer_steps;
  settings.keeps_stages = asks_about_stages(command.request) || is_constrained(command.request.settings);
  settings.listener = command.listener;
  return settings;
}

void print(const StagedCommand& command, std::string_view text) {
  if (command.output.result) command.output.result(text);
}

/// One run for each input of the batch. Returns nullopt after an error.
std::optional<runner::RunResult> run_all(const StagedCommand& command, stages::StagedModel& model,
                                         const std::vector<runner::BoundInput>& inputs) {
  runner::RunResult all;
  const int64_t runs = inputs.empty() ? 1 : inputs.front().batch;
  for (int64_t run = 0; run < runs; ++run) {
    auto outputs = model.run(runner::inputs_of_run(model.ports(), inputs, run));
    if (!outputs) {
      return command.diags.error_at(Code::RunFailed, command.source.path().string(), "{}", outputs.message());
    }
    all.outputs = std::move(*outputs);
    all.classes.push_back(runner::argmax(all.outputs.front()));
  }
  return all;
}

/// The times of whole runs: stages that they meet are made already.
bool bench(const StagedCommand& command, stages::StagedModel& model, const std::vector<runner::BoundInput>& inputs) {
  const std::vector<ir::Tensor> first = runner::inputs_of_run(model.ports(), inputs, 0);
  std::vector<double> seconds;
  const int runs = command.request.timed_runs();
  for (int run = 0; run < runs; ++run) {
    const Clock::time_point begin = Clock::now();
    auto outputs = model.run(first);
    if (!outputs) {
      return command.diags.error_at(Code::RunFailed, command.source.path().string(), "{}", outputs.message());
    }
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  std::sort(seconds.begin(), seconds.end());
  print(command, fmt::format("{:<12}{} median, {} to {} in {} runs\n", "bench",
                             runtime::human(runtime::Duration::seconds(seconds[seconds.size() / 2])),
                             runtime::human(runtime::Duration::seconds(seconds.front())),
                             runtime::human(runtime::Duration::seconds(seconds.back())), seconds.size()));
  return true;
}

/// Without inputs all that can be said is of the first stage.
void show_first_stage(const StagedCommand& command) {
  const import::ImportedStage& first = *command.model.first;
  const std::shared_ptr<const import::OnnxFile>& file = command.source.onnx();
  const runtime::Result<import::NodeView> node = file->node(file->graph(), first.ready.front());
  command.diags
      .warning_at(Code::NotConstant, node ? node->where : command.source.path().string(),
                  "{}: only the stage before it is known", import::decided_by_run(node ? *node : import::NodeView()))
      .note("with `--input NAME=FILE …` the model runs, and all stages are");
  if (first.graph.outputs().empty()) return;
  stages::KeptStage stage;
  stage.report = {"main", "", first.graph.node_count()};
  stage.report.runs = 1;
  stage.graph = first.graph;
  work_on_stages(command, {std::move(stage)});
}

}  // namespace

bool may_run_in_stages(const request::Request& request, const request::Specialisation& to,
                       const request::ModelSource& source, support::Diagnostics& diags) {
  const std::string option = whole_plan_option(request);
  if ((request.executes() || asks_about_stages(request)) && option.empty()) return true;
  source.specialise_whole(to, diags);  // says why there is no plan
  if (!option.empty()) {
    auto error = diags.error_at(Code::BadOption, option, "needs one plan of the whole model");
    if (const std::string_view instead = instead_of(option); !instead.empty()) error.note("{}", instead);
  }
  return false;
}

void run_in_stages(const StagedCommand& command) {
  if (!command.runs) return show_first_stage(command);
  stages::StagedModel model(command.source.onnx(), *command.model.first, command.model.bound, stage_settings(command),
                            static_cast<size_t>(command.request.model.kept_stages), command.diags);
  const request::Request& request = command.request;
  auto inputs =
      command.clock.time("inputs", [&] { return runner::bind_inputs(request.run, model.ports(), command.diags); });
  if (!inputs) return;
  auto result = command.clock.time("run", [&] { return run_all(command, model, *inputs); });
  if (!result) return;
  if (!check_constraints(request.settings, model.kept_stages(), command.diags)) return;
  const bool shows_run = request.emit == request::Emit::All && request.command != request::CommandName::Compare;
  if (shows_run) {
    print(command, print(model.reports()));
    if (request.checks)
      print(command, fmt::format("{:<12}every compiled stage agrees with the reference kernels\n", "check"));
    if (request.command == request::CommandName::Run) {
      const bool is_good = runner::judge_result(request.run, model.ports(), &*result, command.diags);
      print(command, runner::print(*result, model.ports()));
      if (!is_good) return;
    }
    const bool is_good = request.command != request::CommandName::Bench ||
                         command.clock.time("bench", [&] { return bench(command, model, *inputs); });
    if (!is_good) return;
  }
  if (asks_about_stages(request)) work_on_stages(command, model.kept_stages());
}

}  // namespace collage::driver
