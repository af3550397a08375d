// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>

namespace collage::measure {

/// Why the last call failed, in words. What was stopped had more to do than a sound file of its size asks for
/// (sqlite_limits.h).
inline std::string failure_of(sqlite3* database) {
  const bool is_stopped = sqlite3_errcode(database) == SQLITE_INTERRUPT;
  return is_stopped ? "it is damaged: reading it does not end" : sqlite3_errmsg(database);
}

/// A prepared statement with its values bound in order. One whose values could not be bound does not run.
class SqlStatement {
 public:
  SqlStatement(sqlite3* database, const char* text) { sqlite3_prepare_v2(database, text, -1, &statement_, nullptr); }
  ~SqlStatement() { sqlite3_finalize(statement_); }
  SqlStatement(const SqlStatement&) = delete;
  SqlStatement& operator=(const SqlStatement&) = delete;

  SqlStatement& bind(const std::string& text) {
    return after(sqlite3_bind_text64(statement_, ++bound_, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  }
  SqlStatement& bind(int64_t number) { return after(sqlite3_bind_int64(statement_, ++bound_, number)); }
  /// Advances to the next row; returns false after the last one.
  bool step() { return result() == SQLITE_ROW; }
  /// Returns whether it ran to its end.
  bool run() { return result() == SQLITE_DONE; }
  int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }
  bool is_number(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_INTEGER; }
  bool is_text(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_TEXT; }
  bool is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  std::string text(int column) const {
    const unsigned char* text = sqlite3_column_text(statement_, column);
    return text == nullptr ? "" : reinterpret_cast<const char*>(text);
  }

 private:
  SqlStatement& after(int bound) {
    if (failure_ == SQLITE_OK) failure_ = bound;
    return *this;
  }
  int result() {
    if (statement_ == nullptr) return SQLITE_ERROR;
    return failure_ == SQLITE_OK ? sqlite3_step(statement_) : failure_;
  }

  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
  int failure_ = SQLITE_OK;
};

}  // namespace collage::measure
