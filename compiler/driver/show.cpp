// SPDX-License-Identifier: Apache-2.0
// `--emit`: one stage of the compilation as text.
#include "compiler/driver/command.h"
#include "compiler/ir/placement/print.h"
#include "compiler/plan/emit_c.h"
#include "compiler/plan/print_lowerings.h"
#include "compiler/plan/print_plan.h"
#include "compiler/report/simulated.h"
#include "compiler/report/summary_line.h"
#include "compiler/request/node_list.h"
#include "compiler/request/write_model.h"
#include "compiler/request/write_onnx.h"
#include "runtime/support/write_file.h"

namespace collage::driver {
namespace {

namespace fs = std::filesystem;

/// The text of the program that the request asks for. Returns nullopt after an error.
std::optional<std::string> program_text(const Command& command, const ir::Placement& placement,
                                        const program::Program& program) {
  const ir::Graph& graph = command.compilation.graph();
  const plan::PlanTargets& targets = command.compilation.targets();
  switch (command.request.emit) {
    case request::Emit::Plan:
      return program.parts.empty() ? plan::print_plan(program.built.plan)
                                   : plan::print_parts(program.built.plan, program.parts);
    case request::Emit::Lowering: return plan::print_lowerings(graph, placement, targets, program.built);
    case request::Emit::C: return plan::emit_c(graph, placement, targets, program.built, command.diags);
    case request::Emit::Llvm: return program.jit->llvm_text();
    case request::Emit::Asm: return program.jit->asm_text();
    default: return std::nullopt;
  }
}

}  // namespace

std::string Command::note_on_models(const std::vector<std::string>& shown) const {
  return report::summary_lines(
      report::simulated_line(compilation.activations(), shown, compilation.settings().allows_simulated), output.width);
}

bool Command::print_or_write(std::string_view text) const {
  if (!request.output.empty()) return write_file(request.output, text, diags);
  print(text);
  return true;
}

bool Command::answer(std::string_view lines, const std::function<std::string()>& document) const {
  if (!request.json.is_asked) return print_or_write(lines);
  if (!request.json.is_printed()) return print_or_write(lines) && write_document(document());
  return request.output.empty() ? write_document(document()) : write_file(request.output, document(), diags);
}

bool Command::write_document(const std::string& document) const {
  if (!request.json.is_printed()) return write_file(request.json.file, document, diags);
  if (output.result) output.result(document);
  return true;
}

bool is_shown_before_search(request::Emit emit) {
  return emit == request::Emit::Nodes || emit == request::Emit::Graph || emit == request::Emit::Ir ||
         emit == request::Emit::Onnx;
}

void show_model(const Command& command) {
  const sema::Model& model = command.compilation.model();
  if (command.request.emit == request::Emit::Onnx) {
    request::write_onnx(model, command.request.output, command.diags);
  } else if (command.request.emit == request::Emit::Nodes) {
    command.print_or_write(request::list_nodes(model.graph, command.sources));
  } else {
    show_placed_model(command, model.placement);
  }
}

/// To standard output only `--emit=ir` writes weights beside the text: the other stages are for looking at, without
/// them.
bool show_placed_model(const Command& command, const ir::Placement& placement) {
  const request::ModelFile& file = command.compilation.file();
  const fs::path output(command.request.output);
  const bool to_file = !output.empty();
  if (!to_file && command.request.emit != request::Emit::Ir) {
    command.print(ir::print(command.compilation.graph(), placement, ir::Elements::Few));
    return true;
  }
  ir::Graph graph = command.compilation.graph();
  const std::string stem = (to_file ? output : file.path).stem().string();
  const request::WeightsPlace place{output.parent_path().string(), stem, to_file, file.weights};
  support::FileGroup files;
  if (!request::move_weights_out(graph, file.path.parent_path().string(), place, files, command.diags)) return false;
  const std::string text = ir::print(graph, placement);
  if (to_file) return files.add(output.string(), text, command.diags) && files.commit(command.diags);
  command.print(text);
  return files.commit(command.diags);
}

bool is_shown_after_build(request::Emit emit) {
  return emit == request::Emit::Plan || emit == request::Emit::Lowering || emit == request::Emit::C ||
         emit == request::Emit::Llvm || emit == request::Emit::Asm;
}

void show_program(const Command& command, const ir::Placement& placement, const program::Program& program) {
  if (auto text = program_text(command, placement, program)) command.print_or_write(*text);
}

}  // namespace collage::driver
