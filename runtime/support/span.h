// SPDX-License-Identifier: Apache-2.0
// Where in a source file something was written. Line and column are computed only when a message is printed.
#pragma once

#include <cstdint>

namespace collage::support {

/// Index of a file in the SourceManager.
struct FileId {
  int32_t index = -1;
  bool is_valid() const { return index >= 0; }
  friend bool operator==(FileId, FileId) = default;
};

/// Bytes [begin, end) of a file. Invalid if there is no source text (imported, or created by a pass).
struct Span {
  FileId file;
  uint32_t begin = 0;
  uint32_t end = 0;

  bool is_valid() const { return file.is_valid(); }
  /// From the start of this to the end of `last`, both of one file.
  Span to(const Span& last) const { return {file, begin, last.end > begin ? last.end : end}; }
  friend bool operator==(const Span&, const Span&) = default;
};

}  // namespace collage::support
