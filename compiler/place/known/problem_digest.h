// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compiler/place/problem/problem.h"

namespace collage::place {

/// 32 hexadecimal digits of all that a solution of the problem depends on.
std::string digest_of(const Problem& problem);

}  // namespace collage::place
