// SPDX-License-Identifier: Apache-2.0
#include "compiler/support/write_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace collage::support {

bool write_file(const std::string& path, std::string_view contents, Diagnostics& diags) {
  namespace fs = std::filesystem;
  std::error_code error;
  // A device or a pipe (`-o /dev/stdout`) cannot be replaced by renaming a file.
  bool in_place = fs::exists(path, error) && !fs::is_regular_file(path, error);
  std::string target = in_place ? path : path + ".partial";
  {
    std::ofstream stream(target, std::ios::binary | std::ios::trunc);
    stream.write(contents.data(), static_cast<std::streamsize>(contents.size()));
    stream.flush();
    if (!stream) {
      diags.error_at(Code::CannotWrite, path, "cannot write: {}", std::strerror(errno));
      if (!in_place) fs::remove(target, error);
      return false;
    }
  }
  if (in_place) return true;
  fs::rename(target, path, error);
  if (!error) return true;
  diags.error_at(Code::CannotWrite, path, "cannot write: {}", error.message());
  fs::remove(target, error);
  return false;
}

}  // namespace collage::support
