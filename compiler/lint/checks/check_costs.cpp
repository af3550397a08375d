// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "compiler/lint/checks/checks.h"
#include "compiler/lint/checks/families.h"
#include "compiler/lint/logic/ranges.h"
#include "compiler/lint/models/example_models.h"

namespace collage::lint {
namespace {

using support::Code;

constexpr int kTries = 96;

/// Ranges of backend attributes that list their values.
KnownRange attribute_ranges(const ir::Backend& backend) {
  return [&backend](const ir::Expr& expr) -> std::optional<Range> {
    if (expr.kind != ir::Expr::Kind::BackendAttr) return std::nullopt;
    const ir::AttrDecl* attr = backend.find_attr(expr.text);
    if (attr == nullptr || attr->allowed.empty()) return std::nullopt;
    std::optional<Range> range;
    for (const runtime::AttrValue& value : attr->allowed) {
      const int64_t* whole = std::get_if<int64_t>(&value);
      const double* real = std::get_if<double>(&value);
      if (whole == nullptr && real == nullptr) return std::nullopt;
      double number = whole != nullptr ? static_cast<double>(*whole) : *real;
      if (!range) range = Range{number, number};
      *range = {std::min(range->low, number), std::max(range->high, number)};
    }
    return range;
  };
}

/// A cost that is no time, in the words of `match::evaluate_cost`.
bool is_senseless(const std::string& why) {
  return why.find("negative") != std::string::npos || why.find("not a number") != std::string::npos ||
         why.find("infinite") != std::string::npos || why.find(" s is above ") != std::string::npos ||
         why.find("divides by zero") != std::string::npos || why.find("does not fit 64 bits") != std::string::npos ||
         why.find(") has no value") != std::string::npos;
}

/// Passes the models of the rule's tests, and generated ones, to a function until it returns true.
bool look_at_models(const ir::Backend& backend, int rule, int tries,
                    const std::function<bool(const ir::Graph&)>& look) {
  for (const ir::RuleTest& test : backend.rules[static_cast<size_t>(rule)].tests) {
    auto graph = graph_of_test(test);
    if (graph && look(*graph)) return true;
  }
  return tries > 0 && search_models(backend, rule, tries, look);
}

/// Returns false if nothing was found.
bool check_rule(const ir::Backend& backend, int index, support::Diagnostics& diags) {
  const ir::Rule& rule = backend.rules[static_cast<size_t>(index)];
  const ir::Expr* cost = nullptr;
  bool may_be_negative = false;
  for (const ir::Kernel& kernel : rule.kernels) {
    if (!kernel.cost) continue;
    bool is_new = !may_be_negative && !(range_of(*kernel.cost, {}, attribute_ranges(backend)).low >= 0);
    may_be_negative = may_be_negative || is_new;
    if (cost == nullptr || is_new) cost = &*kernel.cost;
  }
  if (cost == nullptr) return false;
  // A cost without a sensible value anywhere has none on the rule's tests.
  return look_at_models(backend, index, may_be_negative ? kTries : 0, [&](const ir::Graph& graph) {
    match::MatchReport report;
    match::match_rule(graph, backend, index, {}, &report);
    for (const match::Refusal& refusal : report.refusals) {
      bool is_wrong = is_senseless(refusal.message);
      if (refusal.kind != match::Refusal::Kind::Cost || !is_wrong) continue;
      diags.warning(Code::BadCost, cost->span, "rule `{}` loses matches: {}", rule.family, refusal.message)
          .note("for example on this model:\n{}", text_of(graph));
      return true;
    }
    return false;
  });
}

/// Checks the cost of partitions of one match.
void check_policy(const ir::Backend& backend, support::Diagnostics& diags) {
  const ir::PartitionPolicy& policy = backend.policy;
  if (!policy.cost || range_of(*policy.cost, {}, attribute_ranges(backend)).low >= 0) return;
  for (int index = 0; index < static_cast<int>(backend.rules.size()); ++index) {
    bool is_found = look_at_models(backend, index, kTries, [&](const ir::Graph& graph) {
      for (const match::Match& match : match::match_rule(graph, backend, index, {}, nullptr)) {
        match::Quantities quantities = match::quantities_of(graph, match.nodes, &backend);
        quantities.launch = policy.launch.seconds();
        quantities.rules = match.cost;
        const auto cost = match::evaluate_cost(*policy.cost, {graph, backend, {}, {}, &quantities});
        if (cost || !is_senseless(cost.message())) continue;
        diags.warning(Code::BadCost, policy.cost->span, "candidates of `{}` are lost: {}", backend.name, cost.message())
            .note("for example rule `{}` on this model:\n{}", backend.rules[static_cast<size_t>(index)].name,
                  text_of(graph));
        return true;
      }
      return false;
    });
    if (is_found) return;
  }
}

}  // namespace

void check_costs(const ir::RuleSet& rules, support::Diagnostics& diags) {
  for (const ir::Backend& backend : rules.backends) {
    for (const std::vector<int>& family : families_of(backend)) {
      std::any_of(family.begin(), family.end(), [&](int member) { return check_rule(backend, member, diags); });
    }
    check_policy(backend, diags);
  }
}

}  // namespace collage::lint
