// SPDX-License-Identifier: Apache-2.0
#include "runtime/support/file_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "runtime/io/descriptor.h"
#include "runtime/support/hash.h"

namespace collage::support {
namespace {

namespace fs = std::filesystem;

constexpr char kMagic[] = "collage cache 1";  ///< with its end 16 bytes
constexpr std::string_view kUnfinished = ".partial";
constexpr uint64_t kKeptAtMost = 64;  ///< until the folder's size is examined; a process may be killed before it ends
constexpr size_t kNameDigits = 32;
constexpr std::chrono::hours kAbandoned{1};  ///< an unfinished entry this old has no writer any more
/// A folder that became too large is emptied to this part of its size, so that not every program has to.
constexpr uint64_t kPartLeft = 8, kOf = 10;

struct Header {
  char magic[sizeof kMagic];
  uint64_t key_bytes;
  uint64_t value_bytes;
  uint64_t checksum;  ///< of key and value
};

bool read_all(int descriptor, char* to, size_t size) {
  while (size > 0) {
    const ssize_t got = ::read(descriptor, to, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(descriptor, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

/// A folder may hold other files than entries, which are left alone.
bool is_name_of_entry(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  return name.size() >= kNameDigits &&
         name.substr(0, kNameDigits).find_first_not_of(kDigits) == std::string_view::npos &&
         (name.size() == kNameDigits || (name[kNameDigits] == '.' && name.ends_with(kUnfinished)));
}

/// Only what this user, or the system's, has written is trusted: entries may be machine code.
bool is_trusted(const struct stat& file) {
  const bool is_private = (file.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  return S_ISREG(file.st_mode) && is_private && (file.st_uid == ::geteuid() || file.st_uid == 0);
}

}  // namespace

std::string user_cache_folder() {
  const auto folder_of = [](const char* variable) {
    const char* value = std::getenv(variable);
    const fs::path folder = value == nullptr ? "" : value;
    return folder.is_absolute() ? folder : fs::path();
  };
  if (const fs::path cache = folder_of("XDG_CACHE_HOME"); !cache.empty()) return (cache / "collage").string();
  if (const fs::path home = folder_of("HOME"); !home.empty()) return (home / ".cache" / "collage").string();
  return "";
}

FileCache::FileCache(std::string folder, uint64_t most_bytes) : folder_(std::move(folder)), most_bytes_(most_bytes) {}

FileCache::~FileCache() {
  if (kept_ > 0) remove_oldest();
}

std::string FileCache::file_of(std::string_view key) const {
  const std::string name = fmt::format("{:016x}{:016x}", hash_bytes(key), hash_bytes(key, key.size()));
  return (fs::path(folder_) / name).string();
}

std::optional<std::string> FileCache::find(std::string_view key) const {
  const runtime::Descriptor file(::open(file_of(key).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  struct stat about {};
  if (!file.is_open() || ::fstat(file.get(), &about) != 0 || !is_trusted(about)) return std::nullopt;
  const auto size = static_cast<uint64_t>(about.st_size);
  Header header{};
  if (size < sizeof header || !read_all(file.get(), reinterpret_cast<char*>(&header), sizeof header))
    return std::nullopt;
  const uint64_t rest = size - sizeof header;
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || header.key_bytes != key.size() ||
      header.value_bytes > rest || rest - header.value_bytes != header.key_bytes) {
    return std::nullopt;
  }
  std::string bytes(rest, '\0');
  if (!read_all(file.get(), bytes.data(), bytes.size()) || hash_bytes(bytes) != header.checksum) return std::nullopt;
  if (std::string_view(bytes).substr(0, key.size()) != key) return std::nullopt;
  ::futimens(file.get(), nullptr);  // its last use
  return bytes.substr(key.size());
}

void FileCache::keep(std::string_view key, std::string_view value) {
  const std::string content = std::string(key).append(value);
  Header header{{}, key.size(), value.size(), hash_bytes(content)};
  if (sizeof header + content.size() > most_bytes_ || !why_unusable().empty()) return;
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  const std::string path = file_of(key);
  std::string beside = fmt::format("{}.XXXXXX{}", path, kUnfinished);
  const runtime::Descriptor file(::mkostemps(beside.data(), static_cast<int>(kUnfinished.size()), O_CLOEXEC));
  if (!file.is_open()) return;
  const bool is_written =
      write_all(file.get(), {reinterpret_cast<const char*>(&header), sizeof header}) && write_all(file.get(), content);
  if (is_written && std::rename(beside.c_str(), path.c_str()) == 0) {
    if (++kept_ == kKeptAtMost) remove_oldest();
  } else {
    ::unlink(beside.c_str());
  }
}

std::string FileCache::why_unusable() const {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) return error.message();
  return ::access(folder_.c_str(), W_OK | X_OK) == 0 ? "" : std::strerror(errno);
}

/// Other processes may do the same at the same time: what has gone meanwhile is skipped, and who reads an entry that
/// goes has it open.
void FileCache::remove_oldest() {
  kept_ = 0;
  struct Entry {
    fs::file_time_type used;
    uint64_t bytes = 0;
    fs::path path;
  };
  std::vector<Entry> entries;
  uint64_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    if (!is_name_of_entry(at->path().filename().string()) || !at->is_regular_file(gone)) continue;
    Entry entry{at->last_write_time(gone), at->file_size(gone), at->path()};
    if (gone) continue;
    const bool is_unfinished = entry.path.extension() == kUnfinished;
    if (is_unfinished && fs::file_time_type::clock::now() - entry.used > kAbandoned) {
      fs::remove(entry.path, gone);
      continue;
    }
    if (is_unfinished) continue;
    bytes += entry.bytes;
    entries.push_back(std::move(entry));
  }
  if (bytes <= most_bytes_) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (bytes <= most_bytes_ / kOf * kPartLeft) return;
    fs::remove(entry.path, error);
    bytes -= entry.bytes;
  }
}

}  // namespace collage::support
