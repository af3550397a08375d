// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/phases.h"

#include <fmt/format.h>

#include <algorithm>

namespace collage::passes {
namespace {

using support::Code;
using support::Diagnostics;

/// `after` in a phase of one backend: the step waits for another.
struct Edge {
  size_t waits_for = 0;
  const ir::Backend* backend = nullptr;
  support::Span span;
};

struct PlannedStep {
  PhaseStep step;
  support::Span span;       ///< the first place that lists it; invalid if no phase does
  std::vector<Edge> edges;  ///< in the order in which they are written
};

std::string key_of(const ir::Backend& backend, const std::string& name) {
  return backend.find_rewrite(name) != nullptr ? backend.name + "." + name : name;
}

class Composer {
 public:
  explicit Composer(Diagnostics& diags) : diags_(diags) {}

  std::optional<Schedule> run(const std::vector<const ir::Backend*>& backends, bool is_post) {
    bool is_default = backends.empty() && !is_post;
    for (const ir::Backend* backend : backends) {
      const ir::Phase* phase = backend->find_phase(is_post);
      is_default = is_default || (!is_post && (phase == nullptr || !phase->is_only));
      if (phase == nullptr) continue;
      for (const ir::PhaseItem& item : phase->items) {
        if (!item.is_never) add(key_of(*backend, item.pass), *backend, item.pass, item.span);
      }
    }
    if (is_default) add_defaults(backends);
    bool ok = true;
    for (const ir::Backend* backend : backends) {
      const ir::Phase* phase = backend->find_phase(is_post);
      if (phase == nullptr) continue;
      for (const ir::PhaseItem& item : phase->items) ok = (!item.is_never || leave_out(*backend, item)) && ok;
    }
    if (!ok) return std::nullopt;
    for (const ir::Backend* backend : backends) {
      const ir::Phase* phase = backend->find_phase(is_post);
      if (phase == nullptr) continue;
      for (const ir::PhaseItem& item : phase->items) add_edge(*backend, item);
    }
    return order();
  }

 private:
  /// Index of the step, or steps_.size().
  size_t find(const std::string& key) const {
    auto at = std::find_if(steps_.begin(), steps_.end(),
                           [&](const PlannedStep& planned) { return planned.step.name == key; });
    return static_cast<size_t>(at - steps_.begin());
  }

  void add(const std::string& key, const ir::Backend& backend, const std::string& name, support::Span span) {
    size_t at = find(key);
    if (at == steps_.size()) {
      steps_.emplace_back();
      PlannedStep& planned = steps_.back();
      planned.step.name = key;
      planned.step.rewrite = backend.find_rewrite(name);
      if (planned.step.rewrite != nullptr) {
        planned.step.backend = &backend;
      } else {
        planned.step.pass = find_pass(name);
      }
      planned.span = span;
    }
    steps_[at].step.asked_by.push_back(backend.name);
  }

  void add_defaults(const std::vector<const ir::Backend*>& backends) {
    for (const Pass& pass : all_passes()) {
      if (find(std::string(pass.name)) != steps_.size()) continue;
      steps_.emplace_back();
      steps_.back().step.name = pass.name;
      steps_.back().step.pass = &pass;
    }
    for (const ir::Backend* backend : backends) {
      if (!backend->phases.empty()) continue;
      for (const ir::Rewrite& rewrite : backend->rewrites) {
        add(key_of(*backend, rewrite.name), *backend, rewrite.name, rewrite.span);
      }
    }
  }

  bool leave_out(const ir::Backend& backend, const ir::PhaseItem& item) {
    size_t at = find(item.pass);
    if (at == steps_.size()) return true;
    const PlannedStep& planned = steps_[at];
    if (!planned.step.asked_by.empty()) {
      return diags_
          .error(Code::PhaseConflict, item.span, "backend `{}` forbids `{}`, which backend `{}` asks for", backend.name,
                 item.pass, planned.step.asked_by[0])
          .note(planned.span, "backend `{}` asks for it here", planned.step.asked_by[0])
          .note("`-t` can activate one of them alone");
    }
    steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(at));
    schedule_.left_out.emplace_back(item.pass, backend.name);
    return true;
  }

  void add_edge(const ir::Backend& backend, const ir::PhaseItem& item) {
    if (item.after.empty()) return;
    size_t from = find(key_of(backend, item.after));
    size_t to = find(key_of(backend, item.pass));
    if (from < steps_.size() && to < steps_.size()) steps_[to].edges.push_back({from, &backend, item.span});
  }

