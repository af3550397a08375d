// SPDX-License-Identifier: Apache-2.0
// Layouts of values, as the users of the JIT say them.
#pragma once

#include <map>
#include <string>

#include "compiler/ir/graph/graph.h"

namespace collage::codegen {

/// Layouts of values that do not lie plainly, by name (runtime/core/layout.h).
using ValueLayouts = std::map<ir::ValueId, std::string>;

}  // namespace collage::codegen
