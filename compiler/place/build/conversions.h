// SPDX-License-Identifier: Apache-2.0
// The conversions that each value may need.
#pragma once

#include "compiler/place/build/problem_builder.h"

namespace collage::place {

/// Lists, for each value, the conversions between all formats in which some candidate reads or writes it, every choice
/// of their spaces, layouts and storages, and the host.
void add_conversions(ProblemBuilder& builder);

}  // namespace collage::place
