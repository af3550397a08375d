// SPDX-License-Identifier: Apache-2.0
#include "runtime/support/write_file.h"

#include <filesystem>
#include <system_error>

namespace collage::support {
namespace {

bool refuse(const std::string& path, const runtime::Status& why, Diagnostics& diags) {
  return diags.error_at(Code::CannotWrite, path, "cannot write: {}", why.message());
}

}  // namespace

bool write_file(const std::string& path, std::string_view contents, Diagnostics& diags, runtime::Replaces replaces) {
  FileGroup alone;
  return alone.add(path, runtime::FileReplacement::write(path, {contents}, replaces), diags) && alone.commit(diags);
}

bool can_write(const std::string& path, const std::string& option, Diagnostics& diags) {
  if (path.empty()) return true;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty() && !std::filesystem::is_directory(folder, error))
    return diags.error_at(Code::CannotWrite, option, "{}: `{}` is no folder", path, folder.string());
  const runtime::Status status = runtime::FileReplacement::check(path);
  return status || diags.error_at(Code::CannotWrite, option, "cannot write `{}`: {}", path, status.message());
}

bool can_write_unnamed(const std::string& path, const std::string& what, Diagnostics& diags) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error)) return can_write(path, what, diags);
  const std::string end = std::filesystem::read_symlink(path, error).string();
  return diags.error_at(Code::CannotWrite, what, "`{}` is a link to `{}`, which nobody has named", path, end)
      .note("`-o {}` writes to where it leads", path);
}

bool FileGroup::add(const std::string& path, runtime::Result<runtime::FileReplacement> file, Diagnostics& diags) {
  if (!file) return refuse(path, file.status(), diags);
  files_.emplace_back(path, std::move(*file));
  return true;
}

bool FileGroup::add(const std::string& path, std::string_view contents, Diagnostics& diags) {
  return add(path, runtime::FileReplacement::write(path, {contents}), diags);
}

bool FileGroup::commit(Diagnostics& diags) {
  for (auto& [path, file] : files_) {
    if (runtime::Status status = file.commit(); !status) return refuse(path, status, diags);
  }
  files_.clear();
  return true;
}

}  // namespace collage::support
