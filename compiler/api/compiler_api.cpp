// SPDX-License-Identifier: Apache-2.0
// The C interface of libcollage_compiler (include/collage/compiler.h). No exception leaves it.
#include <algorithm>
#include <cstdlib>
#include <exception>

#include "compiler/api/guarded.h"
#include "compiler/api/state.h"
#include "compiler/api/texts.h"
#include "compiler/program/local_hosts.h"
#include "compiler/program/program.h"
#include "compiler/request/placement_file.h"
#include "compiler/request/write_model.h"
#include "runtime/api/executable.h"

using namespace collage;  // NOLINT: every definition below is of the global namespace
using support::Code;

namespace {

collage_executable* build(const api::PlacedModel& placed) {
  support::Diagnostics& diags = *placed.state->diags;
  const compilation::Compilation& compilation = *placed.compilation;
  if (!api::check_runtime(diags)) return nullptr;
  program::ProgramOptions options;
  options.is_strict = compilation.settings().is_strict;
  options.cache = compilation.cache();
  options.listener = &compilation.listener();
  std::optional<program::Program> program =
      program::build_program(compilation.graph(), placed.placement, compilation.targets(), options, diags);
  if (!program || placed.state->stops) return nullptr;
  const runtime::CompiledThreads threads{compilation.settings().threads, compilation.settings().has_own_threads};
  std::string text = request::placed_text(compilation.graph(), placed.placement);
  if (!program->parts.empty()) {
    return new collage_executable{
        std::make_shared<const runtime::CompiledModel>(program::host_parts(*program), threads, std::move(text))};
  }
  return new collage_executable{std::make_shared<const runtime::CompiledModel>(
      std::move(program->built.plan), std::move(program->jit), threads, std::move(text))};
}

std::string with_notes(const support::DiagnosticRecord& record) {
  std::string text = record.message;
  for (const support::Note& note : record.notes) text += "\n" + note.message;
  return text;
}

}  // namespace

const char* collage_compiler_version(void) {
  return COLLAGE_VERSION;
}

collage_compiler* collage_compiler_create(uint32_t abi_version) {
  if (abi_version != COLLAGE_ABI_VERSION) return nullptr;
  try {
    return new collage_compiler{std::make_shared<api::CompilerState>()};
  } catch (const std::exception&) {
    return nullptr;
  }
}

void collage_compiler_free(collage_compiler* compiler) {
  delete compiler;
}

int collage_compiler_rules(collage_compiler* compiler, const char* const* paths, size_t count) {
  if (compiler == nullptr) return 1;
  api::CompilerState& state = *compiler->state;
  return api::guarded(state, 1, [&] {
    const bool is_missing =
        count > 0 && (paths == nullptr || std::find(paths, paths + count, nullptr) != paths + count);
    if (is_missing) {
      state.diags->error_at(Code::BadOption, "rules", "a path is NULL");
      return 1;
    }
    auto rules = request::read_rule_files(std::vector<std::string>(paths, paths + count), state.sources, *state.diags,
                                          state.request.settings.allows_outside);
    if (rules == nullptr) return 1;
    state.rules = std::move(rules);
    return 0;
  });
}

int collage_compiler_file(collage_compiler* compiler, const char* path, const void* bytes, size_t size) {
  if (compiler == nullptr || path == nullptr) return 1;
  api::CompilerState& state = *compiler->state;
  return api::guarded(state, 1, [&] {
    if (bytes == nullptr) {
      state.sources.withdraw(path);
    } else {
      state.sources.stand_in(path, std::string(static_cast<const char*>(bytes), size));
    }
    return 0;
  });
}

int collage_compiler_set(collage_compiler* compiler, const char* name, const char* value) {
  if (compiler == nullptr || name == nullptr || value == nullptr) return 1;
  api::CompilerState& state = *compiler->state;
  return api::guarded(state, 1, [&] { return api::change_setting(state, name, value) ? 0 : 1; });
}

int collage_compiler_listen(collage_compiler* compiler, collage_listener listener, void* context) {
  if (compiler == nullptr) return 1;
  compiler->state->listener = listener;
  compiler->state->listener_context = context;
  return 0;
}

void collage_compiler_stop(collage_compiler* compiler, int32_t stops) {
  static_assert(std::atomic<bool>::is_always_lock_free, "signal handlers call this");
  if (compiler != nullptr) compiler->state->stops = stops != 0;
}

size_t collage_diagnostic_count(const collage_compiler* compiler) {
  return compiler == nullptr ? 0 : compiler->state->diags->records().size();
}

