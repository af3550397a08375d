// SPDX-License-Identifier: Apache-2.0
// The command without other requests: find a placement, compile it, write it, say what was found, run it.
#include <filesystem>

#include "compiler/driver/command.h"
#include "compiler/driver/place_model.h"
#include "compiler/ir/placement/print.h"
#include "compiler/page/write_report.h"
#include "compiler/report/json_report.h"
#include "compiler/report/json_text.h"
#include "compiler/request/outputs.h"
#include "compiler/request/placement_file.h"
#include "compiler/request/write_model.h"
#include "runtime/package/package.h"
#include "runtime/support/write_file.h"

namespace collage::driver {
namespace {

namespace fs = std::filesystem;

std::optional<program::Program> build(Command& command, PlacedModel* placed) {
  const request::Request& request = command.request;
  const ir::Graph& graph = command.compilation.graph();
  program::ProgramOptions options;
  options.keep_text = request.emit == request::Emit::Llvm || request.emit == request::Emit::Asm;
  options.is_strict = request.settings.is_strict;
  options.cache = command.compilation.cache();
  options.listener = &command.compilation.listener();
  std::optional<program::Program> program;
  if (placed->found.program != nullptr && !options.keep_text) {
    program = *placed->found.program;
    placed->found.program.reset();
  } else {
    program =
        program::build_program(graph, placed->found.placement, command.compilation.targets(), options, command.diags);
  }
  if (!program) return std::nullopt;
  placed->report.uncompiled = program->built.uncompiled;
  placed->report.code = program->jit->stats();
  return program;
}

/// Beside the placed model `output`.
request::WeightsPlace weights_place(const Command& command, const fs::path& output) {
  return {output.parent_path().string(), output.filename().string(), true, command.compilation.file().weights};
}

/// The placed model as a text and its weights beside it. Returns the names of the files, nullopt after an error.
std::optional<std::string> write_placed_model(const Command& command, const fs::path& output,
                                              const ir::Placement& placement) {
  const request::ModelFile& file = command.compilation.file();
  ir::Graph graph = command.compilation.graph();
  support::FileGroup files;
  std::optional<std::string> weights = request::move_weights_out(graph, file.path.parent_path().string(),
                                                                 weights_place(command, output), files, command.diags);
  if (!weights || !files.add(output.string(), ir::print(graph, placement), command.diags) ||
      !files.commit(command.diags)) {
    return std::nullopt;
  }
  return weights->empty() ? output.string() : output.string() + ", " + *weights;
}

/// Whether a file of this name is a package, and not the placed model as text.
bool is_package_name(const fs::path& path) {
  return path.extension() == ".collage";
}

/// Where the package or the placed model is written: without `-o`, and where nothing is run, a package. Empty: nowhere.
fs::path output_path(const Command& command) {
  const bool writes_named = command.request.executes() || command.is_stage;
  if (!command.request.output.empty() || writes_named) return command.request.output;
  return request::package_name(command.compilation.file().path);
}

/// An error where `option` names a file that the command writes without an option that names it. False after it.
bool keeps_apart(const Command& command, std::string_view option, const std::string& file) {
  const fs::path output = output_path(command);
  if (file.empty() || output.empty()) return true;
  std::error_code ignored;
  const fs::path end = runtime::end_of_links(file).value_or(file);
  const fs::path named = fs::weakly_canonical(fs::absolute(end), ignored);
  const bool is_package =
      command.request.output.empty() && named == fs::weakly_canonical(fs::absolute(output), ignored);
  const bool is_weights = !is_package_name(output) &&
                          named == request::weights_file_of(command.compilation.graph(),
                                                            command.compilation.file().path.parent_path().string(),
                                                            weights_place(command, output));
  if (!is_package && !is_weights) return true;
  return command.diags.error_at(support::Code::BadOption, std::string(option), "would replace `{}`, which has the {}",
                                file, is_package ? "compiled model" : "weights of the placed model");
}

/// A package of all hosts' parts.
runtime::Status write_parts(const Command& command, const fs::path& output, const std::string& placed,
                            const program::Program& program) {
  std::vector<runtime::Package> parts;
  for (const plan::BuiltPlan& part : program.parts) {
    parts.push_back({part.plan, program.jit, command.compilation.settings().threads, placed, ""});
  }
  return runtime::write_cluster_package(output.string(), parts);
}

bool write_program(const Command& command, const fs::path& output, const ir::Placement& placement,
                   const program::Program& program) {
  std::string placed = request::placed_text(command.compilation.graph(), placement);
  if (!program.parts.empty()) {
    const runtime::Status status = write_parts(command, output, placed, program);
    return status || command.diags.error_at(support::Code::CannotWrite, output.string(), "{}", status.message());
  }
  const request::Settings& settings = command.compilation.settings();
  const runtime::Package package{program.built.plan, program.jit, settings.threads,
                                 std::move(placed),  "",          settings.has_own_threads};
  if (command.packages != nullptr) return command.packages->push_back(package), true;
  const runtime::Status status = runtime::write_package(output.string(), package);
  return status || command.diags.error_at(support::Code::CannotWrite, output.string(), "{}", status.message());
}

/// Writes the package or the placed model. False after an error.
bool write_results(Command& command, PlacedModel* placed, const program::Program& program) {
  const fs::path output = output_path(command);
  const bool is_unnamed = command.request.output.empty() && !output.empty();
  if (is_unnamed && !support::can_write_unnamed(output.string(), "the package", command.diags)) return false;
  if (is_package_name(output)) {
    if (!write_program(command, output, placed->found.placement, program)) return false;
    if (command.packages == nullptr) placed->report.wrote = output.string();
  } else if (!output.empty()) {
    std::optional<std::string> files = write_placed_model(command, output, placed->found.placement);
    if (!files) return false;
    placed->report.wrote = *files;
  }
  return true;
}

void print_summary(const Command& command, PlacedModel* placed) {
  placed->report.spent = command.clock.spent();
  command.print(
      report::summary(command.compilation.graph(), placed->found.placement, placed->report, command.output.width));
}

/// `--json`: the summary, and what was run. False after an error.
bool write_document(const Command& command, const PlacedModel& placed) {
  if (!command.request.json.is_asked) return true;
  nlohmann::ordered_json json =
      report::summary_object(command.compilation.graph(), placed.found.placement, placed.report);
  if (!command.executed.is_null()) json.update(command.executed);
  return command.write_document(report::printed(json));
}

/// `--report`, after what is run. False after an error.
bool write_page(const Command& command, const compilation::Candidates& candidates, PlacedModel placed,
                const program::Program& program) {
  if (command.request.report.empty()) return true;
  const compilation::Compilation& compilation = command.compilation;
  page::ReportInput input{.compilation = compilation,
                          .candidates = candidates,
                          .sources = command.sources,
                          .summary = report::summary_object(compilation.graph(), placed.found.placement, placed.report),
                          .placements = {},
                          .findings = command.findings,
                          .plan = &program.built.plan};
  const std::string name = placed.report.searched ? placed.report.strategy : "as written";
  input.placements.push_back({name, std::move(placed.found), std::move(placed.report),
                              page::given_places(command.request.placement.follow, candidates.written), true});
  return page::write_report(command.request.report, page::report_data(input), command.diags);
}

}  // namespace

bool save_placement(const Command& command, const ir::Placement& placement) {
  const std::string& file = command.request.placement.save;
  return file.empty() ||
         write_file(file, request::print_placement(command.compilation.graph(), placement), command.diags);
}

void compile(Command& command) {
  const std::string& json = command.request.json.file;
  if (!keeps_apart(command, "--report", command.request.report) || !keeps_apart(command, "--json", json)) return;
  std::optional<compilation::Candidates> candidates = read_candidates(command);
  if (!candidates) return;
  if (command.request.emit == request::Emit::Candidates) {
    command.print_or_write(place::print_candidates(command.compilation.graph(), candidates->built));
    return;
  }
  auto placed = command.clock.time("search", [&] { return place_model(command, *candidates); });
  if (!placed || !save_placement(command, placed->found.placement)) return;
  if (command.request.emit == request::Emit::Placement) {
    show_placed_model(command, placed->found.placement);
    return;
  }
  if (command.request.command == request::CommandName::Bisect) {
    command.clock.time("bisect", [&] {
      bisect(command, *candidates, placed->found.placement);
      return true;
    });
    return;
  }
  auto program = command.clock.time("plan", [&] { return build(command, &*placed); });
  if (!program) return;
  if (is_shown_after_build(command.request.emit)) return show_program(command, placed->found.placement, *program);
  const bool written = command.clock.time("write", [&] { return write_results(command, &*placed, *program); });
  if (!written) return;
  print_summary(command, &*placed);
  std::optional<runtime::KnownRun> checked;
  if (command.request.executes()) checked = execute(command, placed->found.placement, placed->report, *program);
  if (checked && is_package_name(command.request.output)) {
    if (command.packages != nullptr) {
      command.packages->back().plan.known_runs = {std::move(*checked)};
    } else {
      program->first().plan.known_runs = {std::move(*checked)};
      write_program(command, command.request.output, placed->found.placement, *program);
    }
  }
  if (command.diags.has_errors() || !write_document(command, *placed)) return;
  command.clock.time("report", [&] { return write_page(command, *candidates, std::move(*placed), *program); });
}

}  // namespace collage::driver
