// SPDX-License-Identifier: Apache-2.0
// A file that is whole before it has its name: a reader sees the old file or the new one, never a part, and a failure
// loses nothing.
//
//     write: bytes => a file without a name in the target's folder     commit: it is on the disk, and gets a name,
//                                                                             which replaces the target
//
// A process that is killed before `commit` leaves nothing. Where the file system has no files without names, the file
// is called `TARGET.PROCESS-NUMBER.partial` meanwhile; no file and no link that exists is written to or followed. A
// target that is a link stays one: what it leads to is replaced. A device or a pipe, and what lies in /dev or /proc,
// cannot be replaced and is written to as it is. A file that the program has read is refused (files_read.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/status.h"
#include "runtime/io/descriptor.h"

namespace collage::runtime {

/// What a file may take the place of.
enum class Replaces : uint8_t {
  WhatWasNotRead,
  Anything  ///< a formatter writes what it has read
};

class FileReplacement {
 public:
  /// Messages of failures do not name the path.
  static Result<FileReplacement> write(const std::string& path, const std::vector<std::span<const char>>& pieces,
                                       Replaces replaces = Replaces::WhatWasNotRead);

  /// What would keep `write` from beginning now: known before there is something to write. Leaves nothing behind. A
  /// pipe is not opened, since that would end it for its reader.
  static Status check(const std::string& path);

  ~FileReplacement();
  FileReplacement(FileReplacement&&) noexcept = default;
  FileReplacement& operator=(FileReplacement&&) noexcept = default;

  /// Gives the file its name. Two files that belong together are both written first, then both committed.
  Status commit();

 private:
  FileReplacement() = default;
  Status open_beside();

  Descriptor file_;
  std::string target_;  ///< empty: written in place
  Replaces replaces_ = Replaces::WhatWasNotRead;
  std::string beside_;  ///< its name for now; empty: it has none
};

/// Where the links that start at `path` end, whether or not something is there; nullopt if they run in a cycle.
std::optional<std::string> end_of_links(const std::string& path);

}  // namespace collage::runtime
