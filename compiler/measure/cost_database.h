// SPDX-License-Identifier: Apache-2.0
// Measured costs that outlive a compilation, for any number of compilers at once: an SQLite file (sqlite_costs.h), or
// tables of a PostgreSQL server (postgres_costs.h). Both hold the same:
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
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/measure/measurement.h"
#include "runtime/core/status.h"

namespace collage::measure::postgres {
class Verdict;
}

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
  /// Opens the tables of a server, by its address (`postgresql://…`), or a file; creates what is not there yet.
  /// `:memory:` is a database of this process only. Returns an error for what is damaged, not a cost database, or of a
  /// newer version, and leaves it unchanged. One of an older version gets what it lacks. `verdict`: shared with other
  /// connections to that server; null: there are none.
  static runtime::Result<std::unique_ptr<CostDatabase>> open(const std::string& name,
                                                             std::shared_ptr<postgres::Verdict> verdict = nullptr);
  /// Opens what exists, and changes nothing in it.
  static runtime::Result<std::unique_ptr<CostDatabase>> open_to_read(const std::string& name);
  virtual ~CostDatabase() = default;
  CostDatabase(const CostDatabase&) = delete;
  CostDatabase& operator=(const CostDatabase&) = delete;

  /// Why something could not be stored, the first time, and empty from then on: the disk is full, or this user may only
  /// read.
  virtual std::string take_unkept() { return std::exchange(unkept_, ""); }

  /// Whether the server went away and did not come back in time: nothing is found and nothing kept any more.
  virtual bool is_lost() const { return false; }
  /// Why it did not come back, the first time, and empty from then on.
  virtual std::string take_lost() { return ""; }

  /// For maintenance, which may work on all rows at once: a server that executes a statement is waited for, however
  /// long that takes (postgres/connection.h).
  virtual void expect_long_statements() {}

  /// A row that does not count is not found; `*problem`, if given, is then what is wrong with it.
  std::optional<Measurement> find(const std::string& environment, const std::string& candidate,
                                  std::string* problem = nullptr);
  /// Stores a measurement unless another compiler stored one first, and returns the one that is stored then. Always
  /// replaced are failures by timeout and what does not count; of what was disturbed, `after_repeat` stays.
  Measurement store(const std::string& environment, const std::string& candidate, const Measurement& measurement);

  /// All rows, ordered by environment and candidate.
  virtual runtime::Result<std::vector<CostRow>> rows() = 0;
  /// As `store` for each, all or none.
  virtual runtime::Result<Written> write(const std::vector<CostRow>& rows) = 0;
  /// Writes them if it can; why it cannot is remembered (`take_unkept`).
  void keep(const std::vector<CostRow>& rows) { note_unkept(write(rows).status()); }
  /// Removes the rows that `is_removed` names, all or none; returns how many there were. No other process changes a row
  /// between the question and the removal. Records of who measured them are removed, too. Texts of
  /// environments stay: other processes know them by their numbers.
  virtual runtime::Result<size_t> remove_if(const std::function<bool(const CostRow&)>& is_removed) = 0;

  /// What the reference kernel takes on a machine, if that is known and not older than `oldest`, a Unix time.
  std::optional<Duration> reference(const std::string& machine, int64_t oldest);
  /// Stores it, unless there is a shorter one that is not older than `oldest`.
  void store_reference(const std::string& machine, Duration reference, int64_t date, int64_t oldest);

 protected:
  CostDatabase() = default;

  /// A row, with its problem if it does not count; null if there is none.
  virtual std::optional<CostRow> look_up(const std::string& environment, const std::string& candidate) = 0;
  /// Picoseconds of the table; null where it has none that is new enough.
  virtual std::optional<int64_t> look_up_reference(const std::string& machine, int64_t oldest) = 0;
  virtual void put_reference(const std::string& machine, Duration reference, int64_t date) = 0;

  /// Remembers why something was not stored, if nothing is remembered.
  void note_unkept(const runtime::Status& status);

 private:
  std::string unkept_;
};

/// The name of a database for messages: an address without its password.
std::string shown_database(const std::string& name);

/// `$XDG_CACHE_HOME/collage/costs.sqlite`, else `~/.cache/collage/costs.sqlite`; empty if neither variable is set.
std::string default_cost_database();

}  // namespace collage::measure
