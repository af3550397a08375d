// SPDX-License-Identifier: Apache-2.0
// Links to a ring, torus or tree -> switches, so that everything after sees only switches.
//
//     device npu count 4 { link ring … }    =>    npu[0]        npu[1]        npu[2]        npu[3]
//                                                   │             │             │             │
//                                              npu.ring[0] ─ npu.ring[1] ─ npu.ring[2] ─ npu.ring[3] ─ npu.ring[0]
//
// Each member has a switch of its own in a ring or torus, and one port there, which takes no time: what the link says
// is of each link between two of these switches. In a tree members hang on switches, these on further ones, up to one
// switch; what the link says is of each of those links. Members are the instances at one host, or the hosts of a
// cluster that name the same shape.
#pragma once

#include "compiler/ir/rules/rule_set.h"
#include "runtime/support/diagnostic.h"

namespace collage::sema {

/// Expects that devices have their counts. A switch or device called `ring` is meant by `link ring`, where there is
/// one. Members of a shape that does not fit their number are joined as a ring, so that they count as reached.
bool expand_shapes(ir::RuleSet& rules, support::Diagnostics& diags);

}  // namespace collage::sema
