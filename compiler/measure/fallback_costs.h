// SPDX-License-Identifier: Apache-2.0
// Costs of a server, and of another database from the moment when the server is lost. What was asked for then is asked
// for again there.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/measure/cost_database.h"

namespace collage::measure {

class FallbackCosts : public CostDatabase {
 public:
  /// `fallback`: the name of what is opened when the server is lost; `:memory:` forgets.
  FallbackCosts(std::unique_ptr<CostDatabase> server, std::string fallback);

  std::string take_unkept() override;
  bool is_lost() const override { return server_->is_lost(); }
  std::string take_lost() override { return server_->take_lost(); }

  runtime::Result<std::vector<CostRow>> rows() override;
  runtime::Result<Written> write(const std::vector<CostRow>& rows) override;
  runtime::Result<size_t> remove_if(const std::function<bool(const CostRow&)>& is_removed) override;

 private:
  std::optional<CostRow> look_up(const std::string& environment, const std::string& candidate) override;
  std::optional<int64_t> look_up_reference(const std::string& machine, int64_t oldest) override;
  void put_reference(const std::string& machine, Duration reference, int64_t date) override;

  /// Asks the server, or the other one if the server is lost, now or before.
  template <typename Ask>
  auto asked(const Ask& ask);
  /// Opens it the first time. Null where that is impossible.
  CostDatabase* fallback();

  std::unique_ptr<CostDatabase> server_;
  std::string fallback_name_;
  std::unique_ptr<CostDatabase> fallback_;
  bool is_opened_ = false;  ///< the fallback, if that was possible
};

}  // namespace collage::measure
