// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/cost_database.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "compiler/measure/postgres/connection.h"
#include "compiler/measure/postgres_costs.h"
#include "compiler/measure/sqlite_costs.h"
#include "runtime/support/file_cache.h"
#include "runtime/support/hash.h"

namespace collage::measure {

namespace fs = std::filesystem;

std::string short_hash(std::string_view text) {
  return fmt::format("{:010x}", support::hash_bytes(text) >> 24);
}

std::string CostRow::id() const {
  const char end = '\0';
  return short_hash(environment + end + candidate + end);
}

namespace {

/// Why a name is neither a file nor an address: a password in it would be taken for a part of a file's name.
runtime::Status check_name(const std::string& name) {
  if (name.empty()) return runtime::Status::error("it has no name");
  const bool is_other = postgres::Connection::is_other_address(name);
  return is_other ? runtime::Status::error("an address of a server begins with `postgresql://`")
                  : runtime::Status::ok();
}

}  // namespace

runtime::Result<std::unique_ptr<CostDatabase>> CostDatabase::open(const std::string& name,
                                                                  std::shared_ptr<postgres::Verdict> verdict) {
  if (runtime::Status status = check_name(name); !status) return status;
  return postgres::Connection::is_address(name) ? PostgresCosts::open(name, std::move(verdict))
                                                : SqliteCosts::open(name);
}

runtime::Result<std::unique_ptr<CostDatabase>> CostDatabase::open_to_read(const std::string& name) {
  if (runtime::Status status = check_name(name); !status) return status;
  return postgres::Connection::is_address(name) ? PostgresCosts::open_to_read(name) : SqliteCosts::open_to_read(name);
}

std::optional<Measurement> CostDatabase::find(const std::string& environment, const std::string& candidate,
                                              std::string* problem) {
  std::optional<CostRow> row = look_up(environment, candidate);
  if (problem != nullptr) *problem = row ? row->problem : "";
  if (!row || !row->problem.empty()) return std::nullopt;
  return std::move(row->measurement);
}

Measurement CostDatabase::store(const std::string& environment, const std::string& candidate,
                                const Measurement& measurement) {
  // Where it cannot be stored, this compilation still has it.
  keep({{environment, candidate, measurement}});
  return find(environment, candidate).value_or(measurement);
}

std::optional<Duration> CostDatabase::reference(const std::string& machine, int64_t oldest) {
  const std::optional<int64_t> found = look_up_reference(machine, oldest);
  if (!found || *found <= 0 || *found > kMostCost.ps()) return std::nullopt;
  return Duration::picoseconds(*found);
}

void CostDatabase::store_reference(const std::string& machine, Duration reference, int64_t date, int64_t oldest) {
  const std::optional<Duration> known = this->reference(machine, oldest);
  if (!known || *known > reference) put_reference(machine, reference, date);
}

void CostDatabase::note_unkept(const runtime::Status& status) {
  if (!status && unkept_.empty()) unkept_ = status.message();
}

std::string shown_database(const std::string& name) {
  return postgres::Connection::shown(name);
}

std::string default_cost_database() {
  const std::string folder = support::user_cache_folder();
  return folder.empty() ? "" : (fs::path(folder) / "costs.sqlite").string();
}

}  // namespace collage::measure
