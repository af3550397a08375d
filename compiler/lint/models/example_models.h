// SPDX-License-Identifier: Apache-2.0
// Small models on which a rule matches, built from its pattern with dtypes, dimensions, attributes and constants that
// its conditions mention. The matcher confirms each of them. That none is found does not prove that none exists.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/ir/rules/rule_set.h"
#include "compiler/match/matcher.h"

namespace collage::lint {

/// Passes models that contain the whole pattern of the rule, whether it matches there or not, to `look` until it
/// returns true or `tries` models were built. Deterministic.
bool search_models(const ir::Backend& backend, int rule, int tries, const std::function<bool(const ir::Graph&)>& look);

/// The model of a `test ok`; nullopt if it is malformed.
std::optional<ir::Graph> graph_of_test(const ir::RuleTest& test);

/// Models on which the rule matches: those of its `test ok`, and up to `made` generated ones.
std::vector<ir::Graph> witnesses_of(const ir::Backend& backend, int rule, size_t made);

/// The model as notes print it.
std::string text_of(const ir::Graph& graph);

}  // namespace collage::lint
