// SPDX-License-Identifier: Apache-2.0
#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <limits>
#include <map>
#include <thread>
#include <utility>

#include "compiler/measure/postgres/connection.h"
#include "runtime/core/joined.h"

namespace collage::measure::postgres {
namespace {

using runtime::Result;
using runtime::Status;
using Clock = std::chrono::steady_clock;

constexpr int kMostTries = 8;  ///< of a transaction
constexpr std::chrono::milliseconds kFirstPause{20}, kLongestPause{500};

struct CloseConnection {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
struct FreeResult {
  void operator()(PGresult* result) const { PQclear(result); }
};
using Handle = std::unique_ptr<PGconn, CloseConnection>;
using ResultHandle = std::unique_ptr<PGresult, FreeResult>;

class Deadline {
 public:
  explicit Deadline(double seconds)
      : end_(Clock::now() + std::chrono::duration<double>(std::clamp(seconds, 0.0, 1e6))) {}
  bool is_over() const { return Clock::now() >= end_; }
  int milliseconds() const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now()).count();
    return static_cast<int>(std::clamp<int64_t>(left, 0, 1'000'000'000));
  }

 private:
  std::chrono::time_point<Clock, std::chrono::duration<double>> end_;
};

/// One line of a message that may have several; lines that begin with a tab advise.
std::string one_line(std::string_view message) {
  std::string line;
  while (!message.empty()) {
    std::string_view one = message.substr(0, message.find('\n'));
    message.remove_prefix(std::min(message.size(), one.size() + 1));
    if (one.empty() || one.front() == '\t') continue;
    runtime::add_to_list(line, one, "; ");
  }
  return line;
}

/// Why a connection could not be made.
struct Refusal {
  std::string message;
  std::string state;  ///< SQLSTATE; empty: no server said it
};

/// Splits libpq's verbose message into text and SQLSTATE, and drops the location:
///
///     … failed: FATAL:  57P03: the database system is starting up
///     LOCATION:  ProcessStartupPacket, postmaster.c:2319
///     =>   … failed: FATAL:  the database system is starting up
Refusal refusal_of(std::string_view message) {
  Refusal made;
  std::string kept;
  while (!message.empty()) {
    std::string one(message.substr(0, message.find('\n')));
    message.remove_prefix(std::min(message.size(), one.size() + 1));
    if (const size_t file = one.rfind(".c:"); !made.state.empty() && file != std::string::npos &&
                                              one.find_first_not_of("0123456789", file + 3) == std::string::npos)
      continue;
    constexpr size_t kGap = 2, kState = 5;
    for (size_t at = one.find(":  "); at != std::string::npos; at = one.find(":  ", at + 1)) {
      const std::string state = one.substr(at + 1 + kGap, kState);
      const bool is_state = state.size() == kState &&
                            state.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string::npos &&
                            one.compare(at + 1 + kGap + kState, 2, ": ") == 0;
      if (!is_state) continue;
      made.state = state;
      one.erase(at + 1 + kGap, kState + 2);
      break;
    }
    kept += one + "\n";
  }
  made.message = one_line(kept);
  return made;
}

/// The parts of an address, and what they leave open.
struct Parts {
  std::vector<std::pair<std::string, std::string>> list;
  double seconds = 0;      ///< `connect_timeout`; 0: the address has none
  int64_t silence_ms = 0;  ///< the most in a statement; 0: any
};

/// Returns 0 where the text is no number; no parameter of libpq is more than an int.
int64_t number_in(const std::string& text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return std::clamp<int64_t>(number, 0, std::numeric_limits<int>::max());
}

/// What the server gives up after: locks before the client takes the silence for a loss, and transactions without
/// statements.
std::string limits_of_server(int64_t silence_ms) {
  if (silence_ms == 0) return "";
  constexpr int64_t kMost = 1'000'000'000;  // PostgreSQL's is about twice that
  const int64_t locks = std::clamp<int64_t>(silence_ms * 2 / 3, 1, kMost), idle = std::min(silence_ms * 2, kMost);
  return "-clock_timeout=" + std::to_string(locks) + " -cidle_in_transaction_session_timeout=" + std::to_string(idle) +
         " ";
}

Result<Parts> parts_of(const std::string& address) {
  const size_t at = address.find('@');
  const bool is_unclear = at != address.rfind('@') ||
                          (at != std::string::npos && address.find_first_of("/?", address.find("://") + 3) < at);
  if (is_unclear)
    return Status::error(
        "in its user, password and parameters `@`, `/` and `?` have to be written `%40`, `%2F` and `%3F`");
  char* message = nullptr;
  const std::unique_ptr<PQconninfoOption, FreeOptions> options(PQconninfoParse(address.c_str(), &message));
  if (!options) {
    // The message may quote any part of the address.
    const bool may_be_shown = at == std::string::npos && address.find("pass") == std::string::npos;
    Status status = Status::error("it is no address of a server" +
                                  (may_be_shown && message != nullptr ? ": " + one_line(message) : std::string()));
    PQfreemem(message);
    return status;
  }
  // A server that is gone without a word is noticed after half a minute.
  std::map<std::string, std::string> parts = {{"fallback_application_name", "collage"},
                                              {"keepalives_idle", "10"},
                                              {"keepalives_interval", "5"},
                                              {"keepalives_count", "4"},
                                              {"tcp_user_timeout", "30000"}};
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->val != nullptr) parts[option->keyword] = option->val;
  }
  parts["client_encoding"] = "UTF8";
  Parts made;
  made.silence_ms = number_in(parts["tcp_user_timeout"]);
  // Options of the address come later and override these.
  parts["options"] = "-csearch_path=collage,public " + limits_of_server(made.silence_ms) + parts["options"];
  if (const auto timeout = parts.find("connect_timeout"); timeout != parts.end()) {
    made.seconds = static_cast<double>(number_in(timeout->second));
    parts.erase(timeout);
  }
  made.list.assign(parts.begin(), parts.end());
  return made;
}

struct Keywords {
  explicit Keywords(const Parts& parts) {
    for (const auto& [name, value] : parts.list) {
      names.push_back(name.c_str());
      values.push_back(value.c_str());
    }
    names.push_back(nullptr);
    values.push_back(nullptr);
  }
  std::vector<const char*> names, values;
};

/// Tries once; `*state`: what the server says if it refuses.
Result<Handle> connect_once(const Parts& parts, const Deadline& deadline, std::string* state) {
  state->clear();
  const Keywords keywords(parts);
  Handle connection(PQconnectStartParams(keywords.names.data(), keywords.values.data(), 0));
  if (connection == nullptr) return Status::error("no memory for a connection");
  PQsetNoticeProcessor(
      connection.get(), [](void*, const char*) {}, nullptr);
  (void)PQsetErrorVerbosity(connection.get(), PQERRORS_VERBOSE);
  PostgresPollingStatusType step = PGRES_POLLING_WRITING;
  while (PQstatus(connection.get()) != CONNECTION_BAD && step != PGRES_POLLING_OK && step != PGRES_POLLING_FAILED) {
    pollfd waits{PQsocket(connection.get()), static_cast<short>(step == PGRES_POLLING_READING ? POLLIN : POLLOUT), 0};
    const int ready = ::poll(&waits, 1, deadline.milliseconds());
    if (ready == 0) return Status::error("the server does not answer");
    if (ready > 0) step = PQconnectPoll(connection.get());
  }
  if (PQstatus(connection.get()) != CONNECTION_OK) {
    Refusal refusal = refusal_of(PQerrorMessage(connection.get()));
    *state = refusal.state;
    return Status::error(refusal.message);
  }
  (void)PQsetErrorVerbosity(connection.get(), PQERRORS_DEFAULT);
  if (PQsetnonblocking(connection.get(), 1) != 0) return Status::error(one_line(PQerrorMessage(connection.get())));
  return connection;
}

/// Tries again until the deadline where the server starts or ends just now, or has too many connections; `patient`:
/// also where there is none. A last try that has too little time says less than the refusal before it; `*refused`: its
/// state, if any.
Result<Handle> connect(const Parts& parts, const Deadline& deadline, bool patient, std::string* refused) {
  std::chrono::milliseconds pause = kFirstPause;
  Status refusal = Status::ok();
  refused->clear();
  while (true) {
    std::string state;
    Result<Handle> made = connect_once(parts, deadline, &state);
    if (made) return made;
    if (!state.empty()) {
      refusal = made.status();
      *refused = state;
    }
    const bool may_pass = patient || (!state.empty() && failure_of(state) != Failure::Lasting);
    if (deadline.is_over() || !may_pass) return refusal ? made.status() : refusal;
    std::this_thread::sleep_for(std::min(pause, std::chrono::milliseconds(deadline.milliseconds())));
    pause = std::min(2 * pause, kLongestPause);
  }
}

class PostgresRows : public Rows {
 public:
  explicit PostgresRows(ResultHandle result) : result_(std::move(result)) {}

