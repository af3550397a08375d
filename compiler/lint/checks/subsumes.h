// SPDX-License-Identifier: Apache-2.0
// Decides whether one rule matches wherever another does, with the same nodes and formats and never at a higher cost.
//
//     rule general { match Relu(x)  where rank(x) >= 2   cost 1 us }
//     rule special { match Relu(a)  where rank(a) == 4   cost 2 us }     covered by the first
//
// A "yes" is certain: patterns are compared form by form, conditions by implication, costs by their shape.
#pragma once

#include <optional>

#include "compiler/ir/rules/rule_set.h"

namespace collage::lint {

struct Cover {
  bool equal_cost = true;  ///< false: the cost is never higher
  bool same_lowering = true;
};

std::optional<Cover> covers(const ir::Backend& backend, const ir::Rule& general, const ir::Rule& special);

}  // namespace collage::lint
