// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/input/phases.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/match/rewrite.h"

namespace collage::driver {

std::optional<passes::Schedule> pre_schedule(const place::ActiveBackends& active, support::Diagnostics& diags) {
  std::vector<const ir::Backend*> backends;
  for (const place::ActiveBackend& backend : active) backends.push_back(backend.backend);
  return passes::compose_pre_phase(backends, diags);
}

std::vector<passes::Pass> runnable(const passes::Schedule& schedule, const place::ActiveBackends& active,
                                   RewriteCounts* counts) {
  std::vector<passes::Pass> all;
  for (const passes::PhaseStep& step : schedule.steps) {
    if (step.pass != nullptr) {
      all.push_back(*step.pass);
      continue;
    }
    auto owner = std::find_if(active.begin(), active.end(),
                              [&](const place::ActiveBackend& backend) { return backend.backend == step.backend; });
    auto run = [rewrite = step.rewrite, owner = &*owner, counts](ir::Graph& graph, passes::PassContext&) {
      match::RewriteReport report;
      bool changed =
          match::apply_rewrite(graph, *owner->backend, *rewrite, owner->attrs, &report, owner->environment.get());
      if (changed) (*counts)[rewrite->name] += report.applied;
      return changed;
    };
    all.push_back({step.name, "a rewrite of a rule file", run});
  }
  return all;
}

std::string to_string(const RewriteCounts& counts) {
  std::string text;
  for (const auto& [name, count] : counts) text += fmt::format("{}{} {}x", text.empty() ? "" : ", ", name, count);
  return text;
}

}  // namespace collage::driver
