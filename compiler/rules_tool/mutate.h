// SPDX-License-Identifier: Apache-2.0
// `collage-rules test --mutate`: do the tests notice a mistake in a rule?
//
//     where rank(x) == 4     =>     (nothing)               some test of the rule must fail
//     where dim(x, 0) <= 8   =>     dim(x, 0) < 8           likewise
//     lower "sub"(x, y)      =>     lower "sub"(x = y, y = x)   likewise, and without an argument that may be missing
//
// The same is done to each part of a rewrite's `when` that `and` joins.
//
// A clause that can go without a test failing is untested: the rule could lose it unnoticed. So is a
// `deny`. The conditions of several kernels only choose among them, which tests do not see: they are left alone, as is
// what asks for the machine, and a workspace that no match exceeds. Arguments of a lowering count where its kernel has
// `semantics` and a model shows the difference (mutate_lowering.h).
#pragma once

#include "compiler/ir/rules/rule_set.h"
#include "compiler/rules_tool/rule_tests.h"
#include "runtime/support/diagnostic.h"
#include "runtime/support/source_manager.h"

namespace collage::rules_tool {

struct MutationOutcome {
  int tried = 0;
  int unnoticed = 0;  ///< each is reported
};

/// Expects rules whose tests hold.
MutationOutcome mutate_rules(support::SourceManager& sources, const ir::RuleSet& rules, const RuleFilter& filter,
                             support::Diagnostics& diags);

}  // namespace collage::rules_tool