  size_t size() const override { return static_cast<size_t>(PQntuples(result_.get())); }
  size_t changed() const override {
    const std::string_view count = PQcmdTuples(result_.get());
    size_t changed = 0;
    std::from_chars(count.data(), count.data() + count.size(), changed);
    return changed;
  }
  bool is_null(size_t row, int column) const override {
    return PQgetisnull(result_.get(), static_cast<int>(row), column) != 0;
  }
  std::string_view text(size_t row, int column) const override {
    const int r = static_cast<int>(row);
    return {PQgetvalue(result_.get(), r, column), static_cast<size_t>(PQgetlength(result_.get(), r, column))};
  }
  int64_t number(size_t row, int column) const override { return parsed<int64_t>(row, column); }
  double real(size_t row, int column) const override { return parsed<double>(row, column); }

 private:
  template <typename Number>
  Number parsed(size_t row, int column) const {
    const std::string_view written = text(row, column);
    Number value = 0;
    std::from_chars(written.data(), written.data() + written.size(), value);
    return value;
  }

  ResultHandle result_;
};

/// Parameters as libpq takes them.
class Bound {
 public:
  explicit Bound(std::initializer_list<Parameter> parameters) {
    texts_.reserve(parameters.size());
    for (const Parameter& parameter : parameters) {
      if (std::holds_alternative<std::monostate>(parameter)) {
        values_.push_back(nullptr);
        continue;
      }
      texts_.push_back(text_of(parameter));
      has_zeros_ = has_zeros_ || texts_.back().find('\0') != std::string::npos;
      values_.push_back(texts_.back().c_str());
    }
  }
  int size() const { return static_cast<int>(values_.size()); }
  const char* const* values() const { return values_.data(); }
  bool has_zeros() const { return has_zeros_; }

