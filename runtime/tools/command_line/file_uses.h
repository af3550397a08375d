// SPDX-License-Identifier: Apache-2.0
// Files that a command line names to be read and to be written: none is both.
#pragma once

#include <string>
#include <vector>

namespace collage::tools {

struct FileUse {
  std::string option;  ///< `--input`
  std::string path;
  std::string extension = "";  ///< of a folder only files like this are read: `.rules`; empty: all
};

/// A sentence if one of `written` is a file that is read, or written twice; else empty. Links and other spellings are
/// seen through. A folder stands for the files in it; devices may be named as often as one likes.
std::string overwritten_file(const std::vector<FileUse>& read, const std::vector<FileUse>& written);

}  // namespace collage::tools
