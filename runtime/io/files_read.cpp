// SPDX-License-Identifier: Apache-2.0
#include "runtime/io/files_read.h"

#include <map>
#include <mutex>
#include <utility>

namespace collage::runtime {
namespace {

struct FilesRead {
  std::mutex mutex;
  bool are_noted = false;
  std::map<std::pair<dev_t, ino_t>, std::string> names;  ///< by place on a device
};

FilesRead& files_read() {
  static FilesRead files;
  return files;
}

}  // namespace

void note_files_read() {
  FilesRead& files = files_read();
  const std::lock_guard lock(files.mutex);
  files.are_noted = true;
}

void note_read(const struct stat& file, const std::string& path) {
  FilesRead& files = files_read();
  const std::lock_guard lock(files.mutex);
  if (files.are_noted && S_ISREG(file.st_mode)) files.names.emplace(std::pair(file.st_dev, file.st_ino), path);
}

void note_read(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) == 0) note_read(file, path);
}

std::string name_when_read(const struct stat& file) {
  FilesRead& files = files_read();
  const std::lock_guard lock(files.mutex);
  const auto found = files.names.find({file.st_dev, file.st_ino});
  return found == files.names.end() ? "" : found->second;
}

}  // namespace collage::runtime
