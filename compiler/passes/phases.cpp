// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/phases.h"

#include <fmt/format.h>

#include <algorithm>

namespace collage::passes {
namespace {

using support::Code;
using support::Diagnostics;

/// The step with this name; null if there is none.
PhaseStep* find_step(Schedule& schedule, std::string_view name) {
  auto at = std::find_if(schedule.begin(), schedule.end(), [&](const PhaseStep& step) { return step.name == name; });
  return at == schedule.end() ? nullptr : &*at;
}

/// Adds what the backend calls `name`, unless it is there.
void add_step(Schedule& schedule, const ir::Backend& backend, const std::string& name) {
  const ir::Rewrite* rewrite = backend.find_rewrite(name);
  const std::string full_name = rewrite != nullptr ? backend.name + "." + name : name;
  PhaseStep* step = find_step(schedule, full_name);
  if (step == nullptr) {
    step = &schedule.emplace_back();
    step->name = full_name;
    step->rewrite = rewrite;
    if (rewrite != nullptr) {
      step->backend = &backend;
    } else {
      step->pass = find_pass(name);
    }
  }
  step->asked_by.push_back(backend.name);
}

void add_phase(Schedule& schedule, const ir::Backend& backend, bool is_post) {
  const ir::Phase* phase = backend.find_phase(is_post);
  if (phase == nullptr) return;
  for (const ir::PhaseItem& item : phase->items) add_step(schedule, backend, item.pass);
}

bool check_name(const ir::Backend& backend, const std::string& name, const support::Span& span, Diagnostics& diags) {
  if (find_pass(name) != nullptr || backend.find_rewrite(name) != nullptr) return true;
  std::vector<std::string> known = pass_names();
  for (const ir::Rewrite& rewrite : backend.rewrites) known.push_back(rewrite.name);
  return diags.error(Code::UnknownPass, span, "there is no pass or rewrite `{}`", name)
      .did_you_mean(support::closest(name, known));
}

bool check_phase(const ir::Backend& backend, const ir::Phase& phase, Diagnostics& diags) {
  bool ok = true;
  for (const ir::PhaseItem& item : phase.items) {
    if (!check_name(backend, item.pass, item.span, diags)) {
      ok = false;
    } else if (phase.is_post && find_pass(item.pass) != nullptr) {
      ok = diags.error(Code::UnknownPass, item.span, "`{}` works on whole models, before they are placed", item.pass)
               .note("`phase post` takes rewrites of the backend, which then work inside its partitions");
    }
  }
  return ok;
}

bool is_listed(const ir::Backend& backend, const ir::Rewrite& rewrite) {
  return std::any_of(backend.phases.begin(), backend.phases.end(), [&](const ir::Phase& phase) {
    return std::any_of(phase.items.begin(), phase.items.end(),
                       [&](const ir::PhaseItem& item) { return item.pass == rewrite.name; });
  });
}

}  // namespace

bool check_phases(const ir::RuleSet& rules, Diagnostics& diags) {
  bool ok = true;
  for (const ir::Backend& backend : rules.backends) {
    for (const ir::Rewrite& rewrite : backend.rewrites) {
      if (find_pass(rewrite.name) != nullptr) {
        ok = diags.error(Code::DuplicateName, rewrite.span, "`{}` is the name of a pass", rewrite.name);
      }
    }
    for (const ir::Phase& phase : backend.phases) ok = check_phase(backend, phase, diags) && ok;
    for (const ir::Rewrite& rewrite : backend.rewrites) {
      if (backend.phases.empty() || is_listed(backend, rewrite)) continue;
      diags.warning(Code::UnusedRewrite, rewrite.span, "rewrite `{}` is in no phase and never runs", rewrite.name)
          .note("a backend that has a phase lists its rewrites in one");
    }
  }
  return ok;
}

Schedule compose_pre_phase(const std::vector<const ir::Backend*>& active) {
  Schedule schedule;
  for (const ir::Backend* backend : active) add_phase(schedule, *backend, /*is_post=*/false);
  for (const Pass& pass : all_passes()) {
    if (find_step(schedule, pass.name) != nullptr) continue;
    PhaseStep& step = schedule.emplace_back();
    step.name = pass.name;
    step.pass = &pass;
  }
  for (const ir::Backend* backend : active) {
    if (!backend->phases.empty()) continue;
    for (const ir::Rewrite& rewrite : backend->rewrites) add_step(schedule, *backend, rewrite.name);
  }
  return schedule;
}

Schedule compose_post_phase(const ir::Backend& backend) {
  Schedule schedule;
  add_phase(schedule, backend, /*is_post=*/true);
  return schedule;
}

std::string to_string(const Schedule& schedule) {
  std::string text = fmt::format("{:<32}asked for by\n", "pass");
  for (const PhaseStep& step : schedule) {
    const std::string who = step.asked_by.empty() ? "(default)" : fmt::format("{}", fmt::join(step.asked_by, ", "));
    text += fmt::format("{:<32}{}\n", step.name, who);
  }
  return text;
}

}  // namespace collage::passes
