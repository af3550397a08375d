// SPDX-License-Identifier: Apache-2.0
#include "runtime/support/source_manager.h"

#include <algorithm>

#include "runtime/io/file_bytes.h"
#include "runtime/support/text_limit.h"

namespace collage::support {
namespace {

/// Editors on Windows write it before UTF-8; it is not part of the text.
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// Where the lines of a text begin: a file may have as many mistakes as lines, and each is looked for.
std::vector<uint32_t> begins_of_lines(std::string_view text) {
  std::vector<uint32_t> begins = {0};
  for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1))
    begins.push_back(static_cast<uint32_t>(at + 1));
  return begins;
}

/// Fails where it is visible before parsing that `bytes` cannot be text of ours.
runtime::Status check_text(std::string_view bytes) {
  using runtime::Status;
  if (bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff"))
    return Status::error("it is in UTF-16; save it as UTF-8");
  const size_t zero = bytes.find('\0');
  if (zero == std::string_view::npos) return Status::ok();
  return Status::error("it is no text: byte " + std::to_string(zero) + " is zero");
}

}  // namespace

runtime::Result<FileId> SourceManager::load(const std::string& path) {
  return add_text_of(path, [&] { return runtime::open_to_read(path); });
}

runtime::Result<FileId> SourceManager::load(const std::string& path, const FileAccess& access,
                                            const std::string& folder) {
  return add_text_of(path, [&] { return access.open(path, folder); });
}

void SourceManager::stand_in(const std::string& path, std::string bytes) {
  stand_in(path, std::make_shared<const std::string>(std::move(bytes)));
}

std::optional<std::string_view> SourceManager::stand_in(const std::string& path) const {
  const auto found = in_memory_.find(path);
  if (found == in_memory_.end()) return std::nullopt;
  return *found->second;
}

runtime::Result<SharedText> SourceManager::bytes_of(const std::string& path, const OpenFile& open) const {
  if (const auto found = in_memory_.find(path); found != in_memory_.end()) {
    const SharedText& bytes = found->second;
    if (bytes->size() <= kMostTextBytes) return bytes;
    return runtime::Status::error("has " + std::to_string(bytes->size()) + " bytes, more than " +
                                  std::to_string(kMostTextBytes));
  }
  runtime::Result<runtime::Descriptor> file = open();
  if (!file) return file.status();
  runtime::Result<std::string> bytes = runtime::read_all(*file, kMostTextBytes);
  if (!bytes) return bytes.status();
  return std::make_shared<const std::string>(std::move(*bytes));
}

runtime::Result<FileId> SourceManager::add_text_of(const std::string& path, const OpenFile& open) {
  runtime::Result<SharedText> bytes = bytes_of(path, open);
  if (!bytes) return bytes.status();
  const std::string& text = **bytes;
  if (runtime::Status status = check_text(text); !status) return status;
  if (text.starts_with(kByteOrderMark)) return add(path, text.substr(kByteOrderMark.size()));
  return add(path, std::move(*bytes));
}

FileId SourceManager::add(std::string name, std::string text) {
  return add(std::move(name), std::make_shared<const std::string>(std::move(text)));
}

FileId SourceManager::add(std::string name, SharedText text) {
  std::vector<uint32_t> lines = begins_of_lines(*text);
  files_.push_back({std::move(name), std::move(text), std::move(lines)});
  return FileId{static_cast<int32_t>(files_.size()) - 1};
}

std::string_view SourceManager::name(FileId id) const {
  return file(id).name;
}

std::string_view SourceManager::text(FileId id) const {
  return *file(id).text;
}

const SharedText& SourceManager::shared_text(FileId id) const {
  return file(id).text;
}

std::string_view SourceManager::text(const Span& span) const {
  std::string_view all = text(span.file);
  size_t begin = std::min<size_t>(span.begin, all.size());
  size_t end = std::clamp<size_t>(span.end, begin, all.size());
  return all.substr(begin, end - begin);
}

size_t SourceManager::line_index(const File& file, uint32_t offset) const {
  const auto next = std::upper_bound(file.lines.begin(), file.lines.end(), offset);
  return static_cast<size_t>(next - file.lines.begin()) - 1;
}

LineColumn SourceManager::position(FileId id, uint32_t offset) const {
  const File& in = file(id);
  const size_t line = line_index(in, offset);
  const size_t at = std::min<size_t>(offset, in.text->size());
  return {static_cast<int>(line) + 1, static_cast<int>(at - in.lines[line]) + 1};
}

std::string_view SourceManager::line_at(FileId id, uint32_t offset) const {
  const File& in = file(id);
  const size_t index = line_index(in, offset);
  const bool is_last = index + 1 == in.lines.size();
  const size_t begin = in.lines[index], end = is_last ? in.text->size() : in.lines[index + 1] - 1;
  std::string_view line = std::string_view(*in.text).substr(begin, end - begin);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

std::string location_text(const Span& span, const SourceManager& sources) {
  if (!span.is_valid()) return "";
  return std::string(sources.name(span.file)) + ":" + std::to_string(sources.position(span.file, span.begin).line);
}

}  // namespace collage::support
