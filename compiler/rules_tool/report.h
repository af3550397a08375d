// SPDX-License-Identifier: Apache-2.0
// What `collage-rules check` and `test` found, for programs: as JSON, and tests as JUnit's XML.
//
//     {"tests": [{"backend": "npu", "rule": "conv", "at": "npu.rules:30", "kind": "ok", "passed": true},
//                …], "passed": 12, …}
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "compiler/rules_tool/rule_tests.h"
#include "runtime/support/diagnostic.h"

namespace collage::rules_tool {

/// Errors and warnings with code, place and notes, in the order in which they are printed, equal ones once.
nlohmann::ordered_json diagnostics_json(const support::Diagnostics& diags);
nlohmann::ordered_json tests_json(const support::SourceManager& sources, const std::vector<RuleTestOutcome>& outcomes);

/// A `testsuite` per rule and rewrite.
std::string junit_text(const support::SourceManager& sources, const std::vector<RuleTestOutcome>& outcomes);

}  // namespace collage::rules_tool
