// SPDX-License-Identifier: Apache-2.0
// Measured costs in an SQLite file.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/measure/cost_database.h"

struct sqlite3;

namespace collage::measure {

class SqliteCosts : public CostDatabase {
 public:
  /// As CostDatabase's, of a file; creates it and its folder.
  static runtime::Result<std::unique_ptr<CostDatabase>> open(const std::string& path);
  static runtime::Result<std::unique_ptr<CostDatabase>> open_to_read(const std::string& path);
  ~SqliteCosts() override;

  runtime::Result<std::vector<CostRow>> rows() override;
  runtime::Result<Written> write(const std::vector<CostRow>& rows) override;
  runtime::Result<size_t> remove_if(const std::function<bool(const CostRow&)>& is_removed) override;

 private:
  explicit SqliteCosts(sqlite3* database) : database_(database) {}
  /// One in a folder that this user cannot write to, to be read; null if it cannot be.
  static std::unique_ptr<CostDatabase> open_unwritable(const std::string& path);

  std::optional<CostRow> look_up(const std::string& environment, const std::string& candidate) override;
  std::optional<int64_t> look_up_reference(const std::string& machine, int64_t oldest) override;
  void put_reference(const std::string& machine, Duration reference, int64_t date) override;

  std::optional<int64_t> environment_id(const std::string& text);
  runtime::Status execute(const char* statements);
  /// Runs `body` in one transaction.
  template <typename Body>
  runtime::Status in_transaction(Body&& body);
  /// Returns false if it failed.
  bool write_row(const CostRow& row, Written* written);

  sqlite3* database_;
  std::map<std::string, int64_t> environments_;
};

}  // namespace collage::measure