  std::optional<Schedule> order() {
    std::vector<bool> is_done(steps_.size(), false);
    for (size_t done = 0; done < steps_.size(); ++done) {
      size_t next = 0;
      auto is_ready = [&](size_t i) {
        return !is_done[i] && std::all_of(steps_[i].edges.begin(), steps_[i].edges.end(),
                                          [&](const Edge& edge) { return is_done[edge.waits_for]; });
      };
      while (next < steps_.size() && !is_ready(next)) ++next;
      if (next == steps_.size()) return refuse_cycle(is_done);
      is_done[next] = true;
      schedule_.steps.push_back(steps_[next].step);
    }
    return std::move(schedule_);
  }

  /// Reports a cycle. Every step that is not done waits for another one that is not done, so a walk along them returns.
  std::optional<Schedule> refuse_cycle(const std::vector<bool>& is_done) {
    auto first = std::find(is_done.begin(), is_done.end(), false);
    std::vector<size_t> walk = {static_cast<size_t>(first - is_done.begin())};
    std::vector<const Edge*> edges;  // edges[i] leads from walk[i] to walk[i + 1]
    while (std::count(walk.begin(), walk.end(), walk.back()) < 2) {
      const std::vector<Edge>& waits = steps_[walk.back()].edges;
      edges.push_back(
          &*std::find_if(waits.begin(), waits.end(), [&](const Edge& edge) { return !is_done[edge.waits_for]; }));
      walk.push_back(edges.back()->waits_for);
    }
    auto way_in = std::find(walk.begin(), walk.end(), walk.back()) - walk.begin();
    walk.erase(walk.begin(), walk.begin() + way_in);
    edges.erase(edges.begin(), edges.begin() + way_in);
    std::string cycle;
    for (size_t at : walk) cycle += (cycle.empty() ? "`" : " after `") + steps_[at].step.name + "`";
    std::vector<std::string> backends;
    for (const Edge* edge : edges) {
      std::string name = "`" + edge->backend->name + "`";
      if (std::find(backends.begin(), backends.end(), name) == backends.end()) backends.push_back(name);
    }
    bool is_one = backends.size() == 1;
    auto error = diags_.error(Code::PhaseConflict, edges[0]->span, "{} {} in a cycle: {}", fmt::join(backends, " and "),
                              is_one ? "orders its passes" : "order passes", cycle);
    for (size_t i = 1; i < edges.size(); ++i) {
      error.note(edges[i]->span, "backend `{}` states it here", edges[i]->backend->name);
    }
    return std::nullopt;
  }

  Diagnostics& diags_;
  std::vector<PlannedStep> steps_;
  Schedule schedule_;
};

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
    bool is_known = check_name(backend, item.pass, item.span, diags);
    if (!item.after.empty()) is_known = check_name(backend, item.after, item.span, diags) && is_known;
    ok = ok && is_known;
    if (!is_known) continue;
    if (item.is_never && find_pass(item.pass) == nullptr) {
      ok = diags.error(Code::PhaseConflict, item.span,
                       "`{}` is a rewrite of this backend: it does not run where it is not listed", item.pass);
    }
    if (phase.is_post && find_pass(item.pass) != nullptr) {
      ok = diags.error(Code::UnknownPass, item.span, "`{}` works on whole models, before they are placed", item.pass)
               .note("`phase post` takes rewrites of the backend, which then work inside its partitions");
    }
  }
  std::vector<const ir::Backend*> alone = {&backend};
  return ok && Composer(diags).run(alone, phase.is_post);
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

std::optional<Schedule> compose_pre_phase(const std::vector<const ir::Backend*>& active, Diagnostics& diags) {
  return Composer(diags).run(active, false);
}

std::optional<Schedule> compose_post_phase(const ir::Backend& backend, Diagnostics& diags) {
  return Composer(diags).run({&backend}, true);
}

std::string to_string(const Schedule& schedule) {
  std::string text = fmt::format("{:<32}asked for by\n", "pass");
  for (const PhaseStep& step : schedule.steps) {
    std::string who;
    for (const std::string& backend : step.asked_by) who += (who.empty() ? "" : ", ") + backend;
    text += fmt::format("{:<32}{}\n", step.name, who.empty() ? "(default)" : who);
  }
  for (const auto& [pass, backend] : schedule.left_out) text += fmt::format("{:<32}never, says {}\n", pass, backend);
  return text;
}

}  // namespace collage::passes