 private:
  static std::string text_of(const Parameter& parameter) {
    if (const auto* text = std::get_if<std::string_view>(&parameter)) return std::string(*text);
    char written[64];
    char* end = std::holds_alternative<int64_t>(parameter)
                    ? std::to_chars(std::begin(written), std::end(written), std::get<int64_t>(parameter)).ptr
                    : std::to_chars(std::begin(written), std::end(written), std::get<double>(parameter)).ptr;
    return {written, end};
  }

  std::vector<std::string> texts_;
  std::vector<const char*> values_;
  bool has_zeros_ = false;
};

class PostgresConnection : public Connection {
 public:
  PostgresConnection(Parts parts, Handle connection) : parts_(std::move(parts)), connection_(std::move(connection)) {}

  Result<std::unique_ptr<Rows>> execute(std::string_view statement,
                                        std::initializer_list<Parameter> parameters) override {
    failure_ = Failure::Lasting;
    const Bound bound(parameters);
    if (bound.has_zeros()) return Status::error("a text holds a byte that is zero");
    if (is_lost()) return lost();
    auto known = prepared_.find(statement);
    if (known == prepared_.end()) {
      const std::string name = "s" + std::to_string(prepared_.size());
      const Result<ResultHandle> prepared = answer_to(
          PQsendPrepare(connection_.get(), name.c_str(), std::string(statement).c_str(), bound.size(), nullptr));
      if (!prepared) return prepared.status();
      known = prepared_.emplace(statement, name).first;
    }
    Result<ResultHandle> result = answer_to(PQsendQueryPrepared(connection_.get(), known->second.c_str(), bound.size(),
                                                                bound.values(), nullptr, nullptr, 0));
    if (!result) return result.status();
    return std::unique_ptr<Rows>(std::make_unique<PostgresRows>(std::move(*result)));
  }

  Status execute_script(const std::string& statements) override {
    if (is_lost()) return lost();
    return answer_to(PQsendQuery(connection_.get(), statements.c_str())).status();
  }

