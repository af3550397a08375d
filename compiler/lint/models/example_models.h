// SPDX-License-Identifier: Apache-2.0
// Small models on which a rule matches: made from its pattern, with dtypes, dimensions, attributes and constants that
// its conditions mention. Each is checked by the matcher, so it is right by construction; there may be one where none
// is found.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/ir/rule_set.h"
#include "compiler/match/matcher.h"

namespace collage::lint {

/// Shows models that derive the whole pattern of the rule, whether it matches there or not, until `look` has seen
/// enough (returns true) or `tries` models were made. Deterministic.
bool search_models(const ir::Backend& backend, int rule, int tries, const std::function<bool(const ir::Graph&)>& look);

/// The model of a `test ok`; nothing if it is malformed.
std::optional<ir::Graph> graph_of_test(const ir::RuleTest& test);

/// Models on which the rule matches: those of its `test ok`, and up to `made` of our own.
std::vector<ir::Graph> witnesses_of(const ir::Backend& backend, int rule, size_t made);

/// As notes print it.
std::string text_of(const ir::Graph& graph);

}  // namespace collage::lint
