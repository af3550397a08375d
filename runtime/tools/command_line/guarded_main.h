// SPDX-License-Identifier: Apache-2.0
// The outermost part of every program: what leaves it becomes an exit code (program_text.h), with a message.
#pragma once

#include <functional>

namespace collage::tools {

/// Returns what `run` does, unless it throws or standard output could not be written. `name`: of the program, for
/// messages.
int guarded_main(const char* name, const std::function<int()>& run);

}  // namespace collage::tools
