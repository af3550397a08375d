// SPDX-License-Identifier: Apache-2.0
// Has the text of every file that the compiler reads. A file is read once; ids stay valid as long as the manager.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/support/file_access.h"
#include "runtime/support/span.h"

namespace collage::support {

/// 1-based; columns count bytes.
struct LineColumn {
  int line = 1;
  int column = 1;
};

/// A text that several managers have, in any thread: it never changes.
using SharedText = std::shared_ptr<const std::string>;

class SourceManager {
 public:
  /// Reads a text, without a byte order mark. Fails if it cannot be read or is not text (it holds a zero byte, or is in
  /// UTF-16).
  runtime::Result<FileId> load(const std::string& path);
  /// The same for a file that one in `folder` leads to.
  runtime::Result<FileId> load(const std::string& path, const FileAccess& access, const std::string& folder);
  /// Adds text that is in no file, under a name such as `<test>` or `<command line>`.
  FileId add(std::string name, std::string text);
  FileId add(std::string name, SharedText text);

  /// From now on `load` gives these bytes where it is asked for exactly this path, whatever lies there.
  void stand_in(const std::string& path, std::string bytes);
  void stand_in(const std::string& path, SharedText bytes) { in_memory_[path] = std::move(bytes); }
  void withdraw(const std::string& path) { in_memory_.erase(path); }
  /// The bytes that stand in for a file, until they are withdrawn or replaced; nullopt where none do.
  std::optional<std::string_view> stand_in(const std::string& path) const;

  /// How many there are; their ids count from 0.
  size_t count() const { return files_.size(); }
  std::string_view name(FileId file) const;
  std::string_view text(FileId file) const;
  const SharedText& shared_text(FileId file) const;
  std::string_view text(const Span& span) const;
  LineColumn position(FileId file, uint32_t offset) const;
  /// The line that holds `offset`, without its end.
  std::string_view line_at(FileId file, uint32_t offset) const;

 private:
  using OpenFile = std::function<runtime::Result<runtime::Descriptor>()>;
  runtime::Result<SharedText> bytes_of(const std::string& path, const OpenFile& open) const;
  runtime::Result<FileId> add_text_of(const std::string& path, const OpenFile& open);

  struct File {
    std::string name;
    SharedText text;
    std::vector<uint32_t> lines;  ///< where they begin
  };
  /// The index of the line that holds `offset`, the end of the text at most.
  size_t line_index(const File& file, uint32_t offset) const;
  const File& file(FileId id) const { return files_[static_cast<size_t>(id.index)]; }
  std::deque<File> files_;
  std::map<std::string, SharedText> in_memory_;  ///< by path
};

/// `rules/npu.rules:19`, where the span begins; empty if it is not valid.
std::string location_text(const Span& span, const SourceManager& sources);

}  // namespace collage::support
