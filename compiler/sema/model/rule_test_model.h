// SPDX-License-Identifier: Apache-2.0
// The model of a test in a rule file.
#pragma once

#include <optional>
#include <string>

#include "compiler/ir/rules/rule_set.h"
#include "runtime/support/diagnostic.h"
#include "runtime/support/source_manager.h"

namespace collage::sema {

/// Builds the statements of a test, with its free values declared; constants are random with seed 1. `owner` is for
/// messages: `rule conv`. Returns nullopt, after one error with all mistakes as notes, if the model is malformed.
std::optional<ir::Graph> build_test_model(support::SourceManager& sources, const std::string& owner,
                                          const ir::RuleTest& test, support::Diagnostics& diags);

}  // namespace collage::sema
