// SPDX-License-Identifier: Apache-2.0
// What each backend has for each node: its smallest candidate with the node, or what stopped it. Costs are those of the
// candidates, so one walk over them covers all nodes. What the whole placement would cost with a node elsewhere takes a
// search for each (explain/why.h); the page says where all these searches together are short.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "compiler/report/explain/alternative.h"

namespace collage::page {

/// `{backends: [name], rules: [{name, where, line}], reasons: [text], nodes: [[choice]]}`: by node, then by backend. A
/// choice is `[seconds, nodes, rule, is_bound]`, of the cheapest of the candidates with fewest nodes; `rule` is -1
/// where the host runs an operator without one and of written partitions, and `is_bound` 1 where the cost was not
/// measured and is a bound. Or it is the index of a reason. Where the searches are short there is also `instead:
/// [[text]]`, by node, then by backend: what `why` says of backends that could run the node and do not, otherwise
/// nothing.
nlohmann::ordered_json node_choices(const report::ExplainedPlacement& explained);

}  // namespace collage::page
