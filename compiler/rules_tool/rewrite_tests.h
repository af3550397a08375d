// SPDX-License-Identifier: Apache-2.0
// Runs the tests of the rewrites of rule files: part of `collage-rules test`.
//
// `test ok` holds if the rewrite applies and the model then computes the same: both sides run on the reference kernels
// with several kinds of random values (small whole numbers among them, zero included), constants of the test as well.
// What a test gives a number but the rewrite takes in general, its captured constants, also has other values as far as
// the `when` admits them; and each size of the test's inputs is one less and one more, where the rewrite takes that.
// `test no … because "text"` holds if it does not apply and a reason contains the text.
#pragma once

#include "compiler/rules_tool/rule_tests.h"

namespace collage::rules_tool {

/// Runs the tests of `rewrite`, or of a copy of it with another condition. What fails is reported.
RuleTestOutcome test_rewrite(support::SourceManager& sources, const ir::Backend& backend, const ir::Rewrite& rewrite,
                             support::Diagnostics& diags);

/// One entry per rewrite that has tests, called `rewrite NAME`, in file order. What fails is reported.
std::vector<RuleTestOutcome> run_rewrite_tests(support::SourceManager& sources, const ir::RuleSet& rules,
                                               const RuleFilter& filter, support::Diagnostics& diags);

}  // namespace collage::rules_tool
