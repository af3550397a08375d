// SPDX-License-Identifier: Apache-2.0
// What a rule asks of a match besides its clauses: `needs` and `inner`.
#pragma once

#include <optional>

#include "compiler/match/matcher.h"

namespace collage::match {

/// Returns kind, message and span of the first condition that is not met; nullopt if all are.
std::optional<Refusal> check_conditions(const Graph& graph, const ir::Rule& rule, const Match& match,
                                        const Environment* environment);

}  // namespace collage::match
