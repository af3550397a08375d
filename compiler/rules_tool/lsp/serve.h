// SPDX-License-Identifier: Apache-2.0
// The door to the language server, which a build may lack.
#pragma once

#include <istream>
#include <ostream>

#include "runtime/support/diagnostic.h"

namespace collage::rules_tool::lsp {

/// Runs a Server (lsp/server.h) on the streams. Reports an error where this build has none.
bool serve(std::istream& in, std::ostream& out, support::Diagnostics& diags);

}  // namespace collage::rules_tool::lsp
