// SPDX-License-Identifier: Apache-2.0
// Operators in the plainest f32 arithmetic: one f32 sum per result, its terms in the order of the definition, every
// operation rounded. The reference kernels sum in double; this is what a simple f32 program gives.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/graph/graph.h"

namespace collage::testing {

/// The result of the node. Returns nothing for operators that sum nothing: there the reference kernel, which rounds
/// once, is the plain f32 result too.
std::optional<runtime::Tensor> plain_f32(const ir::Node& node, const std::vector<runtime::Tensor>& inputs,
                                         const ir::Shape& result);

}  // namespace collage::testing
