// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/cost_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "compiler/measure/cost_tables.h"
#include "compiler/measure/fleet/queue_schema.h"
#include "compiler/measure/sql_statement.h"
#include "runtime/core/text.h"

namespace collage::measure {
namespace {

using runtime::Result;
using runtime::Status;

constexpr int64_t kApplication = 0x436f6c67;  ///< "Colg", in the file's header; the lock of a server for making tables

std::optional<int64_t> pragma(sqlite3* database, const char* text) {
  SqlStatement statement(database, text);
  if (!statement.step()) return std::nullopt;
  return statement.number(0);
}

Status checked_version(int64_t version) {
  if (version == kTablesVersion) return Status::ok();
  return Status::error(fmt::format("it has version {}, this program needs {}", version, kTablesVersion));
}

/// The text with one blank between its words.
std::string with_single_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \n\t\r";
  std::string words;
  for (size_t at = text.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
    words.append(words.empty() ? "" : " ").append(text.substr(at, end - at));
    at = text.find_first_not_of(kBlanks, end);
  }
  return words;
}

/// Fails unless a file has exactly the tables that this program makes. Others, and columns that are computed, could
/// make reading them last for ever.
Status check_statements(sqlite3* database) {
  std::set<std::string> expected;
  for (const std::string& statement : runtime::split(kSqliteTables, ';'))
    expected.insert(with_single_blanks(statement));
  expected.erase("");
  SqlStatement found(database, "SELECT type, name, sql FROM sqlite_master");
  while (found.step()) {
    const bool is_of_key =
        found.text(0) == "index" && found.is_null(2) && found.text(1).starts_with("sqlite_autoindex_");
    if (!is_of_key && expected.erase(with_single_blanks(found.text(2))) == 0)
      return Status::error(fmt::format("it has `{}`, which no database of costs has", found.text(1)));
  }
  if (sqlite3_errcode(database) != SQLITE_DONE) return Status::error(failure_of(database));
  return expected.empty() ? Status::ok() : Status::error("it lacks a table of a database of costs");
}

}  // namespace

Result<bool> has_tables(sqlite3* database) {
  std::optional<int64_t> application = pragma(database, "PRAGMA application_id");
  std::optional<int64_t> schema = pragma(database, "PRAGMA user_version");
  std::optional<int64_t> has_any = pragma(database, "SELECT EXISTS(SELECT 1 FROM sqlite_master)");
  if (!application || !schema || !has_any) return Status::error(failure_of(database));
  if (*has_any == 0 && *application == 0) return false;
  if (*application != kApplication) return Status::error("it belongs to another program");
  if (Status status = checked_version(*schema); !status) return status;
  if (Status status = check_statements(database); !status) return status;
  SqlStatement check(database, "PRAGMA quick_check(1)");
  if (!check.step()) return Status::error(failure_of(database));
  if (const std::string found = check.text(0); found != "ok") {
    // Its first line may only say which database this is about.
    return Status::error("it is damaged: " + found.substr(found.find_last_of('\n') + 1));
  }
  return true;
}

Status make_tables(sqlite3* database) {
  Result<bool> exist = has_tables(database);
  if (!exist || *exist) return exist.status();
  const auto execute = [&](const std::string& text) {
    return sqlite3_exec(database, text.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  };
  if (!execute("BEGIN IMMEDIATE")) return Status::error(failure_of(database));
  exist = has_tables(database);
  const bool is_done =
      exist &&
      (*exist || (execute(kSqliteTables) && execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                                                                kApplication, kTablesVersion))));
  if (is_done && execute("COMMIT")) return Status::ok();
  Status failure = exist ? Status::error(failure_of(database)) : exist.status();
  execute("ROLLBACK");
  return failure;
}

Result<bool> has_tables(postgres::Connection& server) {
  auto about = server.execute(
      "SELECT current_setting('server_version_num')::bigint, current_setting('server_encoding'), "
      "EXISTS(SELECT FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid WHERE n.nspname = 'collage'), "
      "EXISTS(SELECT FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid "
      "WHERE n.nspname = 'collage' AND c.relname = 'version')");
  if (!about) return about.status();
  constexpr int64_t kOldestServer = 110000;
  if ((*about)->number(0, 0) < kOldestServer) return Status::error("the server is older than PostgreSQL 11");
  if ((*about)->text(0, 1) != "UTF8") return Status::error("the encoding of the database is not UTF8");
  const bool has_any = (*about)->text(0, 2) == "t", has_version = (*about)->text(0, 3) == "t";
  if (!has_any) return false;
  if (!has_version) return Status::error("its schema `collage` belongs to another program");
  auto version = server.execute("SELECT coalesce(max(version), 0) FROM collage.version");
  if (!version) return version.status();
  if (Status status = checked_version((*version)->number(0, 0)); !status) return status;
  return true;
}

Status make_tables(postgres::Connection& server) {
  Result<bool> exist = has_tables(server);
  if (!exist || *exist) return exist.status();
  return server.in_transaction([&]() -> Status {
    // Others wait here, and find nothing left to do.
    if (auto locked = server.execute("SELECT pg_advisory_xact_lock($1)", {kApplication}); !locked)
      return locked.status();
    exist = has_tables(server);
    if (!exist || *exist) return exist.status();
    // An administrator may have made it for a user who may not.
    auto made = server.execute("SELECT FROM pg_namespace WHERE nspname = 'collage'");
    if (!made) return made.status();
    const char* schema = (*made)->size() == 0 ? "CREATE SCHEMA collage" : "";
    for (const char* statements :
         {schema, "CREATE TABLE collage.version(version bigint PRIMARY KEY, since timestamptz NOT NULL DEFAULT now())",
          kPostgresTables, fleet::kQueueTables}) {
      if (*statements == '\0') continue;
      if (Status status = server.execute_script(statements); !status) return status;
    }
    return server.execute("INSERT INTO collage.version(version) VALUES($1)", {kTablesVersion}).status();
  });
}

}  // namespace collage::measure
