// SPDX-License-Identifier: Apache-2.0
#include "runtime/tools/command_line/file_uses.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "runtime/io/file_replacement.h"

namespace collage::tools {
namespace {

namespace fs = std::filesystem;

/// Two names of one file have one key. Empty for what cannot be replaced.
std::string key_of(const fs::path& path) {
  const std::optional<std::string> end = runtime::end_of_links(path.string());
  if (!end) return "";
  std::error_code error;
  const fs::path full = fs::weakly_canonical(*end, error);
  if (error || (fs::exists(full, error) && !fs::is_regular_file(full, error))) return "";
  return fs::absolute(full, error).string();
}

bool is_same(const fs::path& a, const fs::path& b) {
  std::error_code error;
  return fs::equivalent(a, b, error) && !error && fs::is_regular_file(a, error);  // hard links, too
}

std::vector<fs::path> files_of(const FileUse& use) {
  std::error_code error;
  if (!fs::is_directory(use.path, error)) return {use.path};
  std::vector<fs::path> files;
  for (fs::directory_iterator at(use.path, error), end; !error && at != end; at.increment(error)) {
    if (use.extension.empty() || at->path().extension() == use.extension) files.push_back(at->path());
  }
  return files;
}

}  // namespace

std::string overwritten_file(const std::vector<FileUse>& read, const std::vector<FileUse>& written) {
  std::map<std::string, const FileUse*> outputs;
  for (const FileUse& output : written) {
    const std::string key = key_of(output.path);
    if (key.empty()) continue;
    const auto [other, is_new] = outputs.emplace(key, &output);
    if (!is_new) return fmt::format("{} and {} both write `{}`", other->second->option, output.option, output.path);
  }
  for (const FileUse& input : read) {
    for (const fs::path& file : files_of(input)) {
      for (const FileUse& output : written) {
        if (is_same(file, output.path))
          return fmt::format("{} would replace `{}`, which {} reads", output.option, output.path, input.option);
      }
    }
  }
  return "";
}

}  // namespace collage::tools
