// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/cost_schema.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "compiler/measure/sql_statement.h"

namespace collage::measure {
namespace {

constexpr int kApplication = 0x436f6c67;  ///< "Colg", in the file's header
constexpr int kSchema = 2;
constexpr int kOldestSchema = 1;

constexpr const char* kTables = R"(
  CREATE TABLE IF NOT EXISTS environment(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
  CREATE TABLE IF NOT EXISTS measurement(
    environment INTEGER NOT NULL REFERENCES environment(id), candidate TEXT NOT NULL,
    cost_ps INTEGER NOT NULL, spread_ps INTEGER NOT NULL, runs INTEGER NOT NULL,
    failure TEXT NOT NULL, timeout_ps INTEGER NOT NULL,
    PRIMARY KEY(environment, candidate)) WITHOUT ROWID;
)";

/// From version 1 to 2.
constexpr const char* kSecond = R"(
  ALTER TABLE measurement ADD COLUMN date INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE measurement ADD COLUMN disturbance TEXT NOT NULL DEFAULT '';
  CREATE TABLE reference(machine TEXT PRIMARY KEY, reference_ps INTEGER NOT NULL, date INTEGER NOT NULL) WITHOUT ROWID;
)";

std::optional<int64_t> pragma(sqlite3* database, const char* text) {
  SqlStatement statement(database, text);
  if (!statement.step()) return std::nullopt;
  return statement.number(0);
}

}  // namespace

runtime::Result<int64_t> checked_schema(sqlite3* database) {
  std::optional<int64_t> application = pragma(database, "PRAGMA application_id");
  std::optional<int64_t> schema = pragma(database, "PRAGMA user_version");
  std::optional<int64_t> tables = pragma(database, "SELECT count(*) FROM sqlite_master");
  if (!application || !schema || !tables) return runtime::Status::error(sqlite3_errmsg(database));
  if (*tables == 0 && *application == 0) return int64_t{0};
  if (*application != kApplication) return runtime::Status::error("it belongs to another program");
  if (*schema < kOldestSchema || *schema > kSchema) {
    return runtime::Status::error(fmt::format("it has version {}, this program needs {}", *schema, kSchema));
  }
  SqlStatement check(database, "PRAGMA quick_check(1)");
  if (!check.step()) return runtime::Status::error(sqlite3_errmsg(database));
  if (const std::string found = check.text(0); found != "ok") {
    // Its first line may only say which database this is about.
    return runtime::Status::error("it is damaged: " + found.substr(found.find_last_of('\n') + 1));
  }
  return *schema;
}

runtime::Status bring_up_to_date(sqlite3* database) {
  runtime::Result<int64_t> schema = checked_schema(database);
  if (!schema || *schema == kSchema) return schema.status();
  const auto execute = [&](const std::string& text) {
    return sqlite3_exec(database, text.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  };
  if (!execute("BEGIN IMMEDIATE")) return runtime::Status::error(sqlite3_errmsg(database));
  schema = checked_schema(database);
  const bool is_done =
      schema && (*schema == kSchema ||
                 ((*schema != 0 || execute(kTables)) && execute(kSecond) &&
                  execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplication, kSchema))));
  if (is_done && execute("COMMIT")) return runtime::Status::ok();
  runtime::Status failure = schema ? runtime::Status::error(sqlite3_errmsg(database)) : schema.status();
  execute("ROLLBACK");
  return failure;
}

}  // namespace collage::measure
