// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/cost_schema.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "compiler/measure/cost_migrations.h"
#include "compiler/measure/sql_statement.h"

namespace collage::measure {
namespace {

using runtime::Result;
using runtime::Status;

constexpr int64_t kApplication = 0x436f6c67;  ///< "Colg", in the file's header; the lock of a server for migrations

std::optional<int64_t> pragma(sqlite3* database, const char* text) {
  SqlStatement statement(database, text);
  if (!statement.step()) return std::nullopt;
  return statement.number(0);
}

Status checked_version(int64_t version, const char* Migration::*engine) {
  const int64_t newest = newest_version(engine);
  if (version >= kOldestVersion && version <= newest) return Status::ok();
  return Status::error(fmt::format("it has version {}, this program needs {}", version, newest));
}

}  // namespace

Result<int64_t> checked_schema(sqlite3* database) {
  std::optional<int64_t> application = pragma(database, "PRAGMA application_id");
  std::optional<int64_t> schema = pragma(database, "PRAGMA user_version");
  std::optional<int64_t> tables = pragma(database, "SELECT count(*) FROM sqlite_master");
  if (!application || !schema || !tables) return Status::error(sqlite3_errmsg(database));
  if (*tables == 0 && *application == 0) return int64_t{0};
  if (*application != kApplication) return Status::error("it belongs to another program");
  if (Status status = checked_version(*schema, &Migration::sqlite); !status) return status;
  SqlStatement check(database, "PRAGMA quick_check(1)");
  if (!check.step()) return Status::error(sqlite3_errmsg(database));
  if (const std::string found = check.text(0); found != "ok") {
    // Its first line may only say which database this is about.
    return Status::error("it is damaged: " + found.substr(found.find_last_of('\n') + 1));
  }
  return *schema;
}

Status bring_up_to_date(sqlite3* database) {
  const int64_t newest = newest_version(&Migration::sqlite);
  Result<int64_t> schema = checked_schema(database);
  if (!schema || *schema == newest) return schema.status();
  const auto execute = [&](const std::string& text) {
    return sqlite3_exec(database, text.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  };
  if (!execute("BEGIN IMMEDIATE")) return Status::error(sqlite3_errmsg(database));
  schema = checked_schema(database);
  const bool is_done =
      schema && (*schema == newest ||
                 (migrate_from(*schema, &Migration::sqlite, execute) &&
                  execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplication, newest))));
  if (is_done && execute("COMMIT")) return Status::ok();
  Status failure = schema ? Status::error(sqlite3_errmsg(database)) : schema.status();
  execute("ROLLBACK");
  return failure;
}

Result<int64_t> checked_schema(postgres::Connection& server) {
  auto about = server.execute(
      "SELECT current_setting('server_version_num')::bigint, current_setting('server_encoding'), "
      "EXISTS(SELECT FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid WHERE n.nspname = 'collage'), "
      "EXISTS(SELECT FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid "
      "WHERE n.nspname = 'collage' AND c.relname = 'version')");
  if (!about) return about.status();
  constexpr int64_t kOldestServer = 110000;
  if ((*about)->number(0, 0) < kOldestServer) return Status::error("the server is older than PostgreSQL 11");
  if ((*about)->text(0, 1) != "UTF8") return Status::error("the encoding of the database is not UTF8");
  const bool has_tables = (*about)->text(0, 2) == "t", has_version = (*about)->text(0, 3) == "t";
  if (!has_tables) return int64_t{0};
  if (!has_version) return Status::error("its schema `collage` belongs to another program");
  auto version = server.execute("SELECT coalesce(max(version), 0) FROM collage.version");
  if (!version) return version.status();
  const int64_t schema = (*version)->number(0, 0);
  if (Status status = checked_version(schema, &Migration::postgres); !status) return status;
  return schema;
}

Status bring_up_to_date(postgres::Connection& server) {
  const int64_t newest = newest_version(&Migration::postgres);
  Result<int64_t> schema = checked_schema(server);
  if (!schema || *schema == newest) return schema.status();
  const postgres::LongStatements are_long(server);  // of large tables
  return server.in_transaction([&]() -> Status {
    // Others wait here, and find nothing left to do.
    if (auto locked = server.execute("SELECT pg_advisory_xact_lock($1)", {kApplication}); !locked)
      return locked.status();
    schema = checked_schema(server);
    if (!schema || *schema == newest) return schema.status();
    Status status = Status::ok();
    const auto execute = [&](const char* statements) {
      status = server.execute_script(statements);
      return status.is_ok();
    };
    if (*schema == 0) {
      // An administrator may have made it for a user who may not.
      auto made = server.execute("SELECT FROM pg_namespace WHERE nspname = 'collage'");
      if (!made) return made.status();
      if ((*made)->size() == 0 && !execute("CREATE SCHEMA collage")) return status;
      if (!execute(
              "CREATE TABLE collage.version(version bigint PRIMARY KEY, since timestamptz NOT NULL DEFAULT now())"))
        return status;
    }
    if (!migrate_from(*schema, &Migration::postgres, execute)) return status;
    return server.execute("INSERT INTO collage.version(version) VALUES($1)", {newest}).status();
  });
}

}  // namespace collage::measure
