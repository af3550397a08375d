// SPDX-License-Identifier: Apache-2.0
// From options to the command that they ask for.
#include <algorithm>

#include "compiler/driver/commands/command.h"
#include "compiler/driver/input/graph_ports.h"
#include "compiler/driver/quantize/quantize_model.h"
#include "compiler/passes/phases.h"

namespace collage::driver {
namespace {

using support::Code;

bool is_usage(const support::DiagnosticRecord& record) {
  return record.code == Code::BadOption || record.code == Code::BadStrategy || record.code == Code::BadObjective;
}

Verdict verdict_of(const support::Diagnostics& diags) {
  if (!diags.has_errors()) return Verdict::Done;
  const bool only_usage = std::all_of(diags.records().begin(), diags.records().end(), [](const auto& record) {
    return record.severity != support::Severity::Error || is_usage(record);
  });
  return only_usage ? Verdict::BadUsage : Verdict::BadInput;
}

bool run_passes(Command& command) {
  const PassRequest& request = command.request.passes;
  passes::PassOptions options;
  options.disabled = request.disabled;
  options.print_after = request.print_after;
  options.print = [&](std::string_view text) { command.print(text); };
  if (command.request.checks) options.history = &command.history;
  auto reports = command.clock.time("passes", [&] { return command.compilation.run_passes(options, command.diags); });
  if (reports) command.clock.add_details(passes::to_string(*reports));
  return reports.has_value();
}

bool quantize(Command& command) {
  const Request& request = command.request;
  if (!request.quantize.is_asked()) return true;
  command.quantized = command.clock.time(
      "quantise", [&] { return quantize_model(command.compilation, request.quantize, request.run, command.diags); });
  return command.quantized.has_value();
}

/// Inputs are read before the work of compiling: a wrong file name should not cost a search.
bool read_inputs(Command& command) {
  if (!command.request.executes() && !place::is_measured(command.compilation.strategy())) return true;
  auto inputs = command.clock.time("inputs", [&] {
    return execution::bind_inputs(command.request.run, ports_of(command.compilation.graph()), command.diags);
  });
  if (inputs) command.inputs = std::move(*inputs);
  return inputs.has_value();
}

void print_schedule(const Command& command) {
  std::optional<passes::Schedule> schedule = command.compilation.schedule(command.diags);
  if (schedule) command.print(passes::to_string(*schedule));
}

void run(Command& command) {
  const Request& request = command.request;
  if (request.passes.prints_schedule) return print_schedule(command);
  if (!run_passes(command) || !quantize(command)) return;
  if (is_shown_before_search(request.emit)) return show_model(command);
  if (!read_inputs(command) || !read_faults(command)) return;
  if (!request.placement.diff.empty()) return diff_placements(command);
  if (request.compare.is_asked) return compare(command);
  if (request.questions.is_asked() && request.emit != Emit::Candidates) return explain(command);
  compile(command);
}

void run(const Request& request, const Output& output, const WorkListener& listener, support::SourceManager& sources,
         support::Diagnostics& diags, StageClock& clock) {
  if (request.emit == Emit::Ast) {
    std::optional<std::string> text = print_model_ast(request.model, sources, diags);
    if (text && output.result) output.result(*text);
    return;
  }
  auto model = clock.time("read model", [&] { return read_model_file(request.model, sources, diags); });
  if (!model) return;
  auto compilation = clock.time("read rules", [&]() -> std::unique_ptr<Compilation> {
    std::shared_ptr<const RuleFiles> rules =
        read_rule_files(request.rules, sources, diags, request.settings.allows_outside);
    if (rules == nullptr) return nullptr;
    return Compilation::open(std::move(*model), std::move(rules), request.settings, diags);
  });
  if (compilation == nullptr) return;
  compilation->set_listener(listener);
  Command command{request, output, sources, diags, clock, *compilation};
  run(command);
}

}  // namespace

Outcome run_command(const Options& options, const Output& output, const WorkListener& listener) {
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  StageClock clock(listener.stage);
  if (std::optional<Request> request = read_request(options, diags)) {
    run(*request, output, listener, sources, diags, clock);
    if (request->prints_times && output.note) output.note(clock.text());
  }
  return {verdict_of(diags), diags.render()};
}

}  // namespace collage::driver
