// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>

namespace collage::measure {

/// A prepared statement with its values bound in order.
class SqlStatement {
 public:
  SqlStatement(sqlite3* database, const char* text) { sqlite3_prepare_v2(database, text, -1, &statement_, nullptr); }
  ~SqlStatement() { sqlite3_finalize(statement_); }
  SqlStatement(const SqlStatement&) = delete;
  SqlStatement& operator=(const SqlStatement&) = delete;

  SqlStatement& bind(const std::string& text) {
    sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
    return *this;
  }
  SqlStatement& bind(int64_t number) {
    sqlite3_bind_int64(statement_, ++bound_, number);
    return *this;
  }
  /// Advances to the next row; returns false after the last one.
  bool step() { return result() == SQLITE_ROW; }
  /// Returns whether it ran to its end.
  bool run() { return result() == SQLITE_DONE; }
  int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }
  bool is_number(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_INTEGER; }
  bool is_text(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_TEXT; }
  std::string text(int column) const {
    const unsigned char* text = sqlite3_column_text(statement_, column);
    return text == nullptr ? "" : reinterpret_cast<const char*>(text);
  }

 private:
  int result() { return statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_); }

  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

}  // namespace collage::measure
