// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "compiler/lint/checks/checks.h"
#include "compiler/lint/checks/comparisons.h"
#include "compiler/lint/checks/families.h"
#include "compiler/lint/checks/rule_keys.h"
#include "compiler/lint/checks/subsumes.h"
#include "compiler/lint/models/example_models.h"

namespace collage::lint {
namespace {

using support::Code;

struct Shadow {
  int by = -1;
  bool is_duplicate = false;
};

/// Says why `special` has no effect beside `general`; nullopt if it may have one.
std::optional<Shadow> shadow(const ir::Backend& backend, int general_index, int special_index) {
  const ir::Rule& general = backend.rules[static_cast<size_t>(general_index)];
  const ir::Rule& special = backend.rules[static_cast<size_t>(special_index)];
  std::optional<Cover> cover = covers(backend, general, special);
  if (!cover) return std::nullopt;
  bool is_measured = backend.policy.measured || special.measured;
  // A different lowering may measure faster.
  if (is_measured && !cover->same_lowering) return std::nullopt;
  if (!cover->equal_cost) return Shadow{general_index, false};
  bool loses_ties = general.name < special.name;
  std::optional<Cover> back = covers(backend, special, general);
  if (back && back->equal_cost) return loses_ties ? std::optional(Shadow{general_index, true}) : std::nullopt;
  return loses_ties || cover->same_lowering ? std::optional(Shadow{general_index, false}) : std::nullopt;
}

/// Finds a model on which both match the same nodes.
std::optional<ir::Graph> common_witness(const ir::Backend& backend, int a, int b) {
  constexpr size_t kMade = 3;
  for (int first : {a, b}) {
    for (ir::Graph& graph : witnesses_of(backend, first, kMade)) {
      for (const match::Match& one : match::match_rule(graph, backend, a, {}, nullptr)) {
        for (const match::Match& other : match::match_rule(graph, backend, b, {}, nullptr)) {
          if (one.nodes == other.nodes && one.nodes.size() == graph.node_count()) return std::move(graph);
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace

void check_shadowed(const ir::RuleSet& rules, support::Diagnostics& diags) {
  for (const ir::Backend& backend : rules.backends) {
    auto count = static_cast<int>(backend.rules.size());
    const RuleKeys keys(backend);
    Comparisons comparisons;
    for (const std::vector<int>& family : families_of(backend)) {
      std::vector<std::pair<int, Shadow>> shadows;
      for (int member : family) {
        const std::string& own = backend.rules[static_cast<size_t>(member)].family;
        for (int other = 0; other < count; ++other) {
          if (!comparisons.may_take(1)) break;
          if (backend.rules[static_cast<size_t>(other)].family == own || !keys.may_meet(other, member)) continue;
          if (!comparisons.may_take(kWholeComparison)) break;
          auto found = shadow(backend, other, member);
          if (!found) continue;
          shadows.emplace_back(member, *found);
          break;
        }
      }
      bool is_whole_family = shadows.size() == family.size();
      for (const auto& [member, found] : shadows) {
        const ir::Rule& special = backend.rules[static_cast<size_t>(member)];
        const ir::Rule& general = backend.rules[static_cast<size_t>(found.by)];
        std::optional<ir::Graph> witness = common_witness(backend, found.by, member);
        if (!witness) continue;
        const std::string& name = is_whole_family ? special.family : special.name;
        auto warning = found.is_duplicate
                           ? diags.warning(Code::DuplicateRule, special.span,
                                           "rule `{}` is the same as `{}`: both match the same nodes at the same cost",
                                           name, general.name)
                           : diags.warning(Code::ShadowedRule, special.span,
                                           "rule `{}` adds nothing: `{}` matches wherever it does and never costs more",
                                           name, general.name);
        warning.note(general.span, "`{}` is here", general.name);
        warning.note("both match this model:\n{}", text_of(*witness));
        if (is_whole_family) break;
      }
    }
    comparisons.report(backend, "shadowed", diags);
  }
}

}  // namespace collage::lint
