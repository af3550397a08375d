// SPDX-License-Identifier: Apache-2.0
// One candidate as a separate model in the model language. The measuring process compiles and runs it; since equal
// candidates have equal text, the text is also the key of the measurement.
#pragma once

#include <string>

#include "compiler/ir/placement/placement.h"

namespace collage::measure {

/// Returns a placed model with one partition and canonical names: values by first occurrence, in node order. The text
/// holds everything in the candidate that its time may depend on: backend, rules, operators, attributes, types, wiring,
/// formats at the boundary, which operands are constant, and the elements of constants that are not weights (integers
/// and bools, and up to 16 floats: axes, scales, bounds). Weights become random numbers.
///
///     %k = Conv(%a, %w)  on host, %w trained   =>   model @candidate(%v0: …) -> (%v2: …) {
///                                                     %v1 = const random seed 1 : f32[64, 64, 1, 1]
///                                                     %v2 = partition @p0 on host(host) rule "conv" cost 0s (%v0) …
std::string candidate_text(const ir::Graph& graph, const ir::Partition& candidate);

/// Returns whether a candidate's cost may depend on the elements of a constant. Only the type of a weight counts.
bool tells_elements(const runtime::Tensor& constant);

/// The constant, or if it is a weight, random numbers in its place. Shares the tensor: of a weight only the type is
/// printed.
ir::Constant untrained_constant(const ir::Constant& constant);

}  // namespace collage::measure
