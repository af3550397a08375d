// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/machine_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "compiler/support/file_cache.h"

namespace collage::measure {

std::string machine_lock_file() {
  const std::string folder = support::user_cache_folder();
  if (folder.empty()) return "";
  std::error_code ignored;  // then there is no lock
  std::filesystem::create_directories(folder, ignored);
  char host[256] = "";
  (void)::gethostname(host, sizeof host - 1);
  return (std::filesystem::path(folder) / ("measuring." + std::string(host) + ".lock")).string();
}

MachineLock::MachineLock(const std::string& path, const std::function<void()>& waiting) {
  if (path.empty()) return;
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) return;
  int locked = ::flock(descriptor_, LOCK_EX | LOCK_NB);
  if (locked != 0 && errno == EWOULDBLOCK) {
    if (waiting) waiting();
    do {
      locked = ::flock(descriptor_, LOCK_EX);
    } while (locked != 0 && errno == EINTR);
  }
  if (locked == 0) return;
  ::close(descriptor_);  // a file system without locks
  descriptor_ = -1;
}

MachineLock::~MachineLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace collage::measure
