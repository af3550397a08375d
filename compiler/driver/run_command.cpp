// SPDX-License-Identifier: Apache-2.0
// From a request to the command that it asks for.
#include <algorithm>
#include <filesystem>

#include "compiler/driver/command.h"
#include "compiler/driver/run_in_stages.h"
#include "compiler/page/write_report.h"
#include "compiler/passes/phases.h"
#include "compiler/quantize_search/quantize_model.h"
#include "compiler/request/bindings.h"
#include "compiler/request/graph_ports.h"
#include "compiler/request/option_table.h"
#include "compiler/request/outputs.h"
#include "compiler/shapes/padded_sizes.h"
#include "runtime/core/joined.h"
#include "runtime/package/package.h"
#include "runtime/support/write_file.h"

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
  const request::PassRequest& request = command.request.passes;
  passes::PassOptions options;
  options.disabled = request.disabled;
  options.print_after = request.print_after;
  options.print = [&](std::string_view text) { command.print(text); };
  const bool compares = command.request.checks || command.request.command == request::CommandName::Bisect;
  if (compares) options.history = &command.history;
  auto reports = command.clock.time("passes", [&] { return command.compilation.run_passes(options, command.diags); });
  if (reports) command.clock.add_details(passes::to_string(*reports));
  return reports.has_value();
}

bool quantize(Command& command) {
  const request::Request& request = command.request;
  if (!request.quantize.is_asked()) return true;
  command.quantized = command.clock.time("quantise", [&] {
    return quantize_search::quantize_model(command.compilation, request.quantize, request.run, command.diags);
  });
  return command.quantized.has_value();
}

/// Inputs are read before the work of compiling: a wrong file name should not cost a search.
bool read_inputs(Command& command) {
  if (command.is_stage) return true;
  if (!command.request.executes() && !place::is_measured(command.compilation.strategy())) {
    return runner::check_input_names(command.request.run, request::ports_of(command.compilation.graph()),
                                     command.diags);
  }
  auto inputs = command.clock.time("inputs", [&] {
    return runner::bind_inputs(command.request.run, request::ports_of(command.compilation.graph()), command.diags);
  });
  if (inputs) command.inputs = std::move(*inputs);
  return inputs.has_value();
}

/// States the shapes of inputs that the model leaves open: a certificate is about them.
void keep_shapes(const ir::Graph& graph, const std::vector<ir::OpenInput>& inputs, request::ModelRequest& request) {
  request.bindings.clear();
  for (const ir::OpenInput& input : inputs) {
    const ir::ValueId value = graph.find_value(input.name);
    if (!input.is_open() || !value.is_valid() || !graph.value(value).is_input) continue;
    ir::ShapeBinding binding{input.name, {}, "--shape " + input.name};
    for (int64_t size : graph.value(value).type.shape) binding.sizes.push_back({size, size});
    request.bindings.push_back(std::move(binding));
  }
}

void print_schedule(const Command& command) {
  command.print_or_write(passes::to_string(command.compilation.schedule()));
}

/// Refuses, before any work, what a plan of several hosts has no answer to. False after an error.
bool is_for_hosts(const Command& command) {
  const request::Request& request = command.request;
  const size_t hosts = command.compilation.targets().hosts.size();
  if (hosts == 0) return true;
  if (command.packages != nullptr) {
    return command.diags.error_at(Code::BadOption, "--buckets", "a package of a cluster's hosts holds one shape")
        .note("`--shape` compiles for one of them, and `-o` names its package");
  }
  if (request.command != request::CommandName::Trace) return true;
  // The time of a step would be mixed with the wait for another host.
  auto error = command.diags.error_at(Code::BadOption, "trace",
                                      "does not tell what runs on several hosts apart from what waits for them");
  error.note("`-o NAME.collage`, then `mpirun -n {} collage-run NAME.collage --trace=FILE`", hosts);
  return error.note("`collagec simulate --timeline` has the predicted times");
}

void run(Command& command) {
  const request::Request& request = command.request;
  if (request.emit == request::Emit::Passes) return print_schedule(command);
  if (!is_for_hosts(command)) return;
  if (!run_passes(command) || !quantize(command)) return;
  if (is_shown_before_search(request.emit)) return show_model(command);
  if (!read_inputs(command)) return;
  switch (request.command) {
    case request::CommandName::Diff: return diff_placements(command);
    case request::CommandName::Simulate: return simulate(command);
    case request::CommandName::Compare: return compare(command);
    case request::CommandName::Why:
    case request::CommandName::WhyNot: return explain(command);
    default: return compile(command);
  }
}

