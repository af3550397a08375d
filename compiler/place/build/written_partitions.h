// SPDX-License-Identifier: Apache-2.0
// Partitions that the user wrote: in the model, in a placement to follow, or in one that is only offered. The backend
// must have matches that make up exactly their nodes; the host can run any. Formats and cost are those written.
#pragma once

#include "compiler/place/build/problem_builder.h"

namespace collage::place {

/// Makes each partition of `fixed` the only candidate for its nodes. Its cost is the one written, or else what the
/// backend's rules say; where costs are measured, it may be left to be measured. Returns false after an error.
bool apply_written(ProblemBuilder& builder, const ir::Placement& fixed);

/// Adds each partition of `offered` to the candidates, at what the backend's rules say, unless it is one already. What
/// could not be followed as a whole is an error, as above. Returns false after an error.
bool apply_offered(ProblemBuilder& builder, const ir::Placement& offered);

}  // namespace collage::place
