// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/backend_list.h"

#include <fmt/format.h>

#include "compiler/ir/rules/runtimes.h"
#include "runtime/core/text.h"
#include "runtime/libraries/library.h"

namespace collage::request {
namespace {

/// Returns the number in what a library says of itself: `2.6.3` of "2.6.3 isa 1023", the first letters of a hash.
std::string number_in(const std::string& version) {
  for (const std::string& word : runtime::split(version, ' ')) {
    if (word.find_first_of("0123456789") != std::string::npos) return word.substr(0, 12);
  }
  return version;
}

std::string runs_by(const ir::Backend& backend) {
  switch (backend.runtime) {
    case ir::RuntimeKind::HostJit: return "generated code";
    case ir::RuntimeKind::Library: return backend.library + " " + number_in(runtime::library_version(backend.library));
    case ir::RuntimeKind::Plugin: return "plug-in " + backend.library;
    default: return fmt::format("device kind {}", ir::name_of(backend.runtime));
  }
}

}  // namespace

std::string_view name_of(BackendKind kind) {
  switch (kind) {
    case BackendKind::Real: return "real";
    case BackendKind::Absent: return "absent";
    case BackendKind::Model: return "model of a chip";
  }
  return "";
}

std::vector<BackendInfo> list_backends(const ir::RuleSet& rules, const CodePermission& permission,
                                       support::Diagnostics& diags) {
  std::vector<BackendInfo> list;
  const auto activations = activate(rules, {.allows_simulated = true}, diags, {}, permission);
  if (!activations) return list;
  for (const Activation& activation : *activations) {
    const ir::Backend& backend = *activation.active.backend;
    BackendKind kind = is_simulated(backend) ? BackendKind::Model : BackendKind::Real;
    if (!activation.absent.empty()) kind = BackendKind::Absent;
    list.push_back({backend.name, kind, runs_by(backend), activation.absent, backend.rules.size(), backend.file});
  }
  return list;
}

}  // namespace collage::request
