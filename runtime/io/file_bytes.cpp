// SPDX-License-Identifier: Apache-2.0
#include "runtime/io/file_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "runtime/io/file_replacement.h"
#include "runtime/io/files_read.h"

namespace collage::runtime {
namespace {

Status last_error() {
  return Status::error(std::strerror(errno));
}

/// A pipe of the shell has no place in the file system, so that its path leads nowhere.
bool has_name(const std::string& path) {
  std::error_code error;
  return !std::filesystem::canonical(path, error).empty();
}

/// Reads until `to` is full or the file ends. Returns how much came, -1 after an error.
ssize_t read_into(int descriptor, std::span<char> to) {
  size_t done = 0;
  while (done < to.size()) {
    const ssize_t got = ::read(descriptor, to.data() + done, to.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return static_cast<ssize_t>(done);
}

}  // namespace

Result<Descriptor> open_to_read(const std::string& path) {
  // Without waiting: opening a pipe without a writer would block.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.is_open()) return errno == ENXIO ? Status::error("is a socket") : last_error();
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return last_error();
  if (S_ISDIR(about.st_mode)) return Status::error("is a directory");
  if (S_ISCHR(about.st_mode) || S_ISBLK(about.st_mode)) return Status::error("is a device");
  note_read(about, path);
  if (S_ISREG(about.st_mode)) return file;
  if (!S_ISFIFO(about.st_mode) || has_name(path)) return Status::error("is a pipe");
  const int flags = ::fcntl(file.get(), F_GETFL);
  if (flags < 0 || ::fcntl(file.get(), F_SETFL, flags & ~O_NONBLOCK) != 0) return last_error();
  return file;
}

Result<std::string> read_all(const Descriptor& file, uint64_t most) {
  constexpr size_t kPiece = size_t{1} << 16;
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return last_error();
  const auto too_large = [most](uint64_t bytes) {
    return Status::error("has " + std::to_string(bytes) + " bytes, more than " + std::to_string(most));
  };
  const auto stated = static_cast<uint64_t>(S_ISREG(about.st_mode) ? about.st_size : 0);
  if (stated > most) return too_large(stated);
  // A byte more than is stated shows that the file ends there; files of /proc state 0 and have more.
  std::string bytes(stated + 1, '\0');
  for (size_t done = 0;;) {
    const ssize_t got = read_into(file.get(), std::span(bytes).subspan(done));
    if (got < 0) return last_error();
    done += static_cast<size_t>(got);
    if (done > most) return too_large(done);
    if (done < bytes.size()) {
      bytes.resize(done);
      return bytes;
    }
    bytes.resize(done + std::max(done, kPiece));
  }
}

Result<std::string> read_file(const std::string& path) {
  const auto fail = [&](const Status& status) {
    return Status::error("cannot read '" + path + "': " + status.message());
  };
  Result<Descriptor> file = open_to_read(path);
  if (!file) return fail(file.status());
  Result<std::string> bytes = read_all(*file);
  return bytes ? bytes : fail(bytes.status());
}

std::string beginning_of_file(const std::string& path, size_t most) {
  Result<Descriptor> file = open_to_read(path);
  struct stat about {};
  // What is read of a pipe is gone.
  if (!file || ::fstat(file->get(), &about) != 0 || !S_ISREG(about.st_mode)) return "";
  std::string bytes(most, '\0');
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(read_into(file->get(), bytes), 0)));
  return bytes;
}

Status write_file(const std::string& path, const std::vector<std::span<const char>>& pieces) {
  const auto fail = [&](const Status& status) {
    return Status::error("cannot write '" + path + "': " + status.message());
  };
  Result<FileReplacement> file = FileReplacement::write(path, pieces);
  if (!file) return fail(file.status());
  Status status = file->commit();
  return status ? status : fail(status);
}

}  // namespace collage::runtime
