// SPDX-License-Identifier: Apache-2.0
// The members of a rule family stand next to each other in a backend; most findings are those of the family as a whole.
#pragma once

#include <vector>

#include "compiler/ir/rules/rule_set.h"

namespace collage::lint {

/// Indices of rules, by family; a rule without `for` is a family of one.
std::vector<std::vector<int>> families_of(const ir::Backend& backend);

/// Returns whether the rule has one kernel without knobs and without conditions on the machine.
bool has_one_plain_kernel(const ir::Rule& rule);

}  // namespace collage::lint
