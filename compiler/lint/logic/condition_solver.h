// SPDX-License-Identifier: Apache-2.0
// What the conditions of a rule imply together. An answer "yes" is certain; "no" may mean "unknown".
//
// An absent capture makes every `where` that mentions it hold, so both questions concern matches in which these
// captures are present.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/ir/rules/rule_set.h"
#include "compiler/lint/logic/facts.h"

namespace collage::lint {

using ExprList = std::vector<const ir::Expr*>;

class Conditions {
 public:
  Conditions(const ir::Backend& backend, const ir::Rule& rule);

  /// Returns true if no match makes all of them true, for any setting of the backend's attributes.
  bool contradict(const ExprList& conditions) const;

  /// The same of matches in which no dimension is 0.
  bool contradict_with_elements(const ExprList& conditions) const;

  /// Returns true if `condition` is true, and its evaluation succeeds, wherever all of `before` are true.
  bool imply(const ExprList& before, const ir::Expr& condition) const;

 private:
  bool divides_by_zero(const ir::Expr& expr) const;
  bool always_evaluates(const ir::Expr& expr, const ExprList& before, const std::vector<std::string>& evaluated) const;
  bool has_no_case(const std::vector<Literal>& literals, const std::function<void(Facts&)>& assume) const;

  RuleFacts facts_;
  std::vector<Settings> settings_;  ///< all combinations of the backend's attributes with `in {…}`
};

}  // namespace collage::lint
