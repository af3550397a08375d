// SPDX-License-Identifier: Apache-2.0
// collage_profile_json and collage_profile_arrays_json of include/collage/compiler.h.
#include "compiler/report/profile.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "compiler/api/texts.h"
#include "runtime/api/executable.h"
#include "runtime/api/shaped_inputs.h"
#include "runtime/core/host_space.h"
#include "runtime/runner/bind_inputs.h"

using namespace collage;  // NOLINT: every definition below is of the global namespace
using support::Code;

namespace {

/// The caller's buffers as tensors; random ones where there are none. Returns nullopt after an error.
std::optional<std::vector<runtime::Tensor>> inputs_of(const runtime::CompiledModel& compiled, const void* const* inputs,
                                                      support::Diagnostics& diags) {
  if (inputs == nullptr) {
    const runner::ModelPorts ports = runner::ports_of(compiled.plan);
    const auto bound = runner::bind_inputs({}, ports, diags);
    if (!bound) return std::nullopt;
    return runner::inputs_of_run(ports, *bound, 0);
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

using Inputs = std::vector<runtime::Tensor>;

/// All hosts in this process, profiled one after another.
std::optional<report::Profile> profile_hosts(const runtime::CompiledModel& compiled, const Inputs& inputs,
                                             support::Diagnostics& diags) {
  auto loaded = runtime::load_local_hosts(compiled.parts, compiled.run_threads(), {});
  if (!loaded) return diags.error_at(Code::RunFailed, compiled.plan.model, "{}", loaded.message());
  std::optional<report::Profile> all;
  for (size_t host = 0; host < compiled.parts.size(); ++host) {
    runtime::Executor& executor = host == 0 ? *loaded->first : loaded->others->executor(host);
    auto one = report::profile_model({compiled.parts[host].plan, executor, *loaded->first}, inputs, diags);
    if (!one) return std::nullopt;
    for (report::ProfileRow& row : one->rows) row.host = runtime::host_space(static_cast<int>(host));
    if (!all) {
      all = std::move(*one);
      continue;
    }
    all->seconds += one->seconds;
    all->rows.insert(all->rows.end(), one->rows.begin(), one->rows.end());
  }
  std::stable_sort(all->rows.begin(), all->rows.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return all;
}

std::optional<report::Profile> profile_host(const runtime::CompiledModel& compiled, const Inputs& inputs,
                                            support::Diagnostics& diags) {
  // A program of its own: those of sessions belong to the runtime library.
  auto recovery = runtime::Recovery::open(compiled.plan, compiled.code, compiled.run_threads(), {}, nullptr);
  if (!recovery) return diags.error_at(Code::RunFailed, compiled.plan.model, "{}", recovery.message());
  auto execution = runtime::RecoveringExecution::create(std::move(*recovery));
  if (!execution) return diags.error_at(Code::RunFailed, compiled.plan.model, "{}", execution.message());
  runtime::Executor executor(std::move(*execution));
  return report::profile_model({compiled.plan, executor, executor}, inputs, diags);
}

std::optional<std::string> profile(const runtime::CompiledModel& compiled, const Inputs& inputs,
                                   support::Diagnostics& diags) {
  const std::optional<report::Profile> measured =
      compiled.parts.empty() ? profile_host(compiled, inputs, diags) : profile_hosts(compiled, inputs, diags);
  if (!measured) return std::nullopt;
  return to_json(*measured);
}

std::optional<std::string> profile_buffers(const collage_executable& executable, const void* const* inputs,
                                           support::Diagnostics& diags) {
  if (!api::check_runtime(diags)) return std::nullopt;
  const auto tensors = inputs_of(*executable.compiled, inputs, diags);
  return tensors ? profile(*executable.compiled, *tensors, diags) : std::nullopt;
}

/// The specialisation that a session would take.
std::optional<std::string> profile_arrays(const collage_executable& executable, std::span<const collage_array> inputs,
                                          support::Diagnostics& diags) {
  if (!api::check_runtime(diags)) return std::nullopt;
  const runtime::ShapedInputs shaped(executable.compiled, executable.shaped);
  const std::string& model = executable.compiled->plan.model;
  const auto choice = shaped.choose(inputs);
  if (!choice) return diags.error_at(Code::RunFailed, model, "{}", choice.message());
  const auto chosen = shaped.model(choice->variant);
  if (!chosen) return diags.error_at(Code::RunFailed, model, "{}", chosen.message());
  return profile(**chosen, shaped.padded(inputs, *choice), diags);
}

}  // namespace

char* collage_profile_json(collage_compiler* compiler, const collage_executable* executable,
                           const void* const* inputs) {
  if (compiler == nullptr || executable == nullptr) return nullptr;
  api::CompilerState& state = *compiler->state;
  return api::long_text_of(state, [&] { return profile_buffers(*executable, inputs, *state.diags); });
}

char* collage_profile_arrays_json(collage_compiler* compiler, const collage_executable* executable,
                                  const collage_array* inputs, size_t count) {
  if (compiler == nullptr || executable == nullptr || (inputs == nullptr && count > 0)) return nullptr;
  api::CompilerState& state = *compiler->state;
  return api::long_text_of(state, [&] { return profile_arrays(*executable, {inputs, count}, *state.diags); });
}
