// SPDX-License-Identifier: Apache-2.0
#include "runtime/io/file_replacement.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "runtime/io/files_read.h"

namespace collage::runtime {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kMode = 0666;  // less what the user's umask takes away

Status error_of_system() {
  return Status::error(std::strerror(errno));
}

std::string folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

/// Fails where the file that a path leads to by now was read.
Status check_not_read(const std::string& path) {
  struct stat now {};
  if (::stat(path.c_str(), &now) != 0) return Status::ok();
  const std::string name = name_when_read(now);
  return name.empty() ? Status::ok() : Status::error("this command has read it, as `" + name + "`");
}

/// Names of what is open already, a pipe of the shell, say: nothing takes their place.
bool is_of_the_system(const std::string& path) {
  std::error_code error;
  const std::string full = fs::absolute(path, error).lexically_normal().string();
  return full.starts_with("/dev/fd/") || full.starts_with("/dev/std") || full.starts_with("/proc/");
}

/// A name in the folder of `target` that no other writer uses, in this process or another.
std::string unique_name(const std::string& target) {
  constexpr size_t kLongestStem = 200;  // of the 255 bytes that a name may have
  static std::atomic<unsigned> number{0};
  const fs::path path(target);
  const std::string stem = path.filename().string().substr(0, kLongestStem);
  const std::string name =
      stem + "." + std::to_string(::getpid()) + "-" + std::to_string(number.fetch_add(1)) + ".partial";
  return (path.parent_path() / name).string();
}

std::string path_of(int descriptor) {
  return "/proc/self/fd/" + std::to_string(descriptor);
}

Status write_pieces(int descriptor, const std::vector<std::span<const char>>& pieces) {
  for (std::span<const char> piece : pieces) {
    while (!piece.empty()) {
      const ssize_t put = ::write(descriptor, piece.data(), piece.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return error_of_system();
      piece = piece.subspan(static_cast<size_t>(put));
    }
  }
  return Status::ok();
}

bool is_standard_stream(const std::string& path) {
  return path == "/dev/stdout" || path == "/dev/stderr";
}

/// Opens something that cannot be replaced. A pipe without a reader is refused, not waited for.
Result<Descriptor> open_in_place(const std::string& path) {
  if (is_standard_stream(path)) {
    // Opened anew, a file behind it would be written from its start.
    Descriptor copy(::fcntl(path == "/dev/stdout" ? STDOUT_FILENO : STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
    return copy.is_open() ? Result<Descriptor>(std::move(copy)) : error_of_system();
  }
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.is_open()) return errno == ENXIO ? Status::error("nothing reads this pipe") : error_of_system();
  const int flags = ::fcntl(file.get(), F_GETFL);
  if (flags < 0 || ::fcntl(file.get(), F_SETFL, flags & ~O_NONBLOCK) != 0) return error_of_system();
  return file;
}

/// What is written for a path.
struct Target {
  bool is_in_place = false;      ///< it cannot be replaced
  std::string end;               ///< of its links
  std::optional<mode_t> mode{};  ///< of the file that is replaced

  static Result<Target> of(const std::string& path, Replaces replaces);
};

Result<Target> Target::of(const std::string& path, Replaces replaces) {
  if (path.empty()) return Status::error("the name is empty");
  if (Status status = replaces == Replaces::Anything ? Status::ok() : check_not_read(path); !status) return status;
  struct stat old {};
  const bool exists = ::stat(path.c_str(), &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) return Status::error("is a directory");
  if ((exists && !S_ISREG(old.st_mode)) || is_of_the_system(path)) return Target{true, path};
  std::optional<std::string> end = end_of_links(path);
  if (!end) return Status::error("its links run in a circle");
  Target target{false, std::move(*end)};
  if (exists) target.mode = old.st_mode & 07777;
  return target;
}

}  // namespace

std::optional<std::string> end_of_links(const std::string& path) {
  constexpr int kMostLinks = 40;  // as in Linux
  std::error_code error;
  fs::path end = path;
  for (int i = 0; i < kMostLinks; ++i) {
    if (!fs::is_symlink(end, error)) return end.string();
    const fs::path next = fs::read_symlink(end, error);
    if (error) return std::nullopt;
    end = next.is_absolute() ? next : end.parent_path() / next;
  }
  return std::nullopt;
}

FileReplacement::~FileReplacement() {
  if (file_.is_open() && !beside_.empty()) ::unlink(beside_.c_str());
}

Status FileReplacement::open_beside() {
  // A file without a name can only get one through /proc.
  if (::access("/proc/self/fd", X_OK) == 0)
    file_ = Descriptor(::open(folder_of(target_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kMode));
  if (file_.is_open()) return Status::ok();
  do {
    beside_ = unique_name(target_);
    file_ = Descriptor(::open(beside_.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, kMode));
  } while (!file_.is_open() && errno == EEXIST);
  return file_.is_open() ? Status::ok() : error_of_system();
}

Result<FileReplacement> FileReplacement::write(const std::string& path,
                                               const std::vector<std::span<const char>>& pieces, Replaces replaces) {
  FileReplacement made;
  made.replaces_ = replaces;
  const Result<Target> target = Target::of(path, replaces);
  if (!target) return target.status();
  if (target->is_in_place) {
    Result<Descriptor> opened = open_in_place(path);
    if (!opened) return opened.status();
    made.file_ = std::move(*opened);
    if (Status status = write_pieces(made.file_.get(), pieces); !status) return status;
    return made;
  }
  made.target_ = target->end;
  if (Status status = made.open_beside(); !status) return status;
  if (target->mode) (void)::fchmod(made.file_.get(), *target->mode);
  if (Status status = write_pieces(made.file_.get(), pieces); !status) return status;
  return made;
}

Status FileReplacement::check(const std::string& path) {
  const Result<Target> target = Target::of(path, Replaces::WhatWasNotRead);
  if (!target) return target.status();
  // Who may write to a stream that is open need not be allowed to open it.
  if (target->is_in_place && is_standard_stream(path)) return open_in_place(path).status();
  if (target->is_in_place) return ::access(path.c_str(), W_OK) == 0 ? Status::ok() : error_of_system();
  FileReplacement made;
  made.target_ = target->end;
  return made.open_beside();
}

Status FileReplacement::commit() {
  if (!file_.is_open()) return Status::ok();
  if (!target_.empty()) {
    // It may have been read since this began.
    if (Status status = replaces_ == Replaces::Anything ? Status::ok() : check_not_read(target_); !status)
      return status;
    while (beside_.empty()) {
      const std::string name = unique_name(target_);
      const std::string file = path_of(file_.get());
      if (::linkat(AT_FDCWD, file.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
        beside_ = name;
      } else if (errno != EEXIST) {
        return error_of_system();
      }
    }
    // EINVAL: the file system has no fsync.
    if (::fsync(file_.get()) != 0 && errno != EINVAL) return error_of_system();  // the destructor removes it
  }
  // Some file systems report only here that the disk is full: a file that is not whole must not replace another.
  Status status = ::close(file_.release()) == 0 || errno == EINTR ? Status::ok() : error_of_system();
  if (target_.empty()) return status;
  if (status && std::rename(beside_.c_str(), target_.c_str()) != 0) status = error_of_system();
  if (!status) ::unlink(beside_.c_str());
  beside_.clear();
  return status;
}

}  // namespace collage::runtime
