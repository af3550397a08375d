// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/sqlite_costs.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "compiler/measure/cost_rules.h"
#include "compiler/measure/cost_schema.h"
#include "compiler/measure/sql_statement.h"
#include "compiler/measure/sqlite_limits.h"

namespace collage::measure {
namespace {

namespace fs = std::filesystem;

constexpr int kBusyMilliseconds = 10'000;

/// Columns from `first` on, in the order of kCostColumns. SQLite reads a text as a number, 0 if need be, so that types
/// are checked here.
Measurement read_measurement(const SqlStatement& row, int first, std::string* problem) {
  constexpr const char* kNames[] = {"cost",    "spread", "number of runs", "failure",
                                    "timeout", "date",   "disturbance",    "mark of repeats"};
  constexpr int kTexts[] = {3, 6};
  for (int column = 0; column < static_cast<int>(std::size(kNames)); ++column) {
    const bool wants_text = std::find(std::begin(kTexts), std::end(kTexts), column) != std::end(kTexts);
    const bool is_of_type = wants_text ? row.is_text(first + column) : row.is_number(first + column);
    if (is_of_type) continue;
    *problem = fmt::format("the {} `{}` is no {}", kNames[column], row.text(first + column),
                           wants_text ? "text" : "whole number");
    return {};
  }
  Measurement read =
      to_measurement({row.number(first), row.number(first + 1), row.number(first + 2), row.text(first + 3),
                      row.number(first + 4), row.number(first + 5), row.text(first + 6), row.number(first + 7)});
  *problem = problem_of_measured(read);
  return read;
}

/// Why a file could not be opened: what the system said, if it did.
runtime::Status refusal_to_open(sqlite3* database, int opened) {
  const int number = database == nullptr ? 0 : sqlite3_system_errno(database);
  return runtime::Status::error(number != 0 ? std::generic_category().message(number) : sqlite3_errstr(opened));
}

/// The same of one that would have been made: where SQLite may not make it, it tries to read it, and says that there is
/// none.
runtime::Status refusal_to_make(sqlite3* database, int opened, const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  const bool is_no_file = ::access(path.c_str(), F_OK) != 0;
  if (is_no_file && ::access(folder.empty() ? "." : folder.c_str(), W_OK) != 0)
    return runtime::Status::error(std::generic_category().message(errno));
  return refusal_to_open(database, opened);
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

}  // namespace

runtime::Result<std::unique_ptr<CostDatabase>> SqliteCosts::open(const std::string& path) {
  const bool is_file = path != ":memory:";
  if (runtime::Status status = check_is_file(path); !status) return status;
  std::error_code ignored;  // opening the file reports the error
  if (is_file) fs::create_directories(fs::path(path).parent_path(), ignored);
  sqlite3* database = nullptr;
  int opened = sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  std::unique_ptr<CostDatabase> made(new SqliteCosts(database));
  if (opened != SQLITE_OK) return refusal_to_make(database, opened, path);
  set_limits(database, path);
  sqlite3_busy_timeout(database, kBusyMilliseconds);
  if (runtime::Status status = make_tables(database); !status) {
    std::unique_ptr<CostDatabase> unwritable = open_unwritable(path);
    return unwritable ? runtime::Result(std::move(unwritable)) : status;
  }
  // With WAL readers do not wait for writers. If that is impossible (a read-only file), the default journal still
  // works.
  sqlite3_exec(database, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL", nullptr, nullptr, nullptr);
  return made;
}

std::unique_ptr<CostDatabase> SqliteCosts::open_unwritable(const std::string& path) {
  std::error_code error;
  const bool has_unfinished = fs::file_size(path + "-wal", error) > 0 && !error;
  if (::access(path.c_str(), R_OK) != 0 || ::access(fs::path(path).parent_path().c_str(), W_OK) == 0 || has_unfinished)
    return nullptr;
  // SQLite keeps files beside one with a log, which this folder has no room for; that no program writes it is for us to
  // say.
  sqlite3* database = nullptr;
  const std::string uri = "file:" + percent_encoded(fs::absolute(path, error).string()) + "?immutable=1";
  const int opened = sqlite3_open_v2(uri.c_str(), &database, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  std::unique_ptr<CostDatabase> made(new SqliteCosts(database));
  if (opened != SQLITE_OK) return nullptr;
  set_limits(database, path);
  const runtime::Result<bool> exist = has_tables(database);
  return exist && *exist ? std::move(made) : nullptr;
}

runtime::Result<std::unique_ptr<CostDatabase>> SqliteCosts::open_to_read(const std::string& path) {
  if (runtime::Status status = check_is_file(path); !status) return status;
  sqlite3* database = nullptr;
  int opened = sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr);
  std::unique_ptr<SqliteCosts> made(new SqliteCosts(database));
  if (opened != SQLITE_OK) return refusal_to_open(database, opened);
  set_limits(database, path);
  sqlite3_busy_timeout(database, kBusyMilliseconds);
  const runtime::Result<bool> exist = has_tables(database);
  if (!exist) {
    std::unique_ptr<CostDatabase> unwritable = open_unwritable(path);
    return unwritable ? runtime::Result(std::move(unwritable)) : exist.status();
  }
  if (!*exist) return runtime::Status::error("it is empty");
  return std::unique_ptr<CostDatabase>(std::move(made));
}

SqliteCosts::~SqliteCosts() {
  sqlite3_close(database_);
}

runtime::Status SqliteCosts::execute(const char* statements) {
  if (sqlite3_exec(database_, statements, nullptr, nullptr, nullptr) == SQLITE_OK) return runtime::Status::ok();
  return runtime::Status::error(failure_of(database_));
}

template <typename Body>
runtime::Status SqliteCosts::in_transaction(Body&& body) {
  if (runtime::Status status = execute("BEGIN IMMEDIATE"); !status) return status;
  runtime::Status status = body() ? execute("COMMIT") : runtime::Status::error(failure_of(database_));
  if (!status) {
    (void)execute("ROLLBACK");
    environments_.clear();  // some of them may have been added by what was rolled back
  }
  return status;
}

std::optional<int64_t> SqliteCosts::environment_id(const std::string& text) {
  auto known = environments_.find(text);
  if (known != environments_.end()) return known->second;
  SqlStatement(database_, "INSERT OR IGNORE INTO environment(text) VALUES(?)").bind(text).step();
  SqlStatement query(database_, "SELECT id FROM environment WHERE text = ?");
  if (!query.bind(text).step()) return std::nullopt;
  return environments_[text] = query.number(0);
}

std::optional<CostRow> SqliteCosts::look_up(const std::string& environment, const std::string& candidate) {
  std::optional<int64_t> id = environment_id(environment);
  if (!id) return std::nullopt;
  const std::string text =
      fmt::format("SELECT {} FROM measurement WHERE environment = ? AND candidate = ?", kCostColumns);
  SqlStatement query(database_, text.c_str());
  if (!query.bind(*id).bind(candidate).step()) return std::nullopt;
  CostRow row{environment, candidate, {}};
  row.measurement = read_measurement(query, 0, &row.problem);
  return row;
}

bool SqliteCosts::write_row(const CostRow& row, Written* written) {
  std::optional<int64_t> id = environment_id(row.environment);
  if (!id) return false;
  const std::optional<CostRow> old = look_up(row.environment, row.candidate);
  const auto [stored, measured] = decide(old ? &*old : nullptr, row.measurement);
  if (stored != Stored::Known) {
    const std::string text = fmt::format(
        "INSERT OR REPLACE INTO measurement(environment, candidate, {}) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        kCostColumns);
    const bool is_stored = SqlStatement(database_, text.c_str())
                               .bind(*id)
                               .bind(row.candidate)
                               .bind(measured.cost.ps())
                               .bind(measured.spread.ps())
                               .bind(int64_t{measured.runs})
                               .bind(measured.failure)
                               .bind(measured.timeout.ps())
                               .bind(measured.date)
                               .bind(measured.disturbance)
                               .bind(int64_t{measured.repeated})
                               .run();
    if (!is_stored) return false;
  }
  count(stored, written);
  return true;
}

runtime::Result<std::vector<CostRow>> SqliteCosts::rows() {
  const std::string text = fmt::format(
      "SELECT text, candidate, {} FROM measurement JOIN environment ON environment.id = measurement.environment "
      "ORDER BY text, candidate",
      kCostColumns);
  SqlStatement query(database_, text.c_str());
  std::vector<CostRow> rows;
  while (query.step()) {
    CostRow& row = rows.emplace_back(CostRow{query.text(0), query.text(1), {}});
    row.measurement = read_measurement(query, 2, &row.problem);
    if (std::string problem = problem_of_key(row); !problem.empty()) row.problem = std::move(problem);
  }
  if (sqlite3_errcode(database_) != SQLITE_DONE) return runtime::Status::error(failure_of(database_));
  return rows;
}

runtime::Result<Written> SqliteCosts::write(const std::vector<CostRow>& rows) {
  Written written;
  runtime::Status status = in_transaction([&] {
    return std::all_of(rows.begin(), rows.end(), [&](const CostRow& row) { return write_row(row, &written); });
  });
  if (!status) return status;
  return written;
}

runtime::Result<size_t> SqliteCosts::remove_if(const std::function<bool(const CostRow&)>& is_removed) {
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

std::optional<int64_t> SqliteCosts::look_up_reference(const std::string& machine, int64_t oldest) {
  SqlStatement query(database_, "SELECT reference_ps FROM reference WHERE machine = ? AND date >= ?");
  if (!query.bind(machine).bind(oldest).step() || !query.is_number(0)) return std::nullopt;
  return query.number(0);
}

void SqliteCosts::put_reference(const std::string& machine, Duration reference, int64_t date) {
  SqlStatement(database_, "INSERT OR REPLACE INTO reference VALUES(?, ?, ?)")
      .bind(machine)
      .bind(reference.ps())
      .bind(date)
      .run();
}

}  // namespace collage::measure
