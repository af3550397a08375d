// SPDX-License-Identifier: Apache-2.0
#include "runtime/support/file_access.h"

#include <algorithm>

#include "runtime/io/file_bytes.h"

namespace collage::support {
namespace {

namespace fs = std::filesystem;

fs::path without_links(const fs::path& path) {
  std::error_code error;
  fs::path full = fs::weakly_canonical(path.empty() ? fs::path(".") : path, error);
  if (error) return {};
  full = fs::absolute(full, error);
  return error ? fs::path() : full;
}

bool lies_in(const fs::path& path, const fs::path& folder) {
  const auto [left, unused] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return left == folder.end();
}

}  // namespace

FileAccess::FileAccess(const std::vector<std::string>& named, bool allows_outside) : allows_outside_(allows_outside) {
  std::error_code error;
  for (const std::string& path : named) {
    if (fs::is_directory(path, error)) {
      folders_.push_back(without_links(path));
    } else {
      folders_.push_back(without_links(fs::path(path).parent_path()));
      folders_.push_back(without_links(path).parent_path());
    }
  }
}

bool FileAccess::allows(const std::string& path, const std::string& folder) const {
  if (allows_outside_) return true;
  const fs::path full = without_links(path);
  if (full.empty()) return false;
  const auto holds = [&](const fs::path& root) { return !root.empty() && lies_in(full, root); };
  return holds(without_links(folder)) || std::any_of(folders_.begin(), folders_.end(), holds);
}

bool FileAccess::allows(const runtime::Descriptor& file, const std::string& folder) const {
  if (allows_outside_) return true;
  std::error_code error;
  const fs::path where = fs::read_symlink("/proc/self/fd/" + std::to_string(file.get()), error);
  return error || allows(where.string(), folder);  // a system without /proc does not say it
}

runtime::Result<runtime::Descriptor> FileAccess::open(const std::string& path, const std::string& folder) const {
  if (!allows(path, folder)) return runtime::Status::error(kOutside);
  runtime::Result<runtime::Descriptor> file = runtime::open_to_read(path);
  if (file && !allows(*file, folder)) return runtime::Status::error(kOutside);
  return file;
}

}  // namespace collage::support
