// SPDX-License-Identifier: Apache-2.0
#include "runtime/io/file_bytes.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace collage::runtime {

Result<std::string> read_file(const std::string& path) {
  std::error_code code;
  if (std::filesystem::is_directory(path, code)) return Status::error("cannot read '" + path + "': is a directory");
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  if (!stream) return Status::error("cannot read '" + path + "': " + std::strerror(errno));
  std::streamoff size = stream.tellg();
  if (size < 0) return Status::error("cannot read '" + path + "': not a regular file");
  std::string bytes(static_cast<size_t>(size), '\0');
  stream.seekg(0);
  stream.read(bytes.data(), size);
  if (stream.gcount() != size) return Status::error("cannot read '" + path + "': it ends early");
  return bytes;
}

Status write_file(const std::string& path, const std::vector<std::span<const char>>& pieces) {
  // The process id keeps two writers of one file apart; the rename decides between them.
  std::string beside = path + ".new" + std::to_string(::getpid());
  std::error_code code;
  {
    std::ofstream stream(beside, std::ios::binary | std::ios::trunc);
    for (std::span<const char> piece : pieces) stream.write(piece.data(), static_cast<std::streamsize>(piece.size()));
    stream.flush();
    if (!stream) {
      std::string why = std::strerror(errno);
      std::filesystem::remove(beside, code);
      return Status::error("cannot write '" + path + "': " + why);
    }
  }
  std::filesystem::rename(beside, path, code);
  if (!code) return Status::ok();
  std::error_code ignored;
  std::filesystem::remove(beside, ignored);
  return Status::error("cannot write '" + path + "': " + code.message());
}

}  // namespace collage::runtime
