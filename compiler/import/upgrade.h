// SPDX-License-Identifier: Apache-2.0
// Operators of other opsets -> their form in opset 17, one row per change in `upgrade.cpp`.
#pragma once

#include "compiler/import/emitter.h"

namespace collage::import {

/// The opset of the graph's operators.
inline constexpr int kOpset = 17;
/// Later opsets are read as far as `upgrade.cpp` knows how they differ.
inline constexpr int kNewestOpset = 28;

/// Rewrites `node`, which has the meaning of `opset`, to the same meaning in opset 17; may emit nodes and constants
/// before it. Returns false, after an error, if opset 17 cannot express this meaning for inference.
bool upgrade(PendingNode& node, int opset, Emitter& emitter);

}  // namespace collage::import
