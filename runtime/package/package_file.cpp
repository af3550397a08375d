// SPDX-License-Identifier: Apache-2.0
#include "runtime/package/package_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/core/checked_size.h"
#include "runtime/io/file_bytes.h"
#include "runtime/io/files_read.h"
#include "runtime/io/mapped_bytes.h"
#include "runtime/package/content_hash.h"
#include "runtime/package/shallow_json.h"

namespace collage::runtime {
namespace {

using nlohmann::json;

constexpr size_t kVersionAt = 12;
constexpr size_t kFileBytesAt = 16;
constexpr size_t kTableBytesAt = 24;
constexpr size_t kTableHashAt = 32;
constexpr size_t kTableAt = 64;
/// Far more than the sections there are.
constexpr size_t kMostTableBytes = 1 << 19;

template <typename Number>
void append(std::string& bytes, Number number) {
  for (size_t i = 0; i < sizeof(Number); ++i) bytes += static_cast<char>(number >> (8 * i) & 0xff);
}

template <typename Number>
Number number_at(std::span<const char> bytes, size_t at) {
  Number number = 0;
  for (size_t i = sizeof(Number); i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
  return number;
}

size_t bytes_of(const SectionPieces& section) {
  size_t bytes = 0;
  for (std::span<const char> piece : section.pieces) bytes += piece.size();
  return bytes;
}

std::string hash_of(const SectionPieces& section) {
  ContentHash hash;
  for (std::span<const char> piece : section.pieces) hash.add(piece);
  return hash.finish();
}

/// What is wrong with a file that begins with these bytes; empty if it may be a package of this version.
std::string wrong_beginning(std::span<const char> bytes) {
  const std::string_view text(bytes.data(), bytes.size());
  if (!text.starts_with(kPackageMagic)) {
    constexpr std::string_view kModel = "model @";
    const std::string_view start = text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    const bool is_model = start.starts_with(kModel) || start.starts_with("//");
    return is_model ? "is a model as text, which earlier versions called .collage too, and no package: "
                      "`collagec FILE -o NAME.collage` makes one of it"
                    : "is no Collage package";
  }
  if (bytes.size() < kTableAt) return "ends early";
  const auto version = number_at<uint32_t>(bytes, kVersionAt);
  if (version < kPackageVersion || version > kClusterPackageVersion) {
    return "is a package of format " + std::to_string(version) + ", this program reads formats " +
           std::to_string(kPackageVersion) + " to " + std::to_string(kClusterPackageVersion) +
           ": compile the model again";
  }
  return "";
}

std::optional<size_t> size_in(const json& row, const char* key) {
  const auto found = row.find(key);
  if (found == row.end() || !found->is_number_unsigned()) return std::nullopt;
  return found->get<size_t>();
}

std::string text_in(const json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

Status write_package_file(const std::string& path, const std::vector<SectionPieces>& sections, uint32_t version) {
  json table = json::array();
  for (const SectionPieces& section : sections) {
    // Offsets follow when the length of the table is known.
    table.push_back({{"name", section.name}, {"offset", 0}, {"bytes", bytes_of(section)}, {"hash", hash_of(section)}});
  }
  constexpr size_t kDigits = 20;  // of an offset
  size_t end = align_up(kTableAt + table.dump().size() + sections.size() * kDigits, kPageBytes);
  for (json& row : table) {
    row["offset"] = end;
    end = align_up(end + row["bytes"].get<size_t>(), kPageBytes);
  }
  const std::string table_text = table.dump();
  std::string head(kPackageMagic);
  append(head, version);
  append(head, static_cast<uint64_t>(end));
  append(head, static_cast<uint64_t>(table_text.size()));
  head += content_hash(table_text, 1);
  head += table_text;

  const std::string padding(kPageBytes, '\0');
  std::vector<std::span<const char>> pieces{head};
  size_t at = head.size();
  const auto pad_to = [&](size_t place) {
    for (; at < place; at += pieces.back().size())
      pieces.push_back(std::span(padding).first(std::min(kPageBytes, place - at)));
  };
  for (size_t i = 0; i < sections.size(); ++i) {
    pad_to(table[i]["offset"].get<size_t>());
    pieces.insert(pieces.end(), sections[i].pieces.begin(), sections[i].pieces.end());
    at += bytes_of(sections[i]);
  }
  pad_to(end);
  return write_file(path, pieces);
}

Result<PackageFile> PackageFile::open(const std::string& path, int threads) {
  auto file = std::make_shared<const Descriptor>(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file->is_open()) return Status::error(std::string("cannot read: ") + std::strerror(errno));
  struct stat status {};
  if (::fstat(file->get(), &status) != 0) return Status::error(std::string("cannot read: ") + std::strerror(errno));
  if (S_ISDIR(status.st_mode)) return Status::error("cannot read: is a directory");
  if (!S_ISREG(status.st_mode)) return Status::error("is not a regular file");
  note_read(status, path);
  const auto file_bytes = static_cast<size_t>(status.st_size);
  // Nothing of a foreign file is mapped, however large it is.
  char beginning[kTableAt];
  const ssize_t got = ::pread(file->get(), beginning, sizeof(beginning), 0);
  if (got < 0) return Status::error(std::string("cannot read: ") + std::strerror(errno));
  const std::span<const char> head(beginning, static_cast<size_t>(got));
  if (std::string wrong = wrong_beginning(head); !wrong.empty()) return Status::error(wrong);
  if (const auto written = number_at<uint64_t>(head, kFileBytesAt); written != file_bytes) {
    return Status::error("is damaged: it has " + std::to_string(file_bytes) + " bytes, " + std::to_string(written) +
                         " were written");
  }
  const auto table_bytes = number_at<uint64_t>(head, kTableBytesAt);
  if (table_bytes > kMostTableBytes || table_bytes > file_bytes - kTableAt)
    return Status::error("is damaged: its table is too long");

  PackageFile package;
  package.version_ = number_at<uint32_t>(head, kVersionAt);
  package.threads_ = threads;
  const bool is_read_at_once = package.version_ != kClusterPackageVersion;
  const size_t mapped = is_read_at_once ? file_bytes : kTableAt + table_bytes;
  Result<std::shared_ptr<const std::byte>> memory = map_bytes(*file, 0, mapped, Paging::AtOnce);
  if (!memory) return memory.status();
  const std::span<const char> all(reinterpret_cast<const char*>(memory->get()), mapped);
  const std::span<const char> table_text = all.subspan(kTableAt, table_bytes);
  package.table_hash_.assign(all.data() + kTableHashAt, kTableAt - kTableHashAt);
  if (content_hash(table_text, 1) != package.table_hash_)
    return Status::error("is damaged: its table is not as it was written");
  if (Status rows = package.add_rows(table_text, file_bytes); !rows) return rows;
  if (!is_read_at_once) {
    package.file_ = file;
    return package;
  }
  for (auto& [name, section] : package.sections_) {
    section.first = {*memory, memory->get() + section.offset};
    if (Status good = package.check(name, section); !good) return good;
  }
  return package;
}

Status PackageFile::add_rows(std::span<const char> table_text, size_t file_bytes) {
  const std::optional<json> table = parse_shallow(table_text, json::input_format_t::json);
  if (!table || !table->is_array()) return Status::error("is damaged: its table cannot be read");
  for (const json& row : *table) {
    const std::string name = row.is_object() ? text_in(row, "name") : "";
    const std::optional<size_t> offset = name.empty() ? std::nullopt : size_in(row, "offset");
    const std::optional<size_t> bytes = name.empty() ? std::nullopt : size_in(row, "bytes");
    if (!offset || !bytes || *offset % kPageBytes != 0 || *offset > file_bytes || *bytes > file_bytes - *offset) {
      return Status::error("is damaged: section `" + name + "` is impossible");
    }
    if (!sections_.emplace(name, Section{*offset, *bytes, text_in(row, "hash")}).second)
      return Status::error("is damaged: section `" + name + "` is there twice");
  }
  return Status::ok();
}

Status PackageFile::check(const std::string& name, const Section& section) const {
  const std::span<const char> bytes(reinterpret_cast<const char*>(section.first.get()), section.bytes);
  if (content_hash(bytes, threads_) == section.hash) return Status::ok();
  return Status::error("is damaged: section `" + name + "` is not as it was written");
}

Status PackageFile::read(std::string_view name) {
  const auto found = sections_.find(name);
  if (found == sections_.end()) return Status::error("is damaged: it has no section `" + std::string(name) + "`");
  Section& section = found->second;
  if (section.first != nullptr) return Status::ok();
  if (section.bytes > 0) {
    Result<std::shared_ptr<const std::byte>> memory = map_bytes(*file_, section.offset, section.bytes, Paging::AtOnce);
    if (!memory) return memory.status();
    section.first = std::move(*memory);
  }
  return check(found->first, section);
}

std::span<const char> PackageFile::section(std::string_view name) const {
  const auto found = sections_.find(name);
  if (found == sections_.end() || found->second.first == nullptr) return {};
  return {reinterpret_cast<const char*>(found->second.first.get()), found->second.bytes};
}

std::shared_ptr<const std::byte> PackageFile::memory_of(std::string_view name) const {
  const auto found = sections_.find(name);
  return found == sections_.end() ? nullptr : found->second.first;
}

}  // namespace collage::runtime
