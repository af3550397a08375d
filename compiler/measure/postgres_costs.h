// SPDX-License-Identifier: Apache-2.0
// Measured costs on a PostgreSQL server, in its schema `collage`. What may pass is waited for (postgres/retry.h); a
// server that does not come back within ten seconds, or as long as `connect_timeout` of its address says, is lost, as
// is one that another connection has given up (postgres/verdict.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/measure/cost_database.h"
#include "compiler/measure/postgres/connection.h"
#include "compiler/measure/postgres/retry.h"
#include "compiler/measure/postgres_cost_table.h"

namespace collage::measure {

class PostgresCosts : public CostDatabase {
 public:
  /// As CostDatabase's, by the address of the server. A user who may not change the tables reads them.
  static runtime::Result<std::unique_ptr<CostDatabase>> open(const std::string& address,
                                                             std::shared_ptr<postgres::Verdict> verdict);
  static runtime::Result<std::unique_ptr<CostDatabase>> open_to_read(const std::string& address);

  bool is_lost() const override { return retry_.why_lost().has_value(); }
  std::string take_lost() override;
  void expect_long_statements() override { server_->set_long_statements(true); }

  runtime::Result<std::vector<CostRow>> rows() override;
  runtime::Result<Written> write(const std::vector<CostRow>& rows) override;
  runtime::Result<size_t> remove_if(const std::function<bool(const CostRow&)>& is_removed) override;

 private:
  /// `writes`: the server was there to be written to.
  PostgresCosts(std::unique_ptr<postgres::Connection> server, bool only_reads, bool writes,
                std::shared_ptr<postgres::Verdict> verdict);

  std::optional<CostRow> look_up(const std::string& environment, const std::string& candidate) override;
  std::optional<int64_t> look_up_reference(const std::string& machine, int64_t oldest) override;
  void put_reference(const std::string& machine, Duration reference, int64_t date) override;

  /// Makes tables that were dropped.
  runtime::Status make_tables();
  /// Runs `body`, and again after failures that may pass.
  runtime::Status on_server(const std::function<runtime::Status()>& body);
  /// The same for one transaction.
  runtime::Status in_transaction(const std::function<runtime::Status()>& body);

  std::unique_ptr<postgres::Connection> server_;
  PostgresCostTable table_;
  bool only_reads_;  ///< opened to read
  postgres::Retry retry_;
  bool is_loss_reported_ = false;
};

}  // namespace collage::measure
