// SPDX-License-Identifier: Apache-2.0
// The implicit host rule: it can run any nodes, on each host of a cluster.
#pragma once

#include "compiler/place/build/problem_builder.h"

namespace collage::place {

/// Adds every node alone on each host, unless a rule file's own `host` backend has it alone there and without limits,
/// or the user has placed it.
void add_host_singles(ProblemBuilder& builder);

/// Adds nodes that the user wants together as one candidate of each host, unless a path leaves them and comes back.
void add_together_on_host(ProblemBuilder& builder);

}  // namespace collage::place
