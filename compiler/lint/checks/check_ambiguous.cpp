// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "compiler/lint/checks/checks.h"
#include "compiler/lint/checks/comparisons.h"
#include "compiler/lint/checks/families.h"
#include "compiler/lint/checks/rule_keys.h"
#include "compiler/lint/logic/expr_text.h"
#include "compiler/lint/models/example_models.h"
#include "compiler/match/derivation.h"

namespace collage::lint {
namespace {

using match::Match;

/// Names of the values that the captures bind in this match, so that formulas of two rules can be compared.
CaptureNames values_of(const ir::Graph& graph, const Match& match) {
  CaptureNames names;
  for (const match::Binding& binding : match.bindings) {
    names.push_back(binding.is_present() ? graph.value(binding.value).name : "?");
  }
  return names;
}

std::string lowering_text(const ir::Rule& rule, const CaptureNames& names) {
  std::string text = rule.lowering.symbol;
  for (const ir::LoweringArg& arg : rule.lowering.args) {
    text += "," + arg.name + "=";
    if (arg.capture >= 0) text += names[static_cast<size_t>(arg.capture)];
    if (arg.value) text += text_of(*arg.value, names);
  }
  return text;
}

std::map<std::string, std::string> formats(const ir::Backend& backend, const ir::Rule& rule,
                                           const CaptureNames& names) {
  std::map<std::string, std::string> formats;
  for (const ir::FormatClause& format : rule.formats) {
    if (format.capture < 0) {
      formats["_"] = ir::format_text(format, backend);
      continue;
    }
    std::string text =
        format.same_as >= 0 ? "as " + names[static_cast<size_t>(format.same_as)] : ir::format_text(format, backend);
    const std::string& value = names[static_cast<size_t>(format.capture)];
    if (value != "?" && text != ir::default_format_text(backend)) formats[value] = text;
  }
  return formats;
}

/// Returns whether two matches differ only in their lowering.
bool is_ambiguous(const ir::Graph& graph, const ir::Backend& backend, const Match& a, const Match& b) {
  const ir::Rule& rule_a = backend.rules[static_cast<size_t>(a.rule)];
  const ir::Rule& rule_b = backend.rules[static_cast<size_t>(b.rule)];
  bool say_lower = rule_a.lowering.span.is_valid() && rule_b.lowering.span.is_valid();
  bool have_formulas = rule_a.cost && rule_b.cost && !rule_a.measured && !rule_b.measured && !backend.policy.measured;
  bool are_plain = has_one_plain_kernel(rule_a) && has_one_plain_kernel(rule_b);
  if (!say_lower || !have_formulas || !are_plain || a.nodes != b.nodes) return false;
  CaptureNames names_a = values_of(graph, a);
  CaptureNames names_b = values_of(graph, b);
  // The formulas must be equal, not only their values for this model.
  return text_of(*rule_a.cost, names_a) == text_of(*rule_b.cost, names_b) &&
         formats(backend, rule_a, names_a) == formats(backend, rule_b, names_b) &&
         lowering_text(rule_a, names_a) != lowering_text(rule_b, names_b);
}

/// Captures that reach the lowering.
std::vector<int> lowered_captures(const ir::Rule& rule) {
  std::vector<int> captures;
  for (const ir::LoweringArg& arg : rule.lowering.args) {
    if (arg.capture >= 0) captures.push_back(arg.capture);
    if (arg.value) collect_captures(*arg.value, &captures);
  }
  return captures;
}

/// Finds a capture that two derivations of the same nodes bind to different operators, or that only one of them binds.
/// Swapped operands of a commutative operator are no difference.
std::optional<int> difference(const std::vector<int>& captures, const std::vector<match::Binding>& a,
                              const std::vector<match::Binding>& b) {
  for (int capture : captures) {
    const match::Binding& in_a = a[static_cast<size_t>(capture)];
    const match::Binding& in_b = b[static_cast<size_t>(capture)];
    if (in_a.node != in_b.node || in_a.is_present() != in_b.is_present()) return capture;
  }
  return std::nullopt;
}

/// Finds a capture of the rule whose value on this model depends on the order of derivations.
std::optional<int> ambiguous_capture(const ir::Graph& graph, const ir::Backend& backend, const ir::Rule& rule) {
  using Bindings = std::vector<match::Binding>;
  std::vector<int> captures = lowered_captures(rule);
  std::map<std::vector<ir::NodeId>, std::vector<Bindings>> seen;
  std::optional<int> found;
  const match::MatchLimits limits;
  std::optional<match::Derivation> derivation;
  auto look = [&] {
    Bindings bindings = derivation->bindings();
    match::EvalContext context{graph, backend, {}, bindings};
    bool holds = std::all_of(rule.clauses.begin(), rule.clauses.end(),
                             [&](const ir::Clause& clause) { return match::clause_holds(clause, context).is_ok(); });
    if (!holds) return;
    Match here;
    here.bindings = bindings;
    for (const Bindings& other : seen[derivation->nodes()]) {
      Match there;
      there.bindings = other;
      bool costs_alike = text_of(*rule.cost, values_of(graph, here)) == text_of(*rule.cost, values_of(graph, there));
      if (costs_alike && !found) found = difference(captures, bindings, other);
    }
    seen[derivation->nodes()].push_back(std::move(bindings));
  };
  for (ir::NodeId root : graph.node_ids()) {
    derivation.emplace(graph, rule, limits, /*explains=*/false, look);
    derivation->run(root);
    seen.clear();
  }
  return found;
}

/// Checks one rule that matches the same nodes in two ways.
void check_ways(const ir::Backend& backend, int index, support::Diagnostics& diags) {
  const ir::Rule& rule = backend.rules[static_cast<size_t>(index)];
  if (!has_one_plain_kernel(rule) || !rule.inners.empty()) return;
  if (!rule.cost || rule.measured || backend.policy.measured || rule.lowering.args.empty()) return;
  for (const ir::Graph& graph : witnesses_of(backend, index, 8)) {
    std::optional<int> capture = ambiguous_capture(graph, backend, rule);
    if (!capture) continue;
    diags
        .warning(support::Code::AmbiguousMatch, rule.captures[static_cast<size_t>(*capture)].span,
                 "`{}` can name different values for the same nodes, at the same cost",
                 rule.captures[static_cast<size_t>(*capture)].name)
        .note(rule.lowering.span, "the lowering uses it here")
        .note("for example on this model:\n{}", text_of(graph));
    return;
  }
}

/// The backend with these rules alone.
ir::Backend reduced(const ir::Backend& backend, const std::vector<int>& rules) {
  ir::Backend alone = match::with_patterns(backend, {});
  alone.policy = backend.policy;
  alone.default_layout = backend.default_layout;
  alone.default_storage = backend.default_storage;
  alone.denies = backend.denies;
  for (int rule : rules) alone.rules.push_back(backend.rules[static_cast<size_t>(rule)]);
  return alone;
}

/// Rules that may match the same nodes as one of the family at the same cost, the family among them; ascending. Of too
/// many the first ones.
std::vector<int> rivals_of(const ir::Backend& backend, const RuleKeys& keys, const std::vector<int>& family,
                           Comparisons& comparisons) {
  const std::string& own = backend.rules[static_cast<size_t>(family[0])].family;
  std::vector<int> rules = family;
  for (int other = 0; other < static_cast<int>(backend.rules.size()); ++other) {
    if (!comparisons.may_take(1)) break;
    if (backend.rules[static_cast<size_t>(other)].family == own || keys.first_like(other) != other) continue;
    bool may_be_alike = std::any_of(family.begin(), family.end(), [&](int member) {
      return keys.cost(member) == keys.cost(other) && keys.may_meet(member, other);
    });
    if (may_be_alike && comparisons.may_take(kWholeComparison)) rules.push_back(other);
  }
  std::sort(rules.begin(), rules.end());
  return rules;
}

}  // namespace

void check_ambiguous(const ir::RuleSet& rules, support::Diagnostics& diags) {
  for (const ir::Backend& whole : rules.backends) {
    const RuleKeys keys(whole);
    std::set<std::pair<std::string, std::string>> reported;
    Comparisons comparisons;
    for (const std::vector<int>& family : families_of(whole)) {
      if (!whole.rules[static_cast<size_t>(family[0])].lowering.span.is_valid()) continue;
      check_ways(whole, family[0], diags);
      if (keys.first_like(family[0]) != family[0]) continue;
      const std::vector<int> rivals = rivals_of(whole, keys, family, comparisons);
      if (rivals.size() == family.size()) continue;
      const ir::Backend backend = reduced(whole, rivals);
      for (const ir::Graph& graph : witnesses_of(whole, family[0], 2)) {
        std::vector<Match> matches = match::match_backend(graph, backend, {}, nullptr);
        for (const Match& a : matches) {
          for (const Match& b : matches) {
            const ir::Rule& first = backend.rules[static_cast<size_t>(a.rule)];
            const ir::Rule& second = backend.rules[static_cast<size_t>(b.rule)];
            if (a.rule >= b.rule || first.family == second.family || !is_ambiguous(graph, backend, a, b)) continue;
            if (!reported.emplace(first.family, second.family).second) continue;
            const ir::Rule& winner = first.name < second.name ? first : second;
            auto warning = diags.warning(support::Code::AmbiguousRules, second.span,
                                         "rules `{}` and `{}` match the same nodes at the same cost: only its name "
                                         "makes `{}` win",
                                         first.name, second.name, winner.name);
            warning.note(first.span, "`{}` is here", first.name);
            warning.note("both match this model:\n{}", text_of(graph));
          }
        }
      }
    }
    comparisons.report(whole, "ambiguous", diags);
  }
}

}  // namespace collage::lint
