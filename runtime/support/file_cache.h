// SPDX-License-Identifier: Apache-2.0
// Bytes by the text that they were computed from, in a folder that any number of processes may use at once:
//
//     FOLDER/3f9c…e1    a file for each entry: header, key, value, checksum
//
// An entry is written beside its place and renamed: a reader sees all of it or nothing. The whole key is in the file,
// so that two keys are never confused. An entry that is cut off, altered or made by another program counts as missing
// and is written again. Nothing here is an error: what cannot be read or kept is computed again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace collage::support {

/// `$XDG_CACHE_HOME/collage`, else `~/.cache/collage`; empty if neither variable is an absolute path: any other would
/// mean another folder with each folder that a program is started in.
std::string user_cache_folder();

class FileCache {
 public:
  static constexpr uint64_t kMostBytes = 256u << 20;

  /// The folder is created when the first entry is kept. Entries beyond `most_bytes` in all go, those first that were
  /// used least recently.
  explicit FileCache(std::string folder, uint64_t most_bytes = kMostBytes);
  /// Brings the folder to its size, if something was kept since that was last done. Other files in it are left alone.
  ~FileCache();
  FileCache(const FileCache&) = delete;
  FileCache& operator=(const FileCache&) = delete;

  std::optional<std::string> find(std::string_view key) const;
  /// Replaces what is there. An entry that alone is too large is not kept.
  void keep(std::string_view key, std::string_view value);

  /// Creates the folder. Says why entries cannot be kept in it; empty if they can.
  std::string why_unusable() const;
  const std::string& folder() const { return folder_; }
  std::string file_of(std::string_view key) const;

 private:
  void remove_oldest();

  std::string folder_;
  uint64_t most_bytes_;
  uint64_t kept_ = 0;  ///< entries, since the folder was last brought to its size
};

}  // namespace collage::support
