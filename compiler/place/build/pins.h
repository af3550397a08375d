// SPDX-License-Identifier: Apache-2.0
// `on npu[0]`: nodes that the model pins. A pin names a device or an instance of one, `host` for all that works in host
// memory, or a backend.
#pragma once

#include "compiler/place/build/problem_builder.h"

namespace collage::place {

/// Removes candidates that run a pinned node elsewhere. Returns false after an error: an unknown device, or a node that
/// cannot run there.
bool apply_pins(ProblemBuilder& builder);

}  // namespace collage::place
