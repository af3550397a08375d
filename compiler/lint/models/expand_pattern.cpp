// SPDX-License-Identifier: Apache-2.0
#include "compiler/lint/models/expand_pattern.h"

#include <algorithm>

namespace collage::lint {
namespace {

using ir::Pattern;

constexpr size_t kMostForms = 64;

using Forms = std::optional<std::vector<Form>>;

Forms expand(const Pattern& pattern);

/// Returns all combinations of the operands' forms.
Forms expand_op(const Pattern& pattern) {
  if (pattern.last_is_each || !pattern.results.empty()) return std::nullopt;
  Form bare;
  bare.kind = Form::Kind::Op;
  bare.ops = pattern.ops;
  bare.takes_rest = pattern.takes_rest;
  std::vector<Form> forms = {bare};
  for (const Pattern& operand : pattern.operands) {
    Forms choices = expand(operand);
    if (!choices || forms.size() * choices->size() > kMostForms) return std::nullopt;
    std::vector<Form> extended;
    for (const Form& form : forms) {
      for (const Form& choice : *choices) {
        extended.push_back(form);
        extended.back().operands.push_back(choice);
      }
    }
    forms = std::move(extended);
  }
  for (Form& form : forms) {
    while (!form.operands.empty() && form.operands.back().kind == Form::Kind::Absent) form.operands.pop_back();
  }
  return forms;
}

Forms expand_choices(const Pattern& pattern) {
  std::vector<Form> forms;
  for (const Pattern& choice : pattern.choices) {
    Forms some = expand(choice);
    if (!some || forms.size() + some->size() > kMostForms) return std::nullopt;
    forms.insert(forms.end(), some->begin(), some->end());
  }
  return forms;
}

Forms expand(const Pattern& pattern) {
  Forms forms;
  switch (pattern.kind) {
    case Pattern::Kind::Value: {
      Form value;
      value.is_const = pattern.is_const;
      forms.emplace();
      if (!pattern.is_absent) forms->push_back(value);
      if (pattern.is_absent || pattern.may_be_absent) {
        Form absent;
        absent.kind = Form::Kind::Absent;
        forms->push_back(absent);
      }
      break;
    }
    case Pattern::Kind::Op: forms = expand_op(pattern); break;
    case Pattern::Kind::Optional:
    case Pattern::Kind::Alternatives: forms = expand_choices(pattern); break;
    default: return std::nullopt;
  }
  if (!forms || pattern.capture < 0) return forms;
  for (Form& form : *forms) {
    if (form.kind != Form::Kind::Absent) form.captures.push_back(pattern.capture);
  }
  return forms;
}

void collect(const Form& form, std::vector<int>* captures) {
  captures->insert(captures->end(), form.captures.begin(), form.captures.end());
  for (const Form& operand : form.operands) collect(operand, captures);
}

}  // namespace

Forms forms_of(const Pattern& pattern) {
  return expand(pattern);
}

Forms forms_of(const ir::Rule& rule) {
  return rule.others.empty() ? expand(rule.root) : std::nullopt;
}

std::vector<int> bound_captures(const Form& form) {
  std::vector<int> captures;
  collect(form, &captures);
  std::sort(captures.begin(), captures.end());
  captures.erase(std::unique(captures.begin(), captures.end()), captures.end());
  return captures;
}

}  // namespace collage::lint