/// The model with all shapes fixed, by `--shape` and by the files of its inputs. Afterwards the request has the shapes
/// that were chosen, and no input that was bound. Returns nullopt after errors.
std::optional<request::Specialised> specialise(const request::ModelSource& source, request::Request& request,
                                               support::Diagnostics& diags) {
  request::Specialisation to{request.model.bindings, {}};
  if (request.command == request::CommandName::Simulate) to.elements = sema::Elements::Never;
  if (request.gives_inputs()) {
    auto given = request::read_given(request.run, source.inputs(), diags);
    if (!given) return std::nullopt;
    std::vector<ir::ShapeBinding> of_tensors = request::bindings_of(*given, !request.run.labels.empty());
    to.bindings.insert(to.bindings.end(), of_tensors.begin(), of_tensors.end());
    to.given = std::move(*given);
  }
  std::optional<request::Specialised> made = source.specialise(to, diags);
  if (!made) return std::nullopt;
  if (made->first && !may_run_in_stages(request, to, source, diags)) return std::nullopt;
  for (const auto& [name, tensor] : made->bound) {
    if (source.replaced_defaults().contains(name)) continue;
    diags.warning_at(Code::InputMismatch, fmt::format("{}: input '{}'", source.path().string(), name),
                     "decides a shape: it is bound to the value of its file");
  }
  const auto is_bound = [&made](const std::string& name) { return made->bound.contains(name); };
  std::erase_if(request.run.inputs,
                [&](const runner::NamedFile& entry) { return is_bound(runner::named_by(entry, is_bound).name); });
  const ir::Graph& graph = made->whole ? made->whole->model.graph : made->first->graph;
  keep_shapes(graph, source.inputs(), request.model);
  return made;
}

/// What one specialisation of a source is asked for.
struct Session {
  const Output& output;
  const runner::WorkListener& listener;
  support::SourceManager& sources;
  support::Diagnostics& diags;
  StageClock& clock;
  const request::ModelSource& source;
  std::shared_ptr<const request::RuleFiles> rules;
  std::optional<runner::Faults> faults{};             ///< `--faults`
  std::vector<runtime::Package>* packages = nullptr;  ///< as Command has it
};

void run_specialised(request::Request request, const Session& session) {
  const bool runs = request.gives_inputs();
  auto model = session.clock.time("shapes", [&] { return specialise(session.source, request, session.diags); });
  if (!model) return;
  if (model->first) {
    return run_in_stages({request, session.output, session.sources, session.diags, session.clock, session.listener,
                          session.source, *model, session.rules, runs});
  }
  auto compilation =
      compilation::Compilation::open(std::move(*model->whole), session.rules, request.settings, session.diags);
  if (compilation == nullptr) return;
  compilation->set_listener(session.listener);
  Command command{request, session.output, session.sources, session.diags, session.clock, *compilation};
  command.packages = session.packages;
  if (session.faults) inject_faults(*session.faults, command);
  run(command);
}

/// `batch8.seq16`
std::string infix_of(const std::vector<ir::ShapeBinding>& bucket) {
  return runtime::joined(bucket, ".", [](const auto& binding) { return binding.name + ir::to_string(binding.sizes); });
}

/// The one package of all buckets; empty where none is written.
std::string package_of_buckets(const request::Request& request, const request::ModelSource& source) {
  const bool may_write =
      request.command == request::CommandName::Compile
          ? request.emit == request::Emit::All
          : request.executes() && request.command != request::CommandName::Bisect && !request.output.empty();
  if (!may_write) return "";
  const std::string path = request.output.empty() ? request::package_name(source.path()) : request.output;
  return std::filesystem::path(path).extension() == ".collage" ? path : "";
}

