// SPDX-License-Identifier: Apache-2.0
// The candidates of a backend, on each of its instances.
#pragma once

#include "compiler/place/build/problem_builder.h"

namespace collage::place {

/// Finds the candidates of a backend and adds them for every instance, or group of instances. Backends come in order.
void add_backend(BackendId backend, ProblemBuilder& builder);

/// Makes a candidate one that is split over the members of a group.
void add_shares(const SplitCandidate& split, const Owner& group, Candidate* candidate);

}  // namespace collage::place
