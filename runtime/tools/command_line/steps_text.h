// SPDX-License-Identifier: Apache-2.0
// How far counted work has come, for a line on a terminal.
#pragma once

#include <cstddef>
#include <string>

namespace collage::tools {

/// `[####......] 12 of 25, 6 s left`: `done` of `of` steps, which took so many seconds. Nothing is said of the time
/// left before the first step and after the last; work may come to more steps than it was thought to have.
std::string steps_text(size_t done, size_t of, double seconds);

}  // namespace collage::tools
