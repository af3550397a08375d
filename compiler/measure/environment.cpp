// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <vector>

#include "compiler/measure/cost_program.h"
#include "compiler/measure/fingerprint.h"
#include "compiler/measure/worker.h"
#include "include/collage/version.h"
#include "runtime/core/host_capabilities.h"
#include "runtime/core/joined.h"
#include "runtime/libraries/library.h"
#include "runtime/libraries/plugin/plugin.h"

namespace collage::measure {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMachine = "cpu", kFeatures = " features", kBuild = "collage ";

struct Part {
  std::string_view start;  ///< of its line
  std::string Environment::*value;
  bool is_in_value = false;  ///< the start
};

/// In the order of lines.
constexpr Part kParts[] = {
    {"exec ", &Environment::program},    {kMachine, &Environment::machine, true}, {kBuild, &Environment::build, true},
    {"threads ", &Environment::threads}, {"numerics ", &Environment::numerics},   {"code for ", &Environment::code_for},
};

}  // namespace

Environment Environment::of(std::string other) const {
  Environment made = *this;
  made.subject = std::move(other);
  return made;
}

bool Environment::holds_here() const {
  return !program.empty() || machine == describe_machine();
}

std::string_view Environment::processor() const {
  std::string_view name = machine;
  if (name.starts_with(kMachine)) name.remove_prefix(kMachine.size());
  name = name.substr(0, name.find(kFeatures));
  name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
  return name;
}

std::string_view Environment::backend() const {
  const std::string_view last = std::string_view(subject).substr(subject.rfind('\n') + 1);
  return last.substr(0, last.find(' '));
}

std::string to_text(const Environment& environment) {
  std::string text;
  for (const Part& part : kParts) {
    const std::string& value = environment.*part.value;
    if (!value.empty()) text += fmt::format("{}{}\n", part.is_in_value ? "" : part.start, value);
  }
  return text + environment.subject;
}

Environment parse_environment(std::string_view text) {
  Environment made;
  for (const Part& part : kParts) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) break;  // the subject
    if (!text.starts_with(part.start)) continue;
    const size_t begin = part.is_in_value ? 0 : part.start.size();
    made.*part.value = text.substr(begin, end - begin);
    text.remove_prefix(end + 1);
  }
  made.subject = text;
  return made;
}

std::string describe_machine() {
  const runtime::HostCapabilities& host = runtime::host_capabilities();
  return fmt::format("{}{}{}{}", kMachine, host.processor, kFeatures, host.features);
}

std::string describe_build(const std::string& worker_program) {
  const uint64_t program = fingerprint(worker_library(worker_program), fingerprint(worker_program));
  std::string text =
      fmt::format("{}{} program {:016x} llvm {}", kBuild, COLLAGE_VERSION, program, COLLAGE_LLVM_VERSION);
  for (std::string_view library : runtime::library_names()) {
    text += fmt::format(" {} {}", library, runtime::library_version(library));
  }
  return text;
}

std::string describe_backend(const place::ActiveBackend& active) {
  const ir::Backend& backend = *active.backend;
  std::string attrs;
  for (const ir::AttrDecl& decl : backend.attrs) {
    auto set = active.attrs.find(decl.name);
    const runtime::AttrValue& value = set == active.attrs.end() ? decl.fallback : set->second;
    runtime::add_to_list(attrs, decl.name + " = " + runtime::to_string(value));
  }
  std::string library = backend.library;
  if (backend.runtime == ir::RuntimeKind::Plugin)
    library += " " + runtime::library_version(runtime::plugin_library(backend.library, backend.file));
  std::string text = fmt::format("{} version {} runtime {} {} {{{}}}", backend.name, backend.version,
                                 name_of(backend.runtime), library, attrs);
  for (const ir::Rule& rule : backend.rules) {
    for (const ir::Kernel& kernel : rule.kernels) {
      if (kernel.lowering.kind != ir::LoweringKind::Inline) continue;
      text += fmt::format(" {}:{} by {}", rule.name, kernel.name, kernel.lowering.symbol);
    }
  }
  const ir::Phase* post = backend.find_phase(true);
  if (post == nullptr) return text;
  for (const ir::PhaseItem& item : post->items) text += " post " + item.pass;
  return text;
}

std::string describe_program(const std::string& command, const std::string& folder) {
  std::string text = command;
  bool is_first = true;
  for (const std::string& word : words_of(command)) {
    std::vector<fs::path> places = {fs::path(folder.empty() ? "." : folder) / word};
    if (is_first && word.find('/') == std::string::npos) {
      places.clear();
      const char* path = std::getenv("PATH");
      std::istringstream folders(path == nullptr ? "" : path);
      for (std::string one; std::getline(folders, one, ':');) places.push_back(fs::path(one) / word);
    }
    is_first = false;
    std::error_code error;
    for (const fs::path& place : places) {
      if (!fs::is_regular_file(place, error)) continue;
      text += fmt::format(" {:016x}", fingerprint(place.string()));
      break;
    }
  }
  return text;
}

}  // namespace collage::measure
