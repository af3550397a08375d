// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <set>

#include "compiler/lint/checks/checks.h"
#include "compiler/lint/checks/families.h"
#include "compiler/lint/models/expand_pattern.h"

namespace collage::lint {
namespace {

using ir::Pattern;
using support::Code;

/// Returns whether `wide` matches wherever `narrow` does, with the same nodes and the same names for them.
bool is_wider(const Form& wide, const Form& narrow) {
  if (wide.kind != narrow.kind || (wide.is_const && !narrow.is_const)) return false;
  std::set<int> wide_names(wide.captures.begin(), wide.captures.end());
  std::set<int> narrow_names(narrow.captures.begin(), narrow.captures.end());
  bool has_ops = std::all_of(narrow.ops.begin(), narrow.ops.end(), [&](const ir::OpDef* op) {
    return std::find(wide.ops.begin(), wide.ops.end(), op) != wide.ops.end();
  });
  if (wide_names != narrow_names || !has_ops || (narrow.takes_rest && !wide.takes_rest)) return false;
  size_t given = narrow.operands.size();
  if (wide.operands.size() > given || (wide.operands.size() < given && !wide.takes_rest)) return false;
  for (size_t i = 0; i < given; ++i) {
    bool fits = i < wide.operands.size()
                    ? is_wider(wide.operands[i], narrow.operands[i])
                    : narrow.operands[i].kind != Form::Kind::Op && narrow.operands[i].captures.empty();
    if (!fits) return false;
  }
  return true;
}

bool is_wider(const Pattern& wide, const Pattern& narrow) {
  auto wide_forms = forms_of(wide);
  auto narrow_forms = forms_of(narrow);
  if (!wide_forms || !narrow_forms) return false;
  return std::all_of(narrow_forms->begin(), narrow_forms->end(), [&](const Form& form) {
    return std::any_of(wide_forms->begin(), wide_forms->end(),
                       [&](const Form& other) { return is_wider(other, form); });
  });
}

struct Covered {
  support::Span alternative;
  support::Span by;

  friend bool operator==(const Covered&, const Covered&) = default;
};

void find_covered(const Pattern& pattern, std::vector<Covered>* found) {
  if (pattern.kind == Pattern::Kind::Alternatives) {
    for (size_t i = 0; i < pattern.choices.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (!is_wider(pattern.choices[j], pattern.choices[i])) continue;
        found->push_back({pattern.choices[i].span, pattern.choices[j].span});
        break;
      }
    }
  }
  for (const Pattern& operand : pattern.operands) find_covered(operand, found);
  for (const Pattern& choice : pattern.choices) find_covered(choice, found);
}

/// Names of enclosing operators, of all operators, and of constants.
struct Names {
  std::set<int> around;
  std::set<int> operators;
  std::set<int> constants;
};

/// Finds a name that the form uses in contradictory ways: as its own operand, or as both a result and a constant.
std::optional<int> find_cycle(const Form& form, Names* names) {
  std::vector<int> added;
  for (int capture : form.captures) {
    if (names->around.count(capture) != 0) return capture;
    if (form.is_const) names->constants.insert(capture);
    if (form.kind != Form::Kind::Op) continue;
    names->operators.insert(capture);
  }
  if (form.kind == Form::Kind::Op) {
    for (int capture : form.captures) {
      if (names->around.insert(capture).second) added.push_back(capture);
    }
  }
  for (const Form& operand : form.operands) {
    if (auto cycle = find_cycle(operand, names)) return cycle;
  }
  for (int capture : added) names->around.erase(capture);
  return std::nullopt;
}

struct Impossible {
  int capture = -1;
  bool is_cycle = false;

  friend bool operator==(const Impossible&, const Impossible&) = default;
};

/// Says why no form of the pattern can exist; nullopt if one may.
std::optional<Impossible> impossible(const Pattern& pattern) {
  auto forms = forms_of(pattern);
  if (!forms) return std::nullopt;
  std::optional<Impossible> why;
  for (const Form& form : *forms) {
    Names names;
    if (auto cycle = find_cycle(form, &names)) {
      why = Impossible{*cycle, true};
      continue;
    }
    auto both = std::find_if(names.operators.begin(), names.operators.end(),
                             [&](int capture) { return names.constants.count(capture) != 0; });
    if (both == names.operators.end()) return std::nullopt;
    why = Impossible{*both, false};
  }
  return why;
}

}  // namespace

void check_alternatives(const ir::RuleSet& rules, support::Diagnostics& diags) {
  for (const ir::Backend& backend : rules.backends) {
    for (const std::vector<int>& family : families_of(backend)) {
      const ir::Rule& first = backend.rules[static_cast<size_t>(family[0])];
      std::vector<Covered> covered;
      find_covered(first.root, &covered);
      std::optional<Impossible> why = impossible(first.root);
      for (int member : family) {
        const ir::Rule& rule = backend.rules[static_cast<size_t>(member)];
        std::vector<Covered> theirs;
        find_covered(rule.root, &theirs);
        std::erase_if(covered,
                      [&](const Covered& one) { return std::find(theirs.begin(), theirs.end(), one) == theirs.end(); });
        if (impossible(rule.root) != why) why.reset();
      }
      for (const Covered& one : covered) {
        diags
            .warning(Code::UnreachableAlternative, one.alternative,
                     "this alternative adds nothing: an earlier one matches wherever it does")
            .note(one.by, "the earlier one is here");
      }
      if (!why) continue;
      const ir::Capture& capture = first.captures[static_cast<size_t>(why->capture)];
      diags.warning(Code::ImpossiblePattern, capture.span, "rule `{}` never matches: `{}` {}", first.family,
                    capture.name,
                    why->is_cycle ? "would be an operand of itself" : "is the result of an operator, not a constant");
    }
  }
}

}  // namespace collage::lint
