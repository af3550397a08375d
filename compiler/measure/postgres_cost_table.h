// SPDX-License-Identifier: Apache-2.0
// The rows of measured costs on a PostgreSQL server, over any connection, so that reading and writing them can be a
// part of its transaction. A failure is the server's; a server that is lost is the caller's to connect to again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/measure/cost_database.h"
#include "compiler/measure/postgres/connection.h"

namespace collage::measure {

class PostgresCostTable {
 public:
  /// The connection outlives this.
  explicit PostgresCostTable(postgres::Connection& server) : server_(server) {}

  /// A row, with its problem if it does not count; null if there is none.
  runtime::Result<std::optional<CostRow>> look_up(const std::string& environment, const std::string& candidate);
  /// As CostDatabase's. Expects a transaction. Waits for others that write the same rows.
  runtime::Result<Written> write(const std::vector<CostRow>& rows);
  /// All rows, ordered by environment and candidate; `numbers` gets their ids, if given.
  runtime::Result<std::vector<CostRow>> rows(std::vector<int64_t>* numbers = nullptr);
  /// Makes others who write wait until the transaction ends.
  runtime::Status lock();
  /// Removes rows by their ids, with the records of who measured them, and such records that have no row any more.
  /// Expects a transaction that has the lock.
  runtime::Result<size_t> remove(const std::vector<int64_t>& numbers);

  /// The number of an environment, which is added where it is not there.
  runtime::Result<int64_t> environment_id(const std::string& text);
  /// What it knows of environments may be of a transaction that was rolled back.
  void forget_environments() { environments_.clear(); }

 private:
  using Batch = std::vector<const CostRow*>;
  /// Writes rows of which no two have the same key.
  runtime::Status write_batch(const Batch& batch, Written* written);
  /// Adds those that are not there; returns the others.
  runtime::Result<Batch> add(const Batch& batch);
  /// Replaces or leaves those that are there; returns the others.
  runtime::Result<Batch> settle(const Batch& batch, Written* written);
  /// JSON of the rows; the number of each is its place in the batch, or that of `numbers`.
  runtime::Result<std::string> document_of(const Batch& batch, const std::vector<int64_t>* numbers = nullptr);

  postgres::Connection& server_;
  std::map<std::string, int64_t> environments_;
};

}  // namespace collage::measure
