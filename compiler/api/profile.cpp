// SPDX-License-Identifier: Apache-2.0
// collage_profile_json of include/collage/compiler.h.
#include "compiler/driver/report/profile.h"

#include <cstring>

#include "compiler/api/texts.h"
#include "compiler/execution/bind_inputs.h"
#include "runtime/api/executable.h"

using namespace collage;  // NOLINT: every definition below is of the global namespace
using support::Code;

namespace {

/// The caller's buffers as tensors; random ones where there are none. Returns nullopt after an error.
std::optional<std::vector<runtime::Tensor>> inputs_of(const runtime::CompiledModel& compiled, const void* const* inputs,
                                                      support::Diagnostics& diags) {
  if (inputs == nullptr) {
    const execution::ModelPorts ports = execution::ports_of(compiled.plan);
    const auto bound = execution::bind_inputs({}, ports, diags);
    if (!bound) return std::nullopt;
    return execution::inputs_of_run(ports, *bound, 0);
  }
  std::vector<runtime::Tensor> tensors;
  for (size_t i = 0; i < compiled.inputs.size(); ++i) {
    const runtime::NamedPort& port = *compiled.inputs[i];
    if (port.port()->bytes > 0 && inputs[i] == nullptr)
      return diags.error_at(Code::RunFailed, port.port()->name, "a buffer is missing");
    runtime::Tensor tensor(port.dtype(), port.shape());
    if (port.port()->bytes > 0) std::memcpy(tensor.data(), inputs[i], port.port()->bytes);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::optional<std::string> profile(const runtime::CompiledModel& compiled, const void* const* inputs,
                                   support::Diagnostics& diags) {
  if (!api::check_runtime(diags)) return std::nullopt;
  const auto tensors = inputs_of(compiled, inputs, diags);
  if (!tensors) return std::nullopt;
  // A program of its own: those of sessions belong to the runtime library.
  auto recovery = runtime::Recovery::open(compiled.plan, compiled.code, compiled.threads, {}, nullptr);
  if (!recovery) return diags.error_at(Code::RunFailed, compiled.plan.model, "{}", recovery.message());
  auto execution = runtime::RecoveringExecution::create(std::move(*recovery));
  if (!execution) return diags.error_at(Code::RunFailed, compiled.plan.model, "{}", execution.message());
  runtime::Executor executor(std::move(*execution));
  const std::optional<driver::Profile> measured =
      driver::profile_model({compiled.plan, executor, executor}, *tensors, diags);
  if (!measured) return std::nullopt;
  return to_json(*measured);
}

}  // namespace

char* collage_profile_json(collage_compiler* compiler, const collage_executable* executable,
                           const void* const* inputs) {
  if (compiler == nullptr || executable == nullptr) return nullptr;
  api::CompilerState& state = *compiler->state;
  return api::text_of(state, [&] { return profile(*executable->compiled, inputs, *state.diags); });
}
