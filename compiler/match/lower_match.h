// SPDX-License-Identifier: Apache-2.0
// The arguments of a rule's lowering, worked out for one match.
//
//     lower "conv"(x, w, b, act, tile)   =>   "conv"(x = %a, w = %w, act = "Relu", tile = 16)    without a bias
#pragma once

#include "compiler/match/matcher.h"
#include "runtime/core/lowered_call.h"

namespace collage::match {

runtime::LoweredCall lower_match(const Graph& graph, const ir::Backend& backend, const Match& match,
                                 const AttrValues& attrs, const Environment* environment);

}  // namespace collage::match
