// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "compiler/lint/checks/checks.h"
#include "compiler/lint/checks/families.h"
#include "compiler/lint/models/expand_pattern.h"

namespace collage::lint {
namespace {

using support::Code;

/// Number of operators on the longest path through the form: the least number of nodes of a match, since they differ.
int depth_of(const Form& form) {
  int below = 0;
  for (const Form& operand : form.operands) below = std::max(below, depth_of(operand));
  return below + (form.kind == Form::Kind::Op ? 1 : 0);
}

/// Collects the operators of the form: nodes with different operators are different.
void collect_operators(const Form& form, std::set<const ir::OpDef*>* ops) {
  if (form.ops.size() == 1) ops->insert(form.ops[0]);
  for (const Form& operand : form.operands) collect_operators(operand, ops);
}

int least_nodes(const Form& form) {
  std::set<const ir::OpDef*> ops;
  collect_operators(form, &ops);
  return std::max(depth_of(form), static_cast<int>(ops.size()));
}

/// Returns whether every operator that reads a value from outside, other than a required constant, is one of `ops`.
bool starts_only_with(const Form& form, const std::set<int>& inside, const std::vector<const ir::OpDef*>& ops) {
  bool reads_outside = std::any_of(form.operands.begin(), form.operands.end(), [&](const Form& operand) {
    bool is_inside = std::any_of(operand.captures.begin(), operand.captures.end(),
                                 [&](int capture) { return inside.count(capture) != 0; });
    return operand.kind == Form::Kind::Value && !operand.is_const && !is_inside;
  });
  bool is_one = std::all_of(form.ops.begin(), form.ops.end(),
                            [&](const ir::OpDef* op) { return std::find(ops.begin(), ops.end(), op) != ops.end(); });
  if ((reads_outside || form.takes_rest) && !is_one) return false;
  return std::all_of(form.operands.begin(), form.operands.end(), [&](const Form& operand) {
    return operand.kind != Form::Kind::Op || starts_only_with(operand, inside, ops);
  });
}

void collect_inside(const Form& form, std::set<int>* inside) {
  if (form.kind == Form::Kind::Op) inside->insert(form.captures.begin(), form.captures.end());
  for (const Form& operand : form.operands) collect_inside(operand, inside);
}

/// The least value of a measure over the forms of all members.
template <typename Measure>
int least_of(const std::vector<Form>& forms, Measure measure) {
  int least = measure(forms[0]);
  for (const Form& form : forms) least = std::min(least, measure(form));
  return least;
}

}  // namespace

void check_limits(const ir::RuleSet& rules, support::Diagnostics& diags) {
  for (const ir::Backend& backend : rules.backends) {
    const ir::PartitionPolicy& policy = backend.policy;
    for (const std::vector<int>& family : families_of(backend)) {
      const ir::Rule& rule = backend.rules[static_cast<size_t>(family[0])];
      std::vector<Form> forms;
      bool is_known = true;
      for (int member : family) {
        auto some = forms_of(backend.rules[static_cast<size_t>(member)]);
        is_known = is_known && some;
        if (!some) break;
        std::erase_if(*some, [](const Form& form) { return form.kind != Form::Kind::Op; });
        forms.insert(forms.end(), some->begin(), some->end());
      }
      if (!is_known || forms.empty()) continue;
      int nodes = least_of(forms, least_nodes);
      int depth = least_of(forms, depth_of);
      auto report = [&](const std::string& why) {
        diags.warning(Code::NeverCandidate, rule.span, "rule `{}` never becomes a candidate: {}", rule.family, why)
            .note(policy.span, "the limits are here");
      };
      if (policy.max_ops > 0 && nodes > policy.max_ops) {
        report(fmt::format("it takes at least {} operators, and the limit is {}", nodes, policy.max_ops));
      } else if (policy.max_depth > 0 && depth > policy.max_depth) {
        report(fmt::format("it is at least {} operators deep, and the limit is {}", depth, policy.max_depth));
      } else if (policy.join == ir::JoinKind::None && !policy.never_starts.empty()) {
        bool always = std::all_of(forms.begin(), forms.end(), [&](const Form& form) {
          std::set<int> inside;
          collect_inside(form, &inside);
          return starts_only_with(form, inside, policy.never_starts);
        });
        if (always) report("it starts with what candidates may never start with, and nothing is joined");
      }
    }
  }
}

}  // namespace collage::lint
