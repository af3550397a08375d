// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/cost_database.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>

#include "compiler/measure/cost_schema.h"
#include "compiler/measure/sql_statement.h"
#include "compiler/support/file_cache.h"
#include "compiler/support/hash.h"
#include "compiler/support/utf8.h"

namespace collage::measure {
namespace {

namespace fs = std::filesystem;

constexpr int kBusyMilliseconds = 10'000;

constexpr const char* kColumns = "cost_ps, spread_ps, runs, failure, timeout_ps, date, disturbance";
constexpr const char* kColumnsOfFirst = "cost_ps, spread_ps, runs, failure, timeout_ps, 0, ''";

/// Columns from `first` on, in the order of kColumns. SQLite reads a text as a number, 0 if need be, so that types are
/// checked here.
Measurement read_measurement(const SqlStatement& row, int first, std::string* problem) {
  constexpr const char* kNames[] = {"cost", "spread", "number of runs", "failure", "timeout", "date", "disturbance"};
  constexpr int kTexts[] = {3, 6};
  for (int column = 0; column < 7; ++column) {
    const bool wants_text = std::find(std::begin(kTexts), std::end(kTexts), column) != std::end(kTexts);
    const bool is_of_type = wants_text ? row.is_text(first + column) : row.is_number(first + column);
    if (!is_of_type) {
      *problem = fmt::format("the {} `{}` is no {}", kNames[column], row.text(first + column),
                             wants_text ? "text" : "whole number");
      return {};
    }
    if (!wants_text || support::is_utf8(row.text(first + column))) continue;
    *problem = fmt::format("the {} is not UTF-8", kNames[column]);
    return {};
  }
  Measurement read;
  read.cost = Duration::picoseconds(row.number(first));
  read.spread = Duration::picoseconds(row.number(first + 1));
  const int64_t runs = row.number(first + 2);
  read.runs = static_cast<int>(std::clamp<int64_t>(runs, -1, 1'000'000'000));
  read.failure = row.text(first + 3);
  read.timeout = Duration::picoseconds(row.number(first + 4));
  read.date = row.number(first + 5);
  read.disturbance = row.text(first + 6);
  *problem = problem_of(read);
  return read;
}

/// A path as a URI has it.
std::string percent_encoded(std::string_view path) {
  std::string text;
  for (const char c : path) {
    const bool is_plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("/._-").find(c) != std::string_view::npos;
    text += is_plain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  return text;
}

/// Returns whether a new measurement takes the place of an old one.
bool is_replaced(const Measurement& old, const std::string& problem, const Measurement& made) {
  return !problem.empty() || (old.failed() && old.timeout > Duration()) || is_better(made, old);
}

}  // namespace

std::string short_hash(std::string_view text) {
  return fmt::format("{:010x}", support::hash_bytes(text) >> 24);
}

std::string CostRow::id() const {
  const char end = '\0';
  return short_hash(environment + end + candidate + end);
}

runtime::Result<std::unique_ptr<CostDatabase>> CostDatabase::open(const std::string& path) {
  if (path.empty()) return runtime::Status::error("it has no name");  // SQLite would make a temporary one
  std::error_code ignored;                                            // opening the file reports the error
  if (path != ":memory:") fs::create_directories(fs::path(path).parent_path(), ignored);
  sqlite3* database = nullptr;
  int opened = sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  std::unique_ptr<CostDatabase> made(new CostDatabase(database));
  if (opened != SQLITE_OK) return runtime::Status::error(sqlite3_errstr(opened));
  sqlite3_busy_timeout(database, kBusyMilliseconds);
  if (runtime::Status status = bring_up_to_date(database); !status) {
    std::unique_ptr<CostDatabase> unwritable = open_unwritable(path);
    return unwritable ? runtime::Result(std::move(unwritable)) : status;
  }
  if (path != ":memory:") made->lock_file_ = path + ".lock";
  // With WAL readers do not wait for writers. If that is impossible (a read-only file), the default journal still
  // works.
  sqlite3_exec(database, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL", nullptr, nullptr, nullptr);
  return made;
}

std::unique_ptr<CostDatabase> CostDatabase::open_unwritable(const std::string& path) {
  std::error_code error;
  const bool has_unfinished = fs::file_size(path + "-wal", error) > 0 && !error;
  if (::access(path.c_str(), R_OK) != 0 || ::access(fs::path(path).parent_path().c_str(), W_OK) == 0 || has_unfinished)
    return nullptr;
  // SQLite keeps files beside one with a log, which this folder has no room for; that nobody writes it is for us to say.
  sqlite3* database = nullptr;
  const std::string uri = "file:" + percent_encoded(fs::absolute(path, error).string()) + "?immutable=1";
  const int opened = sqlite3_open_v2(uri.c_str(), &database, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  std::unique_ptr<CostDatabase> made(new CostDatabase(database));
  if (opened != SQLITE_OK) return nullptr;
  runtime::Result<int64_t> schema = checked_schema(database);
  return schema && *schema > 1 ? std::move(made) : nullptr;
}

runtime::Result<std::unique_ptr<CostDatabase>> CostDatabase::open_to_read(const std::string& path) {
  if (path.empty()) return runtime::Status::error("it has no name");
  sqlite3* database = nullptr;
  int opened = sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr);
  std::unique_ptr<CostDatabase> made(new CostDatabase(database));
  if (opened != SQLITE_OK) return runtime::Status::error(sqlite3_errstr(opened));
  sqlite3_busy_timeout(database, kBusyMilliseconds);
  runtime::Result<int64_t> schema = checked_schema(database);
  if (!schema) return schema.status();
  if (*schema == 0) return runtime::Status::error("it is empty");
  made->has_dates_ = *schema > 1;
  return made;
}

CostDatabase::~CostDatabase() {
  sqlite3_close(database_);
}

runtime::Status CostDatabase::execute(const char* statements) {
  if (sqlite3_exec(database_, statements, nullptr, nullptr, nullptr) == SQLITE_OK) return runtime::Status::ok();
  return runtime::Status::error(sqlite3_errmsg(database_));
}

template <typename Body>
runtime::Status CostDatabase::in_transaction(Body&& body) {
  if (runtime::Status status = execute("BEGIN IMMEDIATE"); !status) return status;
  runtime::Status status = body() ? execute("COMMIT") : runtime::Status::error(sqlite3_errmsg(database_));
  if (!status) {
    (void)execute("ROLLBACK");
    environments_.clear();  // some of them may have been added by what was rolled back
  }
  return status;
}

std::optional<int64_t> CostDatabase::environment_id(const std::string& text) {
  auto known = environments_.find(text);
  if (known != environments_.end()) return known->second;
  SqlStatement(database_, "INSERT OR IGNORE INTO environment(text) VALUES(?)").bind(text).step();
  SqlStatement query(database_, "SELECT id FROM environment WHERE text = ?");
  if (!query.bind(text).step()) return std::nullopt;
  return environments_[text] = query.number(0);
}

std::optional<Measurement> CostDatabase::find(const std::string& environment, const std::string& candidate,
                                              std::string* problem) {
  std::optional<int64_t> id = environment_id(environment);
  if (!id) return std::nullopt;
  const std::string text = fmt::format("SELECT {} FROM measurement WHERE environment = ? AND candidate = ?", kColumns);
  SqlStatement query(database_, text.c_str());
  if (!query.bind(*id).bind(candidate).step()) return std::nullopt;
  std::string wrong;
  Measurement found = read_measurement(query, 0, &wrong);
  if (problem != nullptr) *problem = wrong;
  if (!wrong.empty()) return std::nullopt;
  return found;
}

CostDatabase::Stored CostDatabase::store_row(const std::string& environment, const std::string& candidate,
                                             const Measurement& measurement) {
  std::optional<int64_t> id = environment_id(environment);
  if (!id) return Stored::Failed;
  std::string problem;
  const std::optional<Measurement> old = find(environment, candidate, &problem);
  const bool is_new = !old && problem.empty();
  if (!is_new && !is_replaced(old.value_or(Measurement()), problem, measurement)) return Stored::Known;
  const std::string text = fmt::format(
      "INSERT OR REPLACE INTO measurement(environment, candidate, {}) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)", kColumns);
  const bool is_stored = SqlStatement(database_, text.c_str())
                             .bind(*id)
                             .bind(candidate)
                             .bind(measurement.cost.ps())
                             .bind(measurement.spread.ps())
                             .bind(int64_t{measurement.runs})
                             .bind(measurement.failure)
                             .bind(measurement.timeout.ps())
                             .bind(measurement.date)
                             .bind(measurement.disturbance)
                             .run();
  if (!is_stored) return Stored::Failed;
  return is_new ? Stored::Added : Stored::Replaced;
}

Measurement CostDatabase::store(const std::string& environment, const std::string& candidate,
                                const Measurement& measurement) {
  // Where it cannot be stored, this compilation still has it.
  const runtime::Status status =
      in_transaction([&] { return store_row(environment, candidate, measurement) != Stored::Failed; });
  if (!status && unkept_.empty()) unkept_ = status.message();
  return find(environment, candidate).value_or(measurement);
}

runtime::Result<std::vector<CostRow>> CostDatabase::rows() {
  const std::string text = fmt::format(
      "SELECT text, candidate, {} FROM measurement JOIN environment ON environment.id = measurement.environment "
      "ORDER BY text, candidate",
      has_dates_ ? kColumns : kColumnsOfFirst);
  SqlStatement query(database_, text.c_str());
  std::vector<CostRow> rows;
  while (query.step()) {
    CostRow& row = rows.emplace_back(CostRow{query.text(0), query.text(1), {}});
    row.measurement = read_measurement(query, 2, &row.problem);
    if (!support::is_utf8(row.environment)) row.problem = "the environment is not UTF-8";
    if (!support::is_utf8(row.candidate)) row.problem = "the candidate is not UTF-8";
  }
  if (sqlite3_errcode(database_) != SQLITE_DONE) return runtime::Status::error(sqlite3_errmsg(database_));
  return rows;
}

runtime::Result<Written> CostDatabase::write(const std::vector<CostRow>& rows) {
  Written written;
  runtime::Status status = in_transaction([&] {
    for (const CostRow& row : rows) {
      switch (store_row(row.environment, row.candidate, row.measurement)) {
        case Stored::Added: ++written.added; break;
        case Stored::Replaced: ++written.replaced; break;
        case Stored::Known: ++written.known; break;
        case Stored::Failed: return false;
      }
    }
    return true;
  });
  if (!status) return status;
  return written;
}

runtime::Result<size_t> CostDatabase::remove_if(const std::function<bool(const CostRow&)>& is_removed) {
  size_t removed = 0;
  runtime::Status status = in_transaction([&] {
    const runtime::Result<std::vector<CostRow>> all = rows();
    if (!all) return false;
    for (const CostRow& row : *all) {
      if (!is_removed(row)) continue;
      SqlStatement statement(database_,
                             "DELETE FROM measurement WHERE candidate = ? AND "
                             "environment = (SELECT id FROM environment WHERE text = ?)");
      if (!statement.bind(row.candidate).bind(row.environment).run()) return false;
      removed += static_cast<size_t>(sqlite3_changes(database_));
    }
    return true;
  });
  if (!status) return status;
  return removed;
}

std::optional<Duration> CostDatabase::reference(const std::string& machine, int64_t oldest) {
  SqlStatement query(database_, "SELECT reference_ps FROM reference WHERE machine = ? AND date >= ?");
  if (!query.bind(machine).bind(oldest).step() || !query.is_number(0)) return std::nullopt;
  const Duration found = Duration::picoseconds(query.number(0));
  if (found <= Duration() || found > kMostCost) return std::nullopt;
  return found;
}

void CostDatabase::store_reference(const std::string& machine, Duration reference, int64_t date, int64_t oldest) {
  const std::optional<Duration> known = this->reference(machine, oldest);
  if (known && *known <= reference) return;
  SqlStatement(database_, "INSERT OR REPLACE INTO reference VALUES(?, ?, ?)")
      .bind(machine)
      .bind(reference.ps())
      .bind(date)
      .run();
}

std::string default_cost_database() {
  const std::string folder = support::user_cache_folder();
  return folder.empty() ? "" : (fs::path(folder) / "costs.sqlite").string();
}

}  // namespace collage::measure
