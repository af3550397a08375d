// SPDX-License-Identifier: Apache-2.0
// One candidate as a model of its own, in the model language: what the measuring process compiles and runs, and, since
// equal candidates have equal text, what its measurement is filed under.
#pragma once

#include <string>

#include "compiler/ir/placement.h"

namespace collage::measure {

/// A placed model with one partition, named canonically: values by first occurrence, in node order. The text holds all
/// that time may depend on within the candidate: backend, rules, operators, attributes, types, wiring, the formats at
/// the boundary, which operands are constant, and the elements of constants that are no weights (integers and bools,
/// and up to 16 floats: axes, scales, bounds). Weights become random ones.
///
///     %k = Conv(%a, %w)  on host, %w trained   =>   model @candidate(%v0: …) -> (%v2: …) {
///                                                     %v1 = const random seed 1 : f32[64, 64, 1, 1]
///                                                     %v2 = partition @p0 on host(host) rule "conv" cost 0s (%v0) …
std::string candidate_text(const ir::Graph& graph, const ir::Partition& candidate);

}  // namespace collage::measure
