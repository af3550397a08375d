// SPDX-License-Identifier: Apache-2.0
// Measured costs that outlive a compilation: an SQLite file that any number of compilers may use at once.
//
//     environment(id, text)                       machine, build and backend, each text once
//     measurement(environment, candidate, …)      the key is the candidate's whole text, so two are never confused
//     reference(machine, …)                       what the reference kernel takes (reference_kernel.h)
//
// Rows are checked when they are read: one with impossible numbers or with texts that are not UTF-8, which only another
// program can have written, counts as absent and is replaced by the next measurement.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/measure/measurement.h"
#include "runtime/core/status.h"

struct sqlite3;

namespace collage::measure {

/// Ten hexadecimal digits that name a text.
std::string short_hash(std::string_view text);

/// One row of the table of measurements.
struct CostRow {
  std::string environment;
  std::string candidate;
  Measurement measurement;
  std::string problem{};  ///< why it does not count; empty: it does

  /// Names it: ten hexadecimal digits of a hash of both texts.
  std::string id() const;
};

/// What writing rows changed.
struct Written {
  size_t added = 0;
  size_t replaced = 0;  ///< a row that did not count, or was disturbed
  size_t known = 0;     ///< left as they were
};

class CostDatabase {
 public:
  /// Opens the file, or creates it and its folder. `:memory:` is a database of this process only. Returns an error for
  /// a file that is damaged, not a cost database, or of a newer version; such a file is left unchanged. One of an older
  /// version gets what it lacks.
  static runtime::Result<std::unique_ptr<CostDatabase>> open(const std::string& path);
  /// Opens a file that exists, and changes nothing in it.
  static runtime::Result<std::unique_ptr<CostDatabase>> open_to_read(const std::string& path);
  ~CostDatabase();
  CostDatabase(const CostDatabase&) = delete;
  CostDatabase& operator=(const CostDatabase&) = delete;

  /// Path of the file beside the database that compilers lock while they measure; empty for `:memory:`.
  const std::string& lock_file() const { return lock_file_; }

  /// Why something could not be stored, the first time, and empty from then on: the disk is full, or the file is in a folder
  /// that cannot be written to.
  std::string take_unkept() { return std::exchange(unkept_, ""); }

  /// A row that does not count is not found; `*problem`, if given, is then what is wrong with it.
  std::optional<Measurement> find(const std::string& environment, const std::string& candidate,
                                  std::string* problem = nullptr);
  /// Stores a measurement unless another compiler stored one first, and returns the one that is stored then. Always
  /// replaced are failures by timeout, what does not count, and what was disturbed by what was less disturbed.
  Measurement store(const std::string& environment, const std::string& candidate, const Measurement& measurement);

  /// All rows, ordered by environment and candidate.
  runtime::Result<std::vector<CostRow>> rows();
  /// As `store` for each, all or none.
  runtime::Result<Written> write(const std::vector<CostRow>& rows);
  /// Removes the rows that `is_removed` names, all or none; returns how many there were. No other process changes a row
  /// between the question and the removal. Texts of environments stay: other processes know them by their numbers.
  runtime::Result<size_t> remove_if(const std::function<bool(const CostRow&)>& is_removed);

  /// What the reference kernel takes on a machine, if that is known and not older than `oldest`, a Unix time.
  std::optional<Duration> reference(const std::string& machine, int64_t oldest);
  /// Stores it, unless there is a shorter one that is not older than `oldest`.
  void store_reference(const std::string& machine, Duration reference, int64_t date, int64_t oldest);

 private:
  explicit CostDatabase(sqlite3* database) : database_(database) {}
  /// One in a folder that this user cannot write to, to be read; null if it cannot be.
  static std::unique_ptr<CostDatabase> open_unwritable(const std::string& path);
  std::optional<int64_t> environment_id(const std::string& text);
  runtime::Status execute(const char* statements);
  /// Runs `body` in one transaction.
  template <typename Body>
  runtime::Status in_transaction(Body&& body);
  enum class Stored { Added, Replaced, Known, Failed };
  Stored store_row(const std::string& environment, const std::string& candidate, const Measurement& measurement);

  sqlite3* database_;
  std::string lock_file_;
  std::string unkept_;
  bool has_dates_ = true;  ///< false: of version 1, opened to read
  std::map<std::string, int64_t> environments_;
};

/// `$XDG_CACHE_HOME/collage/costs.sqlite`, else `~/.cache/collage/costs.sqlite`; empty if neither variable is set.
std::string default_cost_database();

}  // namespace collage::measure
