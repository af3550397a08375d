// SPDX-License-Identifier: Apache-2.0
// What the summary says of the candidates.
#pragma once

#include <string>

#include "compiler/ir/rules/rule_set.h"
#include "compiler/place/build/build_problem.h"

namespace collage::report {

/// Candidates that differ in backend, operators, attributes, types, wiring or formats: those that would be measured
/// apart.
size_t count_distinct(const ir::Graph& graph, const place::BuiltProblem& built);

/// Groups of candidates and matches at which a cap stopped the growth.
size_t count_truncated(const place::BuiltProblem& built);

}  // namespace collage::report
