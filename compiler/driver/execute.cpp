// SPDX-License-Identifier: Apache-2.0
// Runs a compiled model: `run`, `check`, `verify-costs`, `profile`, `trace`, `bench`.
#include "compiler/driver/bench_remarks.h"
#include "compiler/driver/command.h"
#include "compiler/driver/search_again.h"
#include "compiler/measure/conditions.h"
#include "compiler/plan/check.h"
#include "compiler/program/check_passes.h"
#include "compiler/program/local_hosts.h"
#include "compiler/report/profile.h"
#include "compiler/report/simulated.h"
#include "compiler/report/verify_costs.h"
#include "compiler/request/graph_ports.h"
#include "runtime/core/host_space.h"
#include "runtime/exec/host_constants.h"
#include "runtime/runner/bench.h"
#include "runtime/runner/faults.h"
#include "runtime/runner/run_json.h"
#include "runtime/runner/run_model.h"
#include "runtime/runner/trace.h"

namespace collage::driver {
namespace {

using support::Code;

/// What is loaded, and what it was made of.
struct Loaded {
  Command& command;
  const ir::Graph& graph;
  const ir::Placement& placement;
  const report::Report& report;
  const program::Program& program;
  runtime::Executor& executor;
  runner::ModelPorts ports;
  runtime::LocalHosts* others = nullptr;  ///< of a cluster, beside `executor`; null: there is one host
  std::optional<runtime::KnownRun> checked{};

  /// What each host runs, and its executor; of one host, all.
  std::vector<plan::CheckedPart> parts() const {
    std::vector<plan::CheckedPart> all{{program.first(), executor}};
    for (size_t host = 1; host < program.parts.size(); ++host) {
      all.push_back({program.parts[host], others->executor(host)});
    }
    return all;
  }

