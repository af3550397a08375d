// SPDX-License-Identifier: Apache-2.0
// What a rule asks of a match besides its clauses: `needs`, `inner` and `inplace`.
#pragma once

#include <optional>

#include "compiler/match/matcher.h"

namespace collage::match {

/// Kind, message and span of what is not met; nothing if all is.
std::optional<Refusal> check_conditions(const Graph& graph, const ir::Rule& rule, const Match& match,
                                        const Environment* environment);

}  // namespace collage::match
