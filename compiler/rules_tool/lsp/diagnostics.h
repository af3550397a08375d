// SPDX-License-Identifier: Apache-2.0
// What the compiler reports as the diagnostics of the protocol. A fix goes along as `data`, from which the server makes
// the action: `{"fixes": [{"range": …, "newText": "and"}]}`.
#pragma once

#include <string>

#include "compiler/rules_tool/lsp/positions.h"
#include "runtime/support/diagnostic.h"

namespace collage::rules_tool::lsp {

/// Diagnostics of the file `uri`, which is `file` in their sources. What is about another file stands at the first
/// line.
Json protocol_diagnostics(const support::Diagnostics& diags, support::FileId file, const std::string& uri);

/// Severities of the protocol.
inline constexpr int kErrorSeverity = 1, kWarningSeverity = 2;

}  // namespace collage::rules_tool::lsp
