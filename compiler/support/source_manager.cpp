// SPDX-License-Identifier: Apache-2.0
#include "compiler/support/source_manager.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace collage::support {

std::optional<FileId> SourceManager::load(const std::string& path, std::string* why) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    *why = "is a directory";
    return std::nullopt;
  }
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    *why = std::strerror(errno);
    return std::nullopt;
  }
  std::ostringstream text;
  text << stream.rdbuf();
  return add(path, text.str());
}

FileId SourceManager::add(std::string name, std::string text) {
  files_.push_back({std::move(name), std::move(text)});
  return FileId{static_cast<int32_t>(files_.size()) - 1};
}

std::string_view SourceManager::name(FileId id) const {
  return file(id).name;
}

std::string_view SourceManager::text(FileId id) const {
  return file(id).text;
}

std::string_view SourceManager::text(const Span& span) const {
  std::string_view all = text(span.file);
  size_t begin = std::min<size_t>(span.begin, all.size());
  size_t end = std::clamp<size_t>(span.end, begin, all.size());
  return all.substr(begin, end - begin);
}

LineColumn SourceManager::position(FileId id, uint32_t offset) const {
  std::string_view before = text(id).substr(0, offset);
  LineColumn position;
  position.line = 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
  size_t newline = before.rfind('\n');
  position.column =
      static_cast<int>(newline == std::string_view::npos ? before.size() : before.size() - newline - 1) + 1;
  return position;
}

std::string_view SourceManager::line_at(FileId id, uint32_t offset) const {
  std::string_view all = text(id);
  size_t at = std::min<size_t>(offset, all.size());
  size_t begin = at == 0 ? 0 : all.rfind('\n', at - 1) + 1;
  size_t end = std::min(all.find('\n', at), all.size());
  std::string_view line = all.substr(begin, end - begin);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

}  // namespace collage::support
