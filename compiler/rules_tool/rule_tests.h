// SPDX-License-Identifier: Apache-2.0
// Runs the tests that stand in rule files: `collage-rules test`.
//
// `test ok … -> {nodes}` holds if some candidate of the rule has exactly these nodes; `test no … because "text"` if no
// candidate exists and the message of a first failing clause contains the text. A family's test holds if it does for
// the family as a whole: some member matches, or none does and some member says why.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/rule_set.h"
#include "compiler/support/diagnostic.h"
#include "compiler/support/source_manager.h"

namespace collage::rules_tool {

struct RuleTestOutcome {
  std::string backend;
  std::string rule;  ///< the family's name
  int passed = 0;
  int failed = 0;
};

/// One entry per rule or family that has tests, in file order. What fails is reported.
std::vector<RuleTestOutcome> run_rule_tests(support::SourceManager& sources, const ir::RuleSet& rules,
                                            support::Diagnostics& diags);

}  // namespace collage::rules_tool
