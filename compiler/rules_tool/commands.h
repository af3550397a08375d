// SPDX-License-Identifier: Apache-2.0
// What `collage-rules check` and `collage-rules test` print about rules that were read.
#pragma once

#include "compiler/ir/rule_set.h"
#include "compiler/support/diagnostic.h"
#include "compiler/support/source_manager.h"

namespace collage::rules_tool {

/// Warnings, and a line that counts what there is.
void check_rules(const ir::RuleSet& rules, support::Diagnostics& diags);

struct TestOptions {
  bool mutate = false;  ///< each clause left out in turn must make some test fail
  bool bounds = false;  ///< each `<` in place of `<=` too
};

/// False if a test fails, or none does where one should.
bool test_rules(support::SourceManager& sources, const ir::RuleSet& rules, const TestOptions& options,
                support::Diagnostics& diags);

}  // namespace collage::rules_tool
