// SPDX-License-Identifier: Apache-2.0
#include "compiler/program/local_hosts.h"

#include "runtime/exec/host_constants.h"

namespace collage::program {

std::vector<runtime::HostPart> host_parts(Program& program) {
  std::vector<runtime::HostPart> parts;
  for (plan::BuiltPlan& part : program.parts) {
    runtime::join_host_constants(part.plan);
    parts.push_back({part.plan, program.jit});
  }
  return parts;
}

std::optional<LoadedHosts> load_hosts(Program& program, int threads, support::Diagnostics& diags,
                                      const runtime::LoadOptions& options) {
  runtime::Result<LoadedHosts> loaded = runtime::load_local_hosts(host_parts(program), threads, options);
  if (loaded) return std::move(*loaded);
  return diags.error_at(support::Code::RunFailed, program.first().plan.model, "{}", loaded.message());
}

}  // namespace collage::program
