// SPDX-License-Identifier: Apache-2.0
// Ctrl-C. While a search runs the first one ends the search, which keeps its best placement; while costs or whole plans
// are measured it ends the measuring, and the command after it, which says what is kept. The next one ends the program,
// as does every one while nothing of this is done.
#pragma once

#include <atomic>

namespace collage::tools {

enum class Interrupted { Search, Measuring };

/// True after an interrupt of this that was caught.
const std::atomic<bool>& interrupt_flag(Interrupted what);

/// From here on the first interrupt sets the flag.
void catch_interrupts(Interrupted what);

/// From here on an interrupt ends the program.
void release_interrupts();

/// Ends this process as an interrupt does, so that a shell knows.
[[noreturn]] void end_interrupted();

}  // namespace collage::tools
