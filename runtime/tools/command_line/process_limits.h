// SPDX-License-Identifier: Apache-2.0
// Limits of this process, and what it says when it meets one: `error: out of memory during search: --max-memory 64MiB`,
// exit code 1. Files that are being written have no names yet (runtime/io/file_replacement.h), so that nothing
// half-written stays; processes that this one has started end with it.
#pragma once

#include <cstdint>
#include <string>

namespace collage::tools {

/// What messages name. `stage`: a literal, such as `search`.
void enter_stage(const char* stage);

/// `out of memory during search: --max-memory 64MiB`; without what there is not.
std::string out_of_memory();

/// Ends this process where its data would take more than `bytes`, and those that it starts where theirs would.
/// `option`: as the user wrote it.
void limit_memory(uint64_t bytes, const std::string& option);

/// Ends this process after so many seconds.
void limit_time(double seconds, const std::string& option);

}  // namespace collage::tools
