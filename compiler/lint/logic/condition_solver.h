// SPDX-License-Identifier: Apache-2.0
// What the conditions of a rule say together. All answers "yes" are sure, "no" may mean "cannot tell".
//
// A capture that is absent makes every `where` that mentions it hold, so both questions are asked of matches in which
// the captures in question are present.
#pragma once

#include <vector>

#include "compiler/ir/rule_set.h"
#include "compiler/lint/logic/facts.h"

namespace collage::lint {

using ExprList = std::vector<const ir::Expr*>;

class Conditions {
 public:
  Conditions(const ir::Backend& backend, const ir::Rule& rule);

  /// No match, whatever the attributes of the backend are set to, makes all of them true.
  bool contradict(const ExprList& conditions) const;

  /// `condition` is true wherever all of `before` are. Evaluating it does not fail there either.
  bool imply(const ExprList& before, const ir::Expr& condition) const;

 private:
  bool always_evaluates(const ir::Expr& expr, const ExprList& before, const std::vector<std::string>& evaluated) const;
  bool has_no_case(const std::vector<Literal>& literals, const ir::Expr* capture, double most_rank) const;

  RuleFacts facts_;
  std::vector<Settings> settings_;  ///< all that the backend's attributes with `in {…}` can be
};

}  // namespace collage::lint