/// Writes what the buckets became, and says what of it serves sizes in between.
void write_buckets(const request::Request& request, const Session& session, const std::string& path) {
  std::vector<const runtime::Plan*> plans;
  for (const runtime::Package& package : *session.packages) plans.push_back(&package.plan);
  const runtime::ShapeTable table = session.clock.time("padding", [&] {
    return shapes::make_shape_table(session.source, request.model.bindings, request.model.buckets, plans,
                                    session.diags);
  });
  if (request.output.empty() && !support::can_write_unnamed(path, "the package", session.diags)) return;
  const runtime::Status status =
      session.clock.time("write", [&] { return runtime::write_packages(path, *session.packages, table); });
  if (!status) {
    session.diags.error_at(Code::CannotWrite, path, "{}", status.message());
    return;
  }
  const std::string padding = shapes::report_padding(table, session.diags);
  if (!session.output.result || request.json.is_printed()) return;
  session.output.result(padding + fmt::format("{:<12}{}: {}\n", "wrote", path, table.held()));
}

/// Once for each bucket; costs, matches and compiled code of one serve the others where they are equal.
void run_buckets(const request::Request& request, Session session) {
  const std::string package = package_of_buckets(request, session.source);
  std::vector<runtime::Package> packages;
  if (!package.empty()) session.packages = &packages;
  if (const size_t shapes = request.model.buckets.size(); !package.empty() && shapes > runtime::kMostShapes) {
    session.diags.error_at(Code::BadOption, "--buckets", "{} shapes are more than the {} that a package holds", shapes,
                           runtime::kMostShapes);
    return;
  }
  for (const std::vector<ir::ShapeBinding>& bucket : request.model.buckets) {
    request::Request one = request;
    std::string names;
    for (const ir::ShapeBinding& binding : bucket) names += " " + request::to_string(binding);
    one.model.bindings.insert(one.model.bindings.end(), bucket.begin(), bucket.end());
    request::for_each_output(one, [&](std::string& path) { path = request::with_infix(path, infix_of(bucket)); });
    if (!package.empty()) one.output = package;
    const bool prints_lines = session.output.result && !request.json.is_printed();
    if (prints_lines) session.output.result(fmt::format("{:<12}{}\n", "bucket", names.substr(1)));
    if (&bucket != &request.model.buckets.front()) session.clock.begin_compilation();
    run_specialised(std::move(one), session);
    if (session.diags.has_errors()) return;
  }
  if (packages.size() == request.model.buckets.size()) write_buckets(request, session, package);
}

/// `--emit=ast`
void show_ast(const request::Request& request, const Output& output, support::SourceManager& sources,
              support::Diagnostics& diags) {
  const std::optional<std::string> text = request::print_model_ast(request.model, sources, diags);
  if (!text) return;
  if (!request.output.empty()) {
    support::write_file(request.output, *text, diags);
  } else if (output.result) {
    output.result(*text);
  }
}

void run(request::Request request, const Output& output, const runner::WorkListener& listener,
         support::SourceManager& sources, support::Diagnostics& diags, StageClock& clock) {
  if ((!request.report.empty() && !page::can_report(diags)) || !request::check_outputs(request, diags)) return;
  if (request.emit == request::Emit::Ast) return show_ast(request, output, sources, diags);
  std::optional<runner::Faults> faults;
  if (!request.faults.empty()) {
    faults = runner::read_faults(request.faults, sources, diags);
    if (!faults) return;
    for (const runtime::FaultRule& rule : faults->spec.rules) request.settings.named.push_back(rule.device);
  }
  auto source = clock.time("read model", [&] { return request::open_model(request.model, sources, diags); });
  if (source == nullptr || !request::take_defaults(request.run.inputs, request.model.defaults, *source, diags)) return;
  auto rules = clock.time("read rules", [&] {
    return request::read_rule_files(request.rules, sources, diags, request.settings.allows_outside);
  });
  if (rules == nullptr) return;
  const Session session{output, listener, sources, diags, clock, *source, std::move(rules), std::move(faults)};
  if (request.model.buckets.empty()) return run_specialised(request, session);
  run_buckets(request, session);
}

}  // namespace

void run_request(Command& command) {
  run(command);
}

Outcome run_command(request::Request request, const Output& output, const runner::WorkListener& listener) {
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  StageClock clock(listener.stage);
  request::complete(request);
  run(request, output, clock.counting(listener), sources, diags, clock);
  if (request.prints_times && output.note) output.note(clock.text());
  return {verdict_of(diags), diags.render()};
}

}  // namespace collage::driver