  Status in_transaction(const std::function<Status()>& body) override {
    for (int tries = 1;; ++tries) {
      if (Status status = execute_script("BEGIN ISOLATION LEVEL READ COMMITTED"); !status) return status;
      failure_ = Failure::Lasting;
      Status status = body();
      if (status) status = commit();
      if (status) return status;
      const Failure why = failure_;
      if (!is_lost() && PQtransactionStatus(connection_.get()) != PQTRANS_IDLE) (void)execute_script("ROLLBACK");
      failure_ = why;
      if (why != Failure::Conflict || tries == kMostTries || is_lost()) return status;
      std::this_thread::sleep_for(kFirstPause * tries);
    }
  }

  Status listen(const std::string& channel) override {
    if (std::find(channels_.begin(), channels_.end(), channel) == channels_.end()) channels_.push_back(channel);
    return listen_now(channel);
  }

  Result<std::optional<Notification>> wait(double seconds, int wake) override {
    const Deadline deadline(seconds);
    while (true) {
      if (is_lost()) return lost();
      if (PQconsumeInput(connection_.get()) == 0) return lost();
      if (PGnotify* came = PQnotifies(connection_.get()); came != nullptr) {
        Notification made{came->relname, came->extra};
        PQfreemem(came);
        return std::optional(std::move(made));
      }
      pollfd waits[2] = {{PQsocket(connection_.get()), POLLIN, 0}, {wake, POLLIN, 0}};
      const int ready = ::poll(waits, wake < 0 ? 1 : 2, deadline.milliseconds());
      if (ready > 0 && waits[0].revents != 0) continue;
      if (ready >= 0) return std::optional<Notification>();
    }
  }

  bool is_lost() const override { return is_lost_ || PQstatus(connection_.get()) == CONNECTION_BAD; }
  Failure failure() const override { return is_lost() ? Failure::Lost : failure_; }
  double silence() const override {
    return parts_.silence_ms > 0 ? static_cast<double>(parts_.silence_ms) / 1000
                                 : std::numeric_limits<double>::infinity();
  }
  void limit_silence(double seconds) override {
    const auto most = static_cast<int64_t>(std::clamp(seconds, 0.001, 1e6) * 1000);
    parts_.silence_ms = parts_.silence_ms == 0 ? most : std::min(parts_.silence_ms, most);
  }
  void set_long_statements(bool may_be_long) override { may_be_long_ = may_be_long; }
  double patience(double usual) const override { return parts_.seconds > 0 ? parts_.seconds : usual; }

  Status reconnect(double seconds) override {
    prepared_.clear();
    is_lost_ = true;  // also where this fails
    std::string refused;
    auto made = connect(parts_, Deadline(patience(seconds)), true, &refused);
    is_away_ = !made && failure_of(refused) == Failure::Lost;
    if (!made) return Status::error(why_lost_ = made.message());
    failure_ = Failure::Lasting;
    connection_ = std::move(*made);
    is_lost_ = false;
    why_lost_.clear();
    for (const std::string& channel : channels_) {
      if (Status status = listen_now(channel); !status) return status;
    }
    return Status::ok();
  }
  bool is_away() const override { return is_away_; }

 private:
  /// Remembers why, the first time.
  Status lost() {
    is_lost_ = true;
    if (why_lost_.empty()) why_lost_ = one_line(PQerrorMessage(connection_.get()));
    return Status::error(why_lost_.empty() ? "the connection to the server is lost" : why_lost_);
  }

  /// Gets a statement to the server, and its last result, or the first that is an error. The server is lost where
  /// nothing comes and goes for too long.
  Result<ResultHandle> answer_to(int is_sent) {
    failure_ = Failure::Lasting;
    if (is_sent == 0) return lost();
    ResultHandle last;
    while (true) {
      if (Status status = await_result(); !status) return status;
      ResultHandle next(PQgetResult(connection_.get()));
      if (next == nullptr) break;
      if (last == nullptr || !is_error(last.get())) last = std::move(next);
    }
    if (Status status = checked(last.get()); !status) return status;
    return last;
  }

