// SPDX-License-Identifier: Apache-2.0
// Operators that compute each element of the result from those at the same place: what moves elements can move past
// them.
#pragma once

#include "compiler/passes/match_node.h"

namespace collage::passes {

/// One result, each element from one of each operand, which are broadcast to one shape.
bool is_pointwise(const ir::Node& node);

/// Whether an extent of the value is 0.
bool has_zero(const GraphEdit& edit, ir::ValueId id);

/// One attribute, or none.
ir::AttrMap with_attr(std::string name, runtime::AttrValue value, bool is_wanted = true);

}  // namespace collage::passes
