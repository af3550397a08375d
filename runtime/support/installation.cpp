// SPDX-License-Identifier: Apache-2.0
#include "runtime/support/installation.h"

#include <dlfcn.h>

#include <filesystem>
#include <vector>

namespace collage::support {
namespace {

namespace fs = std::filesystem;

/// The deepest folder that a library is installed in lies this far below the prefix: `lib/x86_64-linux-gnu`.
constexpr int kDepth = 2;

/// The folder of the shared library or program that holds this function. A program that was started by a name without a
/// folder is known to the system alone.
std::vector<fs::path> own_folders() {
  std::vector<fs::path> folders;
  std::error_code error;
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&own_folders), &info) != 0 && info.dli_fname != nullptr) {
    const fs::path file = info.dli_fname;
    if (file.has_parent_path()) folders.push_back(fs::canonical(file, error).parent_path());
  }
  folders.push_back(fs::read_symlink("/proc/self/exe", error).parent_path());
  return folders;
}

}  // namespace

std::string installed_file(const std::string& name) {
  for (fs::path prefix : own_folders()) {
    for (int up = 0; up < kDepth && prefix.has_parent_path(); ++up) {
      prefix = prefix.parent_path();
      std::error_code error;
      if (fs::exists(prefix / name, error)) return (prefix / name).string();
    }
  }
  return "";
}

}  // namespace collage::support
