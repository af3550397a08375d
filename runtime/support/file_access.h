// SPDX-License-Identifier: Apache-2.0
// Which files a model or a rule file may lead to: `const file`, external data of ONNX, `include`, `table`.
//
// Files that the user names are trusted to be meant; what they name in turn is not. It must lie in the folder of a file
// that the user has named, or below; links are followed before that is asked. A file that is a link itself, as in
// caches of model hubs, also opens the folder that it leads to.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/core/status.h"
#include "runtime/io/descriptor.h"

namespace collage::support {

class FileAccess {
 public:
  FileAccess() = default;
  /// `named`: files and folders that the user has named. `allows_outside`: `--allow-outside`.
  explicit FileAccess(const std::vector<std::string>& named, bool allows_outside = false);

  bool allows_outside() const { return allows_outside_; }

  /// Whether `path` may be read on behalf of a file in `folder`.
  bool allows(const std::string& path, const std::string& folder) const;
  /// Whether a file may be read that is open already, wherever its name leads by now.
  bool allows(const runtime::Descriptor& file, const std::string& folder) const;
  /// Opens a file that may be read. What was opened is asked for: `path` may lead elsewhere since it was examined.
  /// Fails with `kOutside` where it may not be read.
  runtime::Result<runtime::Descriptor> open(const std::string& path, const std::string& folder) const;

 private:
  std::vector<std::filesystem::path> folders_;  ///< without links
  bool allows_outside_ = false;
};

/// What a message says of a file that may not be read.
inline constexpr const char* kOutside = "lies outside the folders of the files that were named";
inline constexpr const char* kOutsideHint = "`--allow-outside` permits it";

}  // namespace collage::support