  /// Until PQgetResult does not wait.
  Status await_result() {
    while (true) {
      const int unsent = PQflush(connection_.get());
      if (unsent < 0 || (unsent == 0 && PQisBusy(connection_.get()) == 0)) return Status::ok();
      pollfd moves{PQsocket(connection_.get()), static_cast<short>(unsent > 0 ? POLLIN | POLLOUT : POLLIN), 0};
      const int ready = ::poll(&moves, 1, parts_.silence_ms == 0 ? -1 : clamped_ms(parts_.silence_ms));
      if (ready == 0 && may_be_long_ && unsent == 0 && executes()) continue;
      if (ready == 0) {
        // Without its end the server would keep the transaction.
        connection_.reset();
        why_lost_ = "the server has not answered for " + std::to_string((parts_.silence_ms + 999) / 1000) + " s";
        return lost();
      }
      // A failure is one of the result, too.
      if (ready > 0 && (moves.revents & ~POLLOUT) != 0 && PQconsumeInput(connection_.get()) == 0) return Status::ok();
    }
  }

  /// Whether the server says, over another connection, that it executes the statement; one that has no place for
  /// another connection does.
  bool executes() const {
    std::string state;
    Result<Handle> other = connect_once(parts_, Deadline(std::min(patience(10), silence())), &state);
    if (!other) return !state.empty() && failure_of(state) != Failure::Lost;
    const auto found = PostgresConnection(parts_, std::move(*other))
                           .execute(
                               "SELECT FROM pg_stat_activity WHERE pid = $1 AND state = 'active' AND "
                               "wait_event_type IS DISTINCT FROM 'Client'",
                               {int64_t{PQbackendPID(connection_.get())}});
    return found && (*found)->size() == 1;
  }

  static int clamped_ms(int64_t milliseconds) { return static_cast<int>(std::min<int64_t>(milliseconds, INT32_MAX)); }
  static bool is_error(const PGresult* result) {
    return PQresultStatus(result) == PGRES_FATAL_ERROR || PQresultStatus(result) == PGRES_BAD_RESPONSE;
  }

  Status checked(const PGresult* result) {
    switch (PQresultStatus(result)) {
      case PGRES_COMMAND_OK:
      case PGRES_TUPLES_OK:
      case PGRES_EMPTY_QUERY: return Status::ok();
      default: break;
    }
    const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char* message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    // What has no state is not from the server: libpq cannot reach it, though PQstatus may not say so before the next
    // statement.
    failure_ = failure_of(state == nullptr ? "" : state);
    if (failure_ == Failure::Lost && state != nullptr) why_lost_ = message == nullptr ? "" : message;
    if (failure_ == Failure::Lost || PQstatus(connection_.get()) == CONNECTION_BAD) return lost();
    return Status::error(one_line(message == nullptr ? PQerrorMessage(connection_.get()) : message));
  }

  Status commit() {
    if (is_lost()) return lost();
    const Result<ResultHandle> result = answer_to(PQsendQuery(connection_.get(), "COMMIT"));
    if (!result) return result.status();
    if (std::string_view(PQcmdStatus(result->get())) == "COMMIT") return Status::ok();
    return Status::error("the server rolled the transaction back");
  }

  Status listen_now(const std::string& channel) {
    if (is_lost()) return lost();
    char* quoted = PQescapeIdentifier(connection_.get(), channel.data(), channel.size());
    if (quoted == nullptr) return Status::error(one_line(PQerrorMessage(connection_.get())));
    const std::string statement = std::string("LISTEN ") + quoted;
    PQfreemem(quoted);
    return execute_script(statement);
  }

  Parts parts_;
  Handle connection_;
  std::map<std::string, std::string, std::less<>> prepared_;  ///< statement -> its name
  std::vector<std::string> channels_;
  Failure failure_ = Failure::Lasting;
  bool is_lost_ = false, is_away_ = false;
  bool may_be_long_ = false;  ///< a statement
  std::string why_lost_;
};

}  // namespace

Result<std::unique_ptr<Connection>> Connection::open(const std::string& address, double seconds) {
  Result<Parts> parts = parts_of(address);
  if (!parts) return parts.status();
  std::string refused;
  auto connection = connect(*parts, Deadline(parts->seconds > 0 ? parts->seconds : seconds), false, &refused);
  if (!connection) return connection.status();
  return std::unique_ptr<Connection>(std::make_unique<PostgresConnection>(std::move(*parts), std::move(*connection)));
}

}  // namespace collage::measure::postgres
