// SPDX-License-Identifier: Apache-2.0
// The tests of a rule file as lenses, lines above the text that an editor can run, and what they find.
#pragma once

#include <optional>

#include "compiler/rules_tool/lsp/document.h"

namespace collage::rules_tool::lsp {

/// The command of lenses, which `workspace/executeCommand` runs. Its argument says which tests:
/// `{"uri": …, "rule": "conv"}`, and `"line"` for the one that starts there.
inline constexpr const char* kRunTests = "collage.runTests";

/// `CodeLens`es: one for each rule and rewrite with tests, and one for each test.
Json test_lenses(const Document& document);

/// Runs tests of the text as it stands, with their semantics, as `collage-rules test` does. Returns
/// `{"passed": 1, "failed": 0, "tests": [{"backend", "rule", "range", "kind", "passed", "message"}]}`; nullopt if the
/// file has errors.
std::optional<Json> run_tests(const Document& document, const Json& which);

}  // namespace collage::rules_tool::lsp
