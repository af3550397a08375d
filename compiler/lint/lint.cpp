// SPDX-License-Identifier: Apache-2.0
#include "compiler/lint/lint.h"

#include "compiler/lint/checks/check_alternatives.h"
#include "compiler/lint/checks/check_ambiguous.h"
#include "compiler/lint/checks/check_conditions.h"
#include "compiler/lint/checks/check_conflicts.h"
#include "compiler/lint/checks/check_costs.h"
#include "compiler/lint/checks/check_limits.h"
#include "compiler/lint/checks/check_lowerings.h"
#include "compiler/lint/checks/check_shadowed.h"
#include "compiler/lint/checks/check_tests.h"

namespace collage::lint {

using support::Code;

const std::vector<Check>& checks() {
  static const std::vector<Check> kChecks = {
      {"unknown conflict", Code::UnknownName, check_conflicts},
      {"untested rule", Code::UntestedRule, check_tests},
      {"contradictory where", Code::ContradictoryWhere, check_conditions},
      {"unreachable alternative", Code::UnreachableAlternative, check_alternatives},
      {"shadowed rule", Code::ShadowedRule, check_shadowed},
      {"ambiguous rules", Code::AmbiguousRules, check_ambiguous},
      {"never a candidate", Code::NeverCandidate, check_limits},
      {"bad cost", Code::BadCost, check_costs},
      {"lowering mismatch", Code::LoweringMismatch, check_lowerings},
  };
  return kChecks;
}

void lint(const ir::RuleSet& rules, support::Diagnostics& diags) {
  for (const Check& check : checks()) check.run(rules, diags);
}

}  // namespace collage::lint
