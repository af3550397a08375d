// SPDX-License-Identifier: Apache-2.0
// Runs a compiled model: `--check`, `--verify-costs`, `--run`, `--profile`, `--bench`.
#include "compiler/driver/commands/command.h"
#include "compiler/driver/commands/search_again.h"
#include "compiler/driver/input/graph_ports.h"
#include "compiler/driver/report/profile.h"
#include "compiler/driver/report/simulated.h"
#include "compiler/driver/report/verify_costs.h"
#include "compiler/driver/run/check_passes.h"
#include "compiler/execution/bench.h"
#include "compiler/execution/faults.h"
#include "compiler/execution/run_model.h"
#include "compiler/execution/trace.h"
#include "compiler/plan/check.h"
#include "compiler/support/write_file.h"
#include "runtime/exec/host_constants.h"

namespace collage::driver {
namespace {

using support::Code;

/// What is loaded, and what it was made of.
struct Loaded {
  Command& command;
  const ir::Graph& graph;
  const ir::Placement& placement;
  const Program& program;
  runtime::Executor& executor;
  execution::ModelPorts ports;
  std::optional<runtime::KnownRun> checked{};

  std::vector<ir::Tensor> first_inputs() const { return execution::inputs_of_run(ports, command.inputs, 0); }
};

/// Does a piece of work, with its begin and end reported to the listener.
template <typename Function>
auto reported(const Loaded& loaded, Work work, Function&& function) {
  const WorkScope scope(loaded.command.compilation.listener(), work);
  return function();
}

bool check(Loaded& loaded) {
  support::Diagnostics& diags = loaded.command.diags;
  const std::vector<ir::Tensor> inputs = loaded.first_inputs();
  auto report = reported(loaded, Work::Checking,
                         [&] { return plan::check_plan(loaded.graph, loaded.program.built, loaded.executor, inputs); });
  loaded.executor.observe({});
  if (!report) return diags.error_at(Code::RunFailed, loaded.graph.name, "{}", report.message());
  for (plan::CheckRow& row : check_passes(loaded.command.history, inputs, report->tolerance)) {
    report->rows.push_back(std::move(row));
  }
  loaded.command.print(plan::print(*report));
  plan::report_failures(*report, diags);
  if (!report->passed()) return false;
  auto outputs = loaded.executor.run(inputs);
  if (!outputs) return diags.error_at(Code::RunFailed, loaded.graph.name, "{}", outputs.message());
  loaded.checked = {inputs, std::move(*outputs)};
  return true;
}

bool verify(const Loaded& loaded) {
  constexpr int kUsualRuns = 20;
  const int runs = std::max(loaded.command.request.bench.runs, kUsualRuns);
  const LoadedPlan plan{loaded.graph, loaded.placement, loaded.command.compilation.targets(), loaded.program.built,
                        loaded.executor};
  auto report = reported(loaded, Work::Running, [&] { return verify_costs(plan, loaded.first_inputs(), runs); });
  if (!report) {
    return loaded.command.diags.error_at(Code::RunFailed, loaded.graph.name, "{}", report.message());
  }
  std::vector<std::string> shown;
  for (const VerifyRow& row : report->rows) shown.push_back(row.backend);
  loaded.command.print(print(*report) + simulated_line(loaded.command.compilation.activations(), shown));
  return true;
}

bool run(const Loaded& loaded) {
  Command& command = loaded.command;
  std::optional<execution::RunResult> result = execution::run_model(loaded.ports, command.inputs, loaded.executor,
                                                                    command.compilation.listener(), command.diags);
  if (!result) return false;
  const bool good = execution::judge_result(command.request.run, loaded.ports, &*result, command.diags);
  command.print(execution::print(*result, loaded.ports));
  return good;
}

bool profile(const Loaded& loaded) {
  const auto rows = static_cast<size_t>(loaded.command.request.profile);
  std::optional<Profile> measured =
      profile_model(loaded.program.built.plan, loaded.first_inputs(), loaded.executor, loaded.command.diags);
  if (measured) loaded.command.print(print(*measured, rows));
  return measured.has_value();
}

bool trace(const Loaded& loaded) {
  Command& command = loaded.command;
  const execution::TraceRequest& request = command.request.trace;
  const auto traced = reported(loaded, Work::Running, [&] {
    return execution::trace_model(loaded.first_inputs(), loaded.executor, command.diags);
  });
  if (!traced) return false;
  if (loaded.executor.losses().empty()) command.findings.trace = *traced;
  if (request.prints) command.print(execution::print(*traced));
  return execution::write_trace(request, *traced, command.diags);
}

/// The page of `--report` shows the steps of a run beside the times of `--bench`.
bool needs_trace(const Request& request) {
  return request.trace.is_asked() || (!request.report.empty() && request.bench.runs > 0);
}

bool bench(const Loaded& loaded) {
  Command& command = loaded.command;
  const BenchRequest& request = command.request.bench;
  std::optional<execution::BenchReport> report =
      execution::bench_model(loaded.program.built.plan, loaded.first_inputs(), request.runs, loaded.executor,
                             command.compilation.listener(), command.diags);
  if (!report) return false;
  command.print(execution::print(*report));
  if (loaded.executor.losses().empty()) command.findings.bench = *report;
  const Settings& settings = command.compilation.settings();
  return request.json.empty() ||
         write_file(request.json, to_json(*report, loaded.graph.name, settings.strategy, settings.threads),
                    command.diags);
}

void print_device_log(const Loaded& loaded) {
  for (const std::string& line : loaded.executor.device_log()) loaded.command.print(line + "\n");
}

/// Does what is asked for, up to the first failure.
void work(Loaded& loaded) {
  const Request& request = loaded.command.request;
  StageClock& clock = loaded.command.clock;
  if (request.checks && !clock.time("check", [&] { return check(loaded); })) return;
  if (request.verifies && !clock.time("verify", [&] { return verify(loaded); })) return;
  if (request.run.is_asked && !clock.time("run", [&] { return run(loaded); })) return;
  if (request.profile > 0 && !clock.time("profile", [&] { return profile(loaded); })) return;
  if (needs_trace(request) && !clock.time("trace", [&] { return trace(loaded); })) return;
  if (request.prints_device_log) print_device_log(loaded);
  if (request.bench.runs > 0) clock.time("bench", [&] { return bench(loaded); });
  loaded.command.print(execution::print_recovery(loaded.executor));
}

}  // namespace

bool read_faults(Command& command) {
  if (command.request.faults.empty()) return true;
  std::vector<std::string> spaces;
  for (const plan::DeviceTarget& device : command.compilation.targets().devices) spaces.push_back(device.spec.space);
  command.faults = execution::read_faults(command.request.faults, spaces, command.sources, command.diags);
  return command.faults != nullptr;
}

std::optional<runtime::KnownRun> execute(Command& command, const ir::Placement& placement, Program& program) {
  runtime::join_host_constants(program.built.plan);  // before the replanner copies the plan
  const runtime::LoadOptions options{.faults = command.faults};
  auto again = std::make_shared<SearchAgain>(command, placement, program, options);
  auto executor = command.clock.time("load", [&] {
    return load_program(program, command.compilation.settings().threads, command.diags, options, std::move(again));
  });
  if (executor == nullptr) return std::nullopt;
  Loaded loaded{command,   command.compilation.graph(),          placement, program,
                *executor, ports_of(command.compilation.graph())};
  work(loaded);
  for (const runtime::DeviceLoss& loss : executor->losses()) command.findings.lost.push_back(loss.text());
  return std::move(loaded.checked);
}

}  // namespace collage::driver
