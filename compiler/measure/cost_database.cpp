// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/cost_database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <filesystem>
#include <utility>

#include "compiler/support/file_cache.h"

namespace collage::measure {
namespace {

namespace fs = std::filesystem;

constexpr int kApplication = 0x436f6c67;  ///< "Colg", in the file's header
constexpr int kSchema = 1;
constexpr int kBusyMilliseconds = 10'000;

constexpr const char* kTables = R"(
  CREATE TABLE IF NOT EXISTS environment(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
  CREATE TABLE IF NOT EXISTS measurement(
    environment INTEGER NOT NULL REFERENCES environment(id), candidate TEXT NOT NULL,
    cost_ps INTEGER NOT NULL, spread_ps INTEGER NOT NULL, runs INTEGER NOT NULL,
    failure TEXT NOT NULL, timeout_ps INTEGER NOT NULL,
    PRIMARY KEY(environment, candidate)) WITHOUT ROWID;
)";

/// A prepared statement with its values bound in order.
class Statement {
 public:
  Statement(sqlite3* database, const char* text) { sqlite3_prepare_v2(database, text, -1, &statement_, nullptr); }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(const std::string& text) {
    sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
    return *this;
  }
  Statement& bind(int64_t number) {
    sqlite3_bind_int64(statement_, ++bound_, number);
    return *this;
  }
  /// Advances to the next row; returns false after the last one.
  bool step() { return statement_ != nullptr && sqlite3_step(statement_) == SQLITE_ROW; }
  int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string text(int column) const {
    const unsigned char* text = sqlite3_column_text(statement_, column);
    return text == nullptr ? "" : reinterpret_cast<const char*>(text);
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

std::optional<int64_t> pragma(sqlite3* database, const char* text) {
  Statement statement(database, text);
  if (!statement.step()) return std::nullopt;
  return statement.number(0);
}

runtime::Status check_and_create(sqlite3* database) {
  std::optional<int64_t> application = pragma(database, "PRAGMA application_id");
  std::optional<int64_t> schema = pragma(database, "PRAGMA user_version");
  std::optional<int64_t> tables = pragma(database, "SELECT count(*) FROM sqlite_master");
  if (!application || !schema || !tables) return runtime::Status::error(sqlite3_errmsg(database));
  bool is_new = *tables == 0 && *application == 0;
  if (!is_new && *application != kApplication) return runtime::Status::error("it belongs to another program");
  if (!is_new && *schema != kSchema) {
    return runtime::Status::error(fmt::format("it has version {}, this program needs {}", *schema, kSchema));
  }
  if (!is_new) {
    Statement check(database, "PRAGMA quick_check(1)");
    if (!check.step()) return runtime::Status::error(sqlite3_errmsg(database));
    return check.text(0) == "ok" ? runtime::Status::ok() : runtime::Status::error(check.text(0));
  }
  std::string text = fmt::format("BEGIN IMMEDIATE; {} PRAGMA application_id = {}; PRAGMA user_version = {}; COMMIT;",
                                 kTables, kApplication, kSchema);
  if (sqlite3_exec(database, text.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return runtime::Status::ok();
  return runtime::Status::error(sqlite3_errmsg(database));
}

}  // namespace

runtime::Result<std::unique_ptr<CostDatabase>> CostDatabase::open(const std::string& path) {
  std::error_code ignored;  // opening the file reports the error
  if (path != ":memory:") fs::create_directories(fs::path(path).parent_path(), ignored);
  sqlite3* database = nullptr;
  int opened = sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  std::unique_ptr<CostDatabase> made(new CostDatabase(database));
  if (opened != SQLITE_OK) return runtime::Status::error(sqlite3_errstr(opened));
  sqlite3_busy_timeout(database, kBusyMilliseconds);
  if (runtime::Status status = check_and_create(database); !status) return status;
  if (path != ":memory:") made->lock_file_ = path + ".lock";
  // With WAL readers do not wait for writers. If that is impossible (a read-only file), the default journal still
  // works.
  sqlite3_exec(database, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL", nullptr, nullptr, nullptr);
  return made;
}

CostDatabase::~CostDatabase() {
  sqlite3_close(database_);
}

std::optional<int64_t> CostDatabase::environment_id(const std::string& text) {
  auto known = environments_.find(text);
  if (known != environments_.end()) return known->second;
  Statement(database_, "INSERT OR IGNORE INTO environment(text) VALUES(?)").bind(text).step();
  Statement query(database_, "SELECT id FROM environment WHERE text = ?");
  if (!query.bind(text).step()) return std::nullopt;
  return environments_[text] = query.number(0);
}

std::optional<Measurement> CostDatabase::find(const std::string& environment, const std::string& candidate) {
  std::optional<int64_t> id = environment_id(environment);
  if (!id) return std::nullopt;
  Statement query(database_,
                  "SELECT cost_ps, spread_ps, runs, failure, timeout_ps FROM measurement "
                  "WHERE environment = ? AND candidate = ?");
  if (!query.bind(*id).bind(candidate).step()) return std::nullopt;
  Measurement found;
  found.cost = Duration::picoseconds(query.number(0));
  found.spread = Duration::picoseconds(query.number(1));
  found.runs = static_cast<int>(query.number(2));
  found.failure = query.text(3);
  found.timeout = Duration::picoseconds(query.number(4));
  return found;
}

Measurement CostDatabase::store(const std::string& environment, const std::string& candidate,
                                const Measurement& measurement) {
  std::optional<int64_t> id = environment_id(environment);
  if (!id) return measurement;
  Statement(database_, "DELETE FROM measurement WHERE environment = ? AND candidate = ? AND timeout_ps > 0")
      .bind(*id)
      .bind(candidate)
      .step();
  Statement(database_, "INSERT OR IGNORE INTO measurement VALUES(?, ?, ?, ?, ?, ?, ?)")
      .bind(*id)
      .bind(candidate)
      .bind(measurement.cost.ps())
      .bind(measurement.spread.ps())
      .bind(int64_t{measurement.runs})
      .bind(measurement.failure)
      .bind(measurement.timeout.ps())
      .step();
  return find(environment, candidate).value_or(measurement);
}

std::string default_cost_database() {
  const std::string folder = support::user_cache_folder();
  return folder.empty() ? "" : (fs::path(folder) / "costs.sqlite").string();
}

}  // namespace collage::measure
