// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/match/rewrite.h"
#include "runtime/core/joined.h"

namespace collage::request {

passes::Schedule pre_schedule(const place::ActiveBackends& active) {
  std::vector<const ir::Backend*> backends;
  for (const place::ActiveBackend& backend : active) backends.push_back(backend.backend);
  return passes::compose_pre_phase(backends);
}

namespace {

/// Operators of a pattern, with all of its choices. Places that take any of many (pointwise operators) tell nothing.
void add_operators(const ir::Pattern& pattern, std::set<std::string_view>* names) {
  constexpr size_t kMostAlike = 4;
  if (pattern.ops.size() <= kMostAlike) {
    for (const ir::OpDef* op : pattern.ops) names->insert(op->name);
  }
  for (const ir::Pattern& operand : pattern.operands) add_operators(operand, names);
  for (const ir::Pattern& choice : pattern.choices) add_operators(choice, names);
}

bool names_all(const std::set<std::string_view>& names, const std::vector<std::string_view>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](std::string_view name) { return names.contains(name); });
}

bool names_whole(const ir::Pattern& pattern, std::string_view whole) {
  const auto within = [whole](const ir::Pattern& part) { return names_whole(part, whole); };
  return std::any_of(pattern.ops.begin(), pattern.ops.end(),
                     [whole](const ir::OpDef* op) { return op->name == whole; }) ||
         std::any_of(pattern.operands.begin(), pattern.operands.end(), within) ||
         std::any_of(pattern.choices.begin(), pattern.choices.end(), within);
}

/// Whether a rule or rewrite of the backend is about the parts, and no rule about the whole.
bool is_about(const ir::Backend& backend, const passes::Form& form) {
  bool is_about_parts = false, is_about_whole = false;
  for (const ir::Rule& rule : backend.rules) {
    std::set<std::string_view> names;
    add_operators(rule.root, &names);
    for (const ir::Pattern& other : rule.others) add_operators(other, &names);
    is_about_parts = is_about_parts || names_all(names, form.takes);
    is_about_whole = is_about_whole || (!form.makes.empty() && names_whole(rule.root, form.makes));
  }
  if (is_about_parts && !is_about_whole) return true;
  return std::any_of(backend.rewrites.begin(), backend.rewrites.end(), [&](const ir::Rewrite& rewrite) {
    std::set<std::string_view> names;
    add_operators(rewrite.from.root, &names);
    return names_all(names, form.takes);
  });
}

/// A pass that would take away what the rules of a backend are about.
bool is_unwanted(const passes::Pass& pass, const place::ActiveBackends& active) {
  return std::any_of(passes::all_forms().begin(), passes::all_forms().end(), [&](const passes::Form& form) {
    return form.pass == pass.name && std::any_of(active.begin(), active.end(), [&](const place::ActiveBackend& one) {
             return is_about(*one.backend, form);
           });
  });
}

/// Adds folding at the end, where it is one of the passes and rewrites follow it: these may have made constants.
void fold_again(std::vector<passes::Pass>* all, const RewriteCounts* counts) {
  auto is_folding = [](const passes::Pass& pass) { return pass.name == "fold_constants"; };
  auto first = std::find_if(all->begin(), all->end(), is_folding);
  if (first == all->end()) return;
  auto is_rewrite = [](const passes::Pass& pass) { return passes::find_pass(pass.name) == nullptr; };
  if (std::none_of(first, all->end(), is_rewrite)) return;
  passes::Pass again = *first;
  again.run = [fold = first->run, counts](ir::Graph& graph, passes::PassContext& context) {
    return !counts->empty() && fold(graph, context);
  };
  all->push_back(std::move(again));
}

}  // namespace

std::vector<passes::Pass> runnable(const passes::Schedule& schedule, const place::ActiveBackends& active,
                                   RewriteCounts* counts) {
  std::vector<passes::Pass> all;
  for (const passes::PhaseStep& step : schedule) {
    if (step.pass != nullptr) {
      if (!is_unwanted(*step.pass, active)) all.push_back(*step.pass);
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
  fold_again(&all, counts);
  return all;
}

std::string to_string(const RewriteCounts& counts) {
  std::string text;
  for (const auto& [name, count] : counts) runtime::add_to_list(text, fmt::format("{} {}x", name, count));
  return text;
}

}  // namespace collage::request
