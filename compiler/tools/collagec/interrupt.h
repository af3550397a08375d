// SPDX-License-Identifier: Apache-2.0
// Ctrl-C while a search runs: the first ends the search, which keeps its best placement; the next ends the program, as
// does every one while nothing is searched.
#pragma once

#include <atomic>

namespace collage::tools {

/// True after an interrupt that was caught.
const std::atomic<bool>& interrupt_flag();

/// From here on the first interrupt sets the flag.
void catch_interrupts();

/// From here on an interrupt ends the program.
void release_interrupts();

}  // namespace collage::tools
