// SPDX-License-Identifier: Apache-2.0
// `--why-not NODE BACKEND`: the first reason of every rule that could have taken the node, with the values it saw.
#pragma once

#include <string>

#include "compiler/place/build_problem.h"
#include "compiler/support/diagnostic.h"

namespace collage::driver {

/// `active` as `built` was made from. False after an error: no such node or backend.
bool print_why_not(const ir::Graph& graph, const std::vector<place::ActiveBackend>& active,
                   const place::BuiltProblem& built, const std::string& node, const std::string& backend,
                   support::Diagnostics& diags);

}  // namespace collage::driver
