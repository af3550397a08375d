// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/environments.h"

#include <filesystem>

#include "compiler/measure/environment.h"

namespace collage::measure {

Environments::Environments(const place::ActiveBackends& backends, const TargetMachine& target, int threads,
                           const codegen::CodeTarget& code) {
  Environment machine;
  machine.machine = target.machine;
  machine.build = target.build;
  machine.threads = std::to_string(threads);
  Environment generated = machine;
  generated.numerics = codegen::row_of(code.numerics).name;
  generated.code_for = code.cpu;
  by_backend_[""] = to_text(generated.of("host"));
  std::string plans;
  for (const place::ActiveBackend& active : backends) {
    plans += describe_backend(active) + "\n";
    std::string& text = by_backend_[active.backend->name];
    if (has_cost_program(active)) {
      Environment external;
      external.program = describe_program(active.backend->cost_program, folder_of_program(active));
      text = to_text(external.of(describe_backend(active)));
      continue;
    }
    const bool is_generated = active.backend->runtime == ir::RuntimeKind::HostJit;
    text = to_text((is_generated ? generated : machine).of(describe_backend(active)));
  }
  of_plans_ = to_text(generated.of(plans + "plans"));
}

const std::string& Environments::of(const std::string& backend) const {
  const auto found = by_backend_.find(backend);
  return found != by_backend_.end() ? found->second : by_backend_.at("");
}

bool has_cost_program(const place::ActiveBackend& active) {
  return !active.backend->cost_program.empty();
}

std::string folder_of_program(const place::ActiveBackend& active) {
  return std::filesystem::path(active.backend->file).parent_path().string();
}

}  // namespace collage::measure