  std::vector<ir::Tensor> first_inputs() const { return runner::inputs_of_run(ports, command.inputs, 0); }
};

/// Does a piece of work, with its begin and end reported to the listener.
template <typename Function>
auto reported(const Loaded& loaded, runner::Work work, Function&& function) {
  const runner::WorkScope scope(loaded.command.compilation.listener(), work);
  return function();
}

bool check(Loaded& loaded) {
  support::Diagnostics& diags = loaded.command.diags;
  const std::vector<ir::Tensor> inputs = loaded.first_inputs();
  const int steps = loaded.command.request.integer_steps;
  auto report = reported(loaded, runner::Work::Checking, [&] {
    return plan::check_parts(loaded.graph, loaded.parts(), inputs, plan::kDefaultTolerance, steps);
  });
  if (!report) return diags.error_at(Code::RunFailed, loaded.graph.name, "{}", report.message());
  for (plan::CheckRow& row : program::check_passes(loaded.command.history, inputs, report->tolerance)) {
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
  const int runs = loaded.command.request.timed_runs();
  report::LoadedPlan plan{loaded.graph, loaded.placement, loaded.command.compilation.targets(), loaded.program.built,
                          loaded.executor};
  if (loaded.others != nullptr) plan.parts = loaded.parts();
  auto report =
      reported(loaded, runner::Work::Running, [&] { return report::verify_costs(plan, loaded.first_inputs(), runs); });
  if (!report) {
    return loaded.command.diags.error_at(Code::RunFailed, loaded.graph.name, "{}", report.message());
  }
  std::vector<std::string> shown;
  for (const report::VerifyRow& row : report->rows) shown.push_back(row.backend);
  loaded.command.print(print(*report) + loaded.command.note_on_models(shown));
  return true;
}

bool run(const Loaded& loaded) {
  Command& command = loaded.command;
  std::optional<runner::RunResult> result =
      runner::run_model(loaded.ports, command.inputs, loaded.executor, command.compilation.listener(), command.diags);
  if (!result) return false;
  const bool good = runner::judge_result(command.request.run, loaded.ports, &*result, command.diags);
  command.executed["run"] = runner::result_json(*result, loaded.ports);
  command.print(runner::print(*result, loaded.ports));
  return good;
}

/// Times the kernels of a part; those of one host are kept for the page. Returns nullopt after an error.
std::optional<report::Profile> profile_part(const Loaded& loaded, const plan::CheckedPart& part) {
  std::optional<report::Profile> measured = report::profile_model(
      {part.built.plan, part.executor, loaded.executor, &loaded.graph}, loaded.first_inputs(), loaded.command.diags);
  const bool is_kept = measured && loaded.others == nullptr && loaded.executor.losses().empty();
  if (is_kept) loaded.command.findings.profile = *measured;
  return measured;
}

bool profile(const Loaded& loaded) {
  const auto rows = static_cast<size_t>(loaded.command.request.profile_rows);
  for (const plan::CheckedPart& part : loaded.parts()) {
    const std::optional<report::Profile> measured = profile_part(loaded, part);
    if (!measured) return false;
    if (loaded.others != nullptr) {
      loaded.command.print(fmt::format("{:<12}{}\n", "host", runtime::host_space(part.built.plan.part.host)));
    }
    loaded.command.print(print(*measured, rows) + loaded.command.note_on_models(report::simulated_backends(*measured)));
  }
  return true;
}

bool trace(const Loaded& loaded) {
  Command& command = loaded.command;
  const runner::TraceRequest& request = command.request.trace;
  const auto traced = reported(loaded, runner::Work::Running, [&] {
    return runner::trace_model(loaded.first_inputs(), loaded.executor, command.diags);
  });
  if (!traced) return false;
  if (loaded.executor.losses().empty()) command.findings.trace = *traced;
  if (command.request.command == request::CommandName::Trace) command.print(runner::print(*traced));
  return runner::write_trace(request, *traced, command.diags);
}

/// The page of `--report` shows the steps of a run, and its kernels, beside the times of `bench`.
bool is_bench_with_page(const Loaded& loaded) {
  const request::Request& request = loaded.command.request;
  return !request.report.empty() && request.command == request::CommandName::Bench && loaded.others == nullptr;
}

bool bench(const Loaded& loaded) {
  Command& command = loaded.command;
  const request::Request& request = command.request;
  const int runs = request.timed_runs();
  const int threads = program::run_threads(loaded.program, command.compilation.settings());
  const measure::ConditionsWatch watch;
  std::optional<runner::BenchReport> report =
      runner::bench_model(loaded.program.first().plan, loaded.first_inputs(), runs, loaded.executor,
                          command.compilation.listener(), command.diags);
  if (!report) return false;
  const std::string disturbance = watch.disturbance(threads);
  if (loaded.executor.losses().empty()) command.findings.bench = *report;
  command.executed["threads"] = threads;
  command.executed["bench"] = runner::times_json(*report);
  if (!disturbance.empty()) command.executed["bench"]["disturbance"] = disturbance;
  command.print(runner::print(*report) +
                remarks_on_bench(command, loaded.placement, loaded.report, *report, disturbance));
  return true;
}

void print_device_log(const Loaded& loaded) {
  for (const plan::CheckedPart& part : loaded.parts()) {
    for (const std::string& line : part.executor.device_log()) loaded.command.print(line + "\n");
  }
}

/// Does what is asked for, up to the first failure.
void work(Loaded& loaded) {
  using enum request::CommandName;
  const request::Request& request = loaded.command.request;
  const request::CommandName command = request.command;
  StageClock& clock = loaded.command.clock;
  if (request.checks && !clock.time("check", [&] { return check(loaded); })) return;
  if (command == VerifyCosts && !clock.time("verify", [&] { return verify(loaded); })) return;
  if (command == Run && !clock.time("run", [&] { return run(loaded); })) return;
  if (command == Profile && !clock.time("profile", [&] { return profile(loaded); })) return;
  const bool has_page = is_bench_with_page(loaded);
  if ((command == Trace || has_page) && !clock.time("trace", [&] { return trace(loaded); })) return;
  if (request.prints_device_log) print_device_log(loaded);
  const bool is_timed = command == Bench && clock.time("bench", [&] { return bench(loaded); });
  if (is_timed && has_page && loaded.executor.losses().empty())
    clock.time("profile", [&] { return profile_part(loaded, loaded.parts().front()); });
  loaded.command.print(runner::print_recovery(loaded.executor));
}

}  // namespace

void inject_faults(const runner::Faults& faults, Command& command) {
  std::vector<std::string> spaces;
  for (const plan::DeviceTarget& device : command.compilation.targets().devices) spaces.push_back(device.spec.space);
  command.faults = runner::make_injector(faults, spaces, command.diags);
}

std::optional<runtime::KnownRun> execute(Command& command, const ir::Placement& placement, const report::Report& report,
                                         program::Program& program) {
  const int threads = program::run_threads(program, command.compilation.settings());
  const runtime::LoadOptions options{.faults = command.faults};
  runtime::LoadedHosts hosts = command.clock.time("load", [&]() -> runtime::LoadedHosts {
    if (!program.parts.empty())
      return program::load_hosts(program, threads, command.diags, options).value_or(runtime::LoadedHosts());
    runtime::join_host_constants(program.built.plan);  // before the replanner copies the plan
    auto again = std::make_shared<SearchAgain>(command, placement, program, options);
    return {program::load_program(program, threads, command.diags, options, std::move(again)), nullptr};
  });
  const std::unique_ptr<runtime::Executor>& executor = hosts.first;
  if (executor == nullptr) return std::nullopt;
  Loaded loaded{command,
                command.compilation.graph(),
                placement,
                report,
                program,
                *executor,
                request::ports_of(command.compilation.graph()),
                hosts.others.get()};
  work(loaded);
  for (const runtime::DeviceLoss& loss : executor->losses()) command.findings.lost.push_back(loss.text());
  return std::move(loaded.checked);
}

}  // namespace collage::driver
