// SPDX-License-Identifier: Apache-2.0
// Reads and writes whole files; every reader and writer of the compiler and of the runtime goes through here.
//
// What is read is a file, or a pipe of the shell (`<(…)`, `/dev/stdin`). A folder, a device, a socket or a pipe that
// has a name is refused: reading could wait for ever, or never end.
//
// What is written gets its name when it is whole (file_replacement.h).
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/status.h"
#include "runtime/io/descriptor.h"

namespace collage::runtime {

/// Opens what can be read. Message of a failure, without the path: `is a directory`, `No such file or directory`.
Result<Descriptor> open_to_read(const std::string& path);

/// All bytes that are left in it; a file that has more than `most` is refused before any is read.
Result<std::string> read_all(const Descriptor& file, uint64_t most = std::numeric_limits<uint64_t>::max());

/// Message of a failure: `cannot read 'a.npy': No such file or directory`.
Result<std::string> read_file(const std::string& path);

/// The first bytes of a file, `most` at most; empty if it cannot be read.
std::string beginning_of_file(const std::string& path, size_t most);

/// Writes the pieces one after another. Message of a failure: `cannot write 'a.npy': No space left on device`.
Status write_file(const std::string& path, const std::vector<std::span<const char>>& pieces);

}  // namespace collage::runtime
