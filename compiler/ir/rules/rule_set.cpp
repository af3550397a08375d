// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/rules/rule_set.h"

#include <algorithm>

#include "compiler/ir/rules/functions.h"
#include "compiler/ir/rules/runtimes.h"
#include "runtime/core/host_space.h"
#include "runtime/plan/plan.h"

namespace collage::ir {

int Rule::find_capture(std::string_view capture) const {
  for (size_t i = 0; i < captures.size(); ++i) {
    if (captures[i].name == capture) return static_cast<int>(i);
  }
  return -1;
}

bool Deny::asks_machine() const {
  return std::any_of(pattern.clauses.begin(), pattern.clauses.end(),
                     [](const Clause& clause) { return ir::asks_machine(clause.condition); });
}

const AttrDecl* Backend::find_attr(std::string_view attr) const {
  for (const AttrDecl& decl : attrs) {
    if (decl.name == attr) return &decl;
  }
  return nullptr;
}

const NamedMemory* Backend::find_memory(std::string_view name) const {
  if (devices.empty()) return nullptr;
  const std::vector<NamedMemory>& memories = devices.front().memories;
  auto found = std::find_if(memories.begin(), memories.end(), [&](const NamedMemory& m) { return m.name == name; });
  return found == memories.end() ? nullptr : &*found;
}

const Rewrite* Backend::find_rewrite(std::string_view rewrite) const {
  auto it = std::find_if(rewrites.begin(), rewrites.end(), [&](const Rewrite& r) { return r.name == rewrite; });
  return it == rewrites.end() ? nullptr : &*it;
}

int Lowering::find_parameter(std::string_view name) const {
  auto it = std::find_if(parameters.begin(), parameters.end(),
                         [&](const KernelParameter& parameter) { return parameter.name == name; });
  return it == parameters.end() ? -1 : static_cast<int>(it - parameters.begin());
}

const Phase* Backend::find_phase(bool is_post) const {
  auto it = std::find_if(phases.begin(), phases.end(), [&](const Phase& phase) { return phase.is_post == is_post; });
  return it == phases.end() ? nullptr : &*it;
}

std::vector<std::string> Backend::instances() const {
  std::vector<std::string> names;
  if (devices.empty()) {
    const int hosts = cluster == nullptr ? 1 : cluster->host_count();
    for (int number = 0; number < hosts; ++number) names.push_back(runtime::host_space(number));
  }
  for (const DeviceDecl& device : devices) {
    for (int i = 0; i < device.count; ++i) names.push_back(device.name + "[" + std::to_string(i) + "]");
  }
  return names;
}

const Backend* RuleSet::find(std::string_view backend) const {
  for (const Backend& candidate : backends) {
    if (candidate.name == backend) return &candidate;
  }
  return nullptr;
}

bool is_same(const FormatClause& a, const FormatClause& b) {
  return a.capture == b.capture && a.any == b.any && a.layout == b.layout && a.storage == b.storage &&
         a.same_as == b.same_as;
}

std::string format_text(const FormatClause& clause, const Backend& backend) {
  std::string text = clause.any ? "any" : clause.layout.value_or(backend.default_layout);
  const std::optional<Storage>& storage = clause.storage ? clause.storage : backend.default_storage;
  return storage ? text + " " + runtime::to_string(*storage) : text;
}

bool is_simulated(const Backend& backend) {
  return name_of(backend.runtime) == runtime::kModelKind;
}

std::string default_format_text(const Backend& backend) {
  return format_text({}, backend);
}

}  // namespace collage::ir
