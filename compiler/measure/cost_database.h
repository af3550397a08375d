// SPDX-License-Identifier: Apache-2.0
// Measured costs that outlive a compilation: an SQLite file that any number of compilers may use at once.
//
//     environment(id, text)                       what was measured where, once
//     measurement(environment, candidate, …)      by the candidate's whole text: no two can be mistaken for each other
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "compiler/measure/measurement.h"
#include "runtime/core/status.h"

struct sqlite3;

namespace collage::measure {

class CostDatabase {
 public:
  /// Opens the file, or makes it and its folder. `:memory:` is one that nobody else sees. An error for a file that is
  /// damaged, is something else, or was made by another version: such a file is left as it is.
  static runtime::Result<std::unique_ptr<CostDatabase>> open(const std::string& path);
  ~CostDatabase();
  CostDatabase(const CostDatabase&) = delete;
  CostDatabase& operator=(const CostDatabase&) = delete;

  /// Of a file beside the database that its users lock while they measure; empty if nobody else sees the database.
  const std::string& lock_file() const { return lock_file_; }

  std::optional<Measurement> find(const std::string& environment, const std::string& candidate);
  /// What counts from now on: the measurement given, or the one that another compiler stored first. A failure by
  /// timeout is replaced by whatever comes.
  Measurement store(const std::string& environment, const std::string& candidate, const Measurement& measurement);

 private:
  explicit CostDatabase(sqlite3* database) : database_(database) {}
  std::optional<int64_t> environment_id(const std::string& text);

  sqlite3* database_;
  std::string lock_file_;
  std::map<std::string, int64_t> environments_;
};

/// `$XDG_CACHE_HOME/collage/costs.sqlite`, else `~/.cache/collage/costs.sqlite`; empty if neither variable is set.
std::string default_cost_database();

}  // namespace collage::measure