int collage_diagnostic_get(collage_compiler* compiler, size_t index, collage_diagnostic* diagnostic) {
  if (index >= collage_diagnostic_count(compiler) || diagnostic == nullptr) return 1;
  api::CompilerState& state = *compiler->state;
  return api::guarded(state, 1, [&] {
    const support::DiagnosticRecord& record = state.diags->records()[index];
    const bool has_place = record.span.is_valid();
    // Texts that were given out stay where they are.
    if (!state.texts.contains(index)) {
      api::DiagnosticTexts made{support::code_text(record.code),
                                has_place ? std::string(state.sources.name(record.span.file)) : record.where,
                                with_notes(record)};
      state.texts.emplace(index, std::move(made));
    }
    const api::DiagnosticTexts& texts = state.texts.at(index);
    support::LineColumn place{0, 0};
    if (has_place) place = state.sources.position(record.span.file, record.span.begin);
    *diagnostic = {record.severity == support::Severity::Error ? COLLAGE_ERROR : COLLAGE_WARNING,
                   texts.code.c_str(),
                   texts.file.c_str(),
                   place.line,
                   place.column,
                   texts.message.c_str()};
    return 0;
  });
}

const char* collage_diagnostics_text(collage_compiler* compiler) {
  return collage_diagnostics_text_from(compiler, 0);
}

const char* collage_diagnostics_text_from(collage_compiler* compiler, size_t first) {
  if (compiler == nullptr) return "";
  api::CompilerState& state = *compiler->state;
  return api::guarded<const char*>(state, "", [&] {
    state.rendered = state.diags->render(first);
    return state.rendered.c_str();
  });
}

void collage_diagnostics_clear(collage_compiler* compiler) {
  if (compiler != nullptr) compiler->state->clear_diagnostics();
}

collage_model* collage_model_load(collage_compiler* compiler, const char* path) {
  if (compiler == nullptr || path == nullptr) return nullptr;
  api::CompilerState& state = *compiler->state;
  return api::stoppable<collage_model*>(state, nullptr, [&]() -> collage_model* {
    request::ModelRequest request = state.request.model;
    request.path = path;
    request.allows_outside = state.request.settings.allows_outside;
    auto file = request::read_model_file(request, state.sources, *state.diags);
    if (!file || state.stops) return nullptr;
    return new collage_model{compiler->state, std::make_shared<const request::ModelFile>(std::move(*file))};
  });
}

void collage_model_free(collage_model* model) {
  delete model;
}

collage_placement* collage_place(const collage_model* model) {
  if (model == nullptr) return nullptr;
  return api::stoppable<collage_placement*>(*model->state, nullptr, [&]() -> collage_placement* {
    std::shared_ptr<api::PlacedModel> placed = api::place_model(model->state, *model->file);
    return placed == nullptr ? nullptr : new collage_placement{std::move(placed)};
  });
}

double collage_placement_value(const collage_placement* placement) {
  if (placement == nullptr) return 0;
  const api::PlacedModel& placed = *placement->placed;
  if (placed.found) return placed.found->predicted.value();
  return api::guarded(*placed.state, 0.0, [&] {
    return search::objective_value(placed.compilation->search_input(*placed.candidates), placed.placement).value();
  });
}

double collage_placement_bound(const collage_placement* placement) {
  const bool is_found = placement != nullptr && placement->placed->found.has_value();
  return is_found ? placement->placed->found->bound.value() : 0;
}

char* collage_placement_summary(const collage_placement* placement) {
  return api::text_of(placement, [](const api::PlacedModel& placed) {
    return report::summary(placed.compilation->graph(), placed.placement, api::report_of(placed));
  });
}

char* collage_placement_text(const collage_placement* placement) {
  return api::text_of(placement, [](const api::PlacedModel& placed) {
    return request::print_placement(placed.compilation->graph(), placed.placement);
  });
}

char* collage_placement_json(const collage_placement* placement) {
  return api::text_of(placement, [](const api::PlacedModel& placed) {
    return report::placement_json(placed.compilation->graph(), placed.placement, api::report_of(placed));
  });
}

char* collage_why(const collage_placement* placement, const char* nodes) {
  if (nodes == nullptr) return nullptr;
  return api::long_text_of(placement, [&](const api::PlacedModel& placed) {
    return api::explain(placed, {nodes, {}});
  });
}

char* collage_why_not(const collage_placement* placement, const char* nodes, const char* backend) {
  if (nodes == nullptr || backend == nullptr) return nullptr;
  return api::long_text_of(placement, [&](const api::PlacedModel& placed) {
    return api::explain(placed, {"", {nodes, backend}});
  });
}

int collage_placement_measure(const collage_placement* placement) {
  if (placement == nullptr) return 1;
  api::PlacedModel& placed = *placement->placed;
  return api::stoppable(*placed.state, 1, [&] { return api::measure(placed) ? 0 : 1; });
}

void collage_placement_free(collage_placement* placement) {
  delete placement;
}

collage_executable* collage_build(const collage_placement* placement) {
  if (placement == nullptr) return nullptr;
  const api::PlacedModel& placed = *placement->placed;
  return api::stoppable<collage_executable*>(*placed.state, nullptr, [&] { return build(placed); });
}

void collage_text_free(char* text) {
  std::free(text);
}
