// SPDX-License-Identifier: Apache-2.0
// Measured costs that outlive a compilation: an SQLite file that any number of compilers may use at once.
//
//     environment(id, text)                       machine, build and backend, each text once
//     measurement(environment, candidate, …)      the key is the candidate's whole text, so two are never confused
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
  /// Opens the file, or creates it and its folder. `:memory:` is a database of this process only. Returns an error for
  /// a file that is damaged, not a cost database, or of another version; such a file is left unchanged.
  static runtime::Result<std::unique_ptr<CostDatabase>> open(const std::string& path);
  ~CostDatabase();
  CostDatabase(const CostDatabase&) = delete;
  CostDatabase& operator=(const CostDatabase&) = delete;

  /// Path of the file beside the database that compilers lock while they measure; empty for `:memory:`.
  const std::string& lock_file() const { return lock_file_; }

  std::optional<Measurement> find(const std::string& environment, const std::string& candidate);
  /// Stores a measurement unless another compiler stored one first, and returns the one that is stored then. A failure
  /// by timeout is always replaced.
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
