// SPDX-License-Identifier: Apache-2.0
// A connection to a PostgreSQL server: the door to libpq. Statements have parameters `$1`, `$2`, …; numbers and texts
// go as text. A server that is lost fails the statement and every later one until `reconnect`. Names without a schema
// are those of the schema `collage`, once it exists.
//
// No call waits without limit for a server that hangs. One that does not take or send a byte for half a minute in the
// middle of a statement is lost; `tcp_user_timeout` of the address, in milliseconds, is another limit, 0 is none. A
// lock that others hold fails a statement after two thirds of that (Failure::Busy), and the server ends transactions in
// which a program does nothing for twice that, so that one that was stopped holds no locks.
//
// Maintenance has statements that take longer: an index is made, a large table is sorted. There silence is no loss as
// long as the server says, over another connection, that it executes the statement; only `statement_timeout`, a
// parameter of the server that an address can set as well (`?options=-cstatement_timeout%3D600000`), ends it.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler/measure/postgres/failure.h"
#include "runtime/core/status.h"

namespace collage::measure::postgres {

/// A parameter: a number, a text, or NULL.
using Parameter = std::variant<std::monostate, int64_t, double, std::string_view>;

/// The rows that a statement returned.
class Rows {
 public:
  virtual ~Rows() = default;
  virtual size_t size() const = 0;  ///< rows
  /// The number of rows that an INSERT, UPDATE or DELETE changed.
  virtual size_t changed() const = 0;
  virtual bool is_null(size_t row, int column) const = 0;
  /// Valid as long as these rows.
  virtual std::string_view text(size_t row, int column) const = 0;
  /// Expects a column of whole numbers, which is not null.
  virtual int64_t number(size_t row, int column) const = 0;
  virtual double real(size_t row, int column) const = 0;
};

struct Notification {
  std::string channel;
  std::string payload;
};

class Connection {
 public:
  /// Whether a name of a database is the address of a server: `postgresql://…` or `postgres://…`.
  static bool is_address(std::string_view name);
  /// Whether it is an address in a form that is not taken: another scheme, or words such as `host=there password=…`.
  static bool is_other_address(std::string_view name);
  /// The address without its password, for messages.
  static std::string shown(std::string_view address);

  /// Connects; waits at most so long, or as long as `connect_timeout` of the address says, also for a server that is
  /// about to start. The failure is one line, without the password.
  static runtime::Result<std::unique_ptr<Connection>> open(const std::string& address, double seconds = 10);
  virtual ~Connection() = default;

  /// Runs one statement, with parameters; prepared once for each text.
  virtual runtime::Result<std::unique_ptr<Rows>> execute(std::string_view statement,
                                                         std::initializer_list<Parameter> parameters = {}) = 0;
  /// Runs statements without parameters and results.
  virtual runtime::Status execute_script(const std::string& statements) = 0;
  /// Runs `body` in one transaction: commits where it returns ok, rolls back otherwise. It runs again, a few times,
  /// where it conflicts with another one (Failure::Conflict).
  virtual runtime::Status in_transaction(const std::function<runtime::Status()>& body) = 0;

  /// Listens on a channel, also after `reconnect`.
  virtual runtime::Status listen(const std::string& channel) = 0;
  /// Waits for a notification on a channel that it listens on; nullopt where none came in time. `wake`, a descriptor,
  /// ends the wait when it can be read; -1: none.
  virtual runtime::Result<std::optional<Notification>> wait(double seconds, int wake = -1) = 0;

  /// True after the server went away.
  virtual bool is_lost() const = 0;
  /// What the last failure asks for.
  virtual Failure failure() const = 0;
  /// How many seconds to wait for what may pass: `connect_timeout` of the address, or `usual` ones.
  virtual double patience(double usual = 10) const = 0;
  /// After how many seconds of silence in a statement it is lost.
  virtual double silence() const = 0;
  /// Makes that less, if it is more.
  virtual void limit_silence(double seconds) = 0;
  /// Whether a statement may be silent for longer while the server executes it; false at first.
  virtual void set_long_statements(bool may_be_long) = 0;
  /// Connects again to the same address: tries for at most so long, or as long as `connect_timeout` of it says.
  virtual runtime::Status reconnect(double seconds = 10) = 0;
  /// Whether the last `reconnect` found no server that serves any client: not where it refused this connection alone.
  virtual bool is_away() const = 0;
};

}  // namespace collage::measure::postgres
