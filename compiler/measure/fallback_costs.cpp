// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/fallback_costs.h"

#include <utility>

namespace collage::measure {

FallbackCosts::FallbackCosts(std::unique_ptr<CostDatabase> server, std::string fallback)
    : server_(std::move(server)), fallback_name_(std::move(fallback)) {}

CostDatabase* FallbackCosts::fallback() {
  if (std::exchange(is_opened_, true)) return fallback_.get();
  auto opened = open(fallback_name_);
  if (!opened) {
    note_unkept(opened.status());
    opened = open(":memory:");
  }
  if (opened) fallback_ = std::move(*opened);
  return fallback_.get();
}

template <typename Ask>
auto FallbackCosts::asked(const Ask& ask) {
  if (!server_->is_lost()) {
    auto answer = ask(*server_);
    if (!server_->is_lost()) return answer;
  }
  CostDatabase* other = fallback();
  return ask(other != nullptr ? *other : *server_);
}

std::string FallbackCosts::take_unkept() {
  std::string why = CostDatabase::take_unkept();
  if (!why.empty()) return why;
  if (!server_->is_lost()) return server_->take_unkept();
  return fallback_ != nullptr ? fallback_->take_unkept() : "";
}

runtime::Result<std::vector<CostRow>> FallbackCosts::rows() {
  return asked([](CostDatabase& database) { return database.rows(); });
}

runtime::Result<Written> FallbackCosts::write(const std::vector<CostRow>& rows) {
  return asked([&](CostDatabase& database) { return database.write(rows); });
}

runtime::Result<size_t> FallbackCosts::remove_if(const std::function<bool(const CostRow&)>& is_removed) {
  return asked([&](CostDatabase& database) { return database.remove_if(is_removed); });
}

std::optional<CostRow> FallbackCosts::look_up(const std::string& environment, const std::string& candidate) {
  return asked([&](CostDatabase& database) -> std::optional<CostRow> {
    std::string problem;
    const std::optional<Measurement> found = database.find(environment, candidate, &problem);
    if (!found && problem.empty()) return std::nullopt;
    return CostRow{environment, candidate, found.value_or(Measurement()), problem};
  });
}

std::optional<int64_t> FallbackCosts::look_up_reference(const std::string& machine, int64_t oldest) {
  return asked([&](CostDatabase& database) -> std::optional<int64_t> {
    const std::optional<Duration> found = database.reference(machine, oldest);
    if (!found) return std::nullopt;
    return found->ps();
  });
}

void FallbackCosts::put_reference(const std::string& machine, Duration reference, int64_t date) {
  (void)asked([&](CostDatabase& database) {
    database.store_reference(machine, reference, date, kLastDate + 1);  // none that is there is as new
    return true;
  });
}

}  // namespace collage::measure
