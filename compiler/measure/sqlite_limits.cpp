// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/sqlite_limits.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <limits>

#include "runtime/io/file_bytes.h"
#include "runtime/io/files_read.h"

namespace collage::measure {
namespace {

namespace fs = std::filesystem;

/// How many steps of SQLite's machine a statement may take. A row of a table takes some bytes of the file and some
/// tens of steps; pages that lead to each other more than once make rows without bytes.
int most_steps(const std::string& path) {
  constexpr uint64_t kOfAny = 100'000'000, kOfByte = 32, kMost = std::numeric_limits<int>::max();
  std::error_code error;
  const uint64_t bytes = fs::file_size(path, error);
  return static_cast<int>(error ? kOfAny : std::min(kMost, kOfAny + kOfByte * std::min(bytes, kMost)));
}

/// Whether the journal ends as one does that names that of several databases. No program of ours writes such.
bool has_journal_with_name(const std::string& path) {
  constexpr std::array<unsigned char, 8> kEnd = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
  const runtime::Result<runtime::Descriptor> journal = runtime::open_to_read(path + "-journal");
  struct stat about {};
  std::array<unsigned char, 8> end{};
  return journal && ::fstat(journal->get(), &about) == 0 && about.st_size >= static_cast<off_t>(end.size()) &&
         ::pread(journal->get(), end.data(), end.size(), about.st_size - static_cast<off_t>(end.size())) ==
             static_cast<ssize_t>(end.size()) &&
         end == kEnd;
}

}  // namespace

runtime::Status check_is_file(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return runtime::Status::ok();
  if (has_journal_with_name(path)) return runtime::Status::error("its journal names another file to be removed");
  std::error_code error;
  const bool is_of_system = fs::canonical(path, error).string().starts_with("/proc/");
  if (S_ISREG(about.st_mode) && !is_of_system) return runtime::Status::ok();
  return runtime::Status::error(S_ISDIR(about.st_mode)    ? "is a directory"
                                : S_ISFIFO(about.st_mode) ? "is a pipe"
                                : S_ISSOCK(about.st_mode) ? "is a socket"
                                : is_of_system            ? "is a file of the system"
                                                          : "is a device");
}

void set_limits(sqlite3* database, const std::string& path) {
  runtime::note_read(path);
  for (const int allowed : {SQLITE_DBCONFIG_ENABLE_VIEW, SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_TRUSTED_SCHEMA,
                            SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION})
    sqlite3_db_config(database, allowed, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_limit(database, SQLITE_LIMIT_LENGTH, kMostRowText);
  sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
  // It is asked once a statement has taken so many steps, and says that it shall stop.
  sqlite3_progress_handler(
      database, most_steps(path), [](void*) { return 1; }, nullptr);
}

}  // namespace collage::measure
