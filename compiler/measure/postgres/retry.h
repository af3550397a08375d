// SPDX-License-Identifier: Apache-2.0
// What is done about failures that may pass (failure.h), before the same is asked again:
//
//     the connection is lost     connects again, ten times for one question; not where it is lost twice by silence
//     a conflict, a busy server  waits, in all as long as the connection's patience
//     the server only reads      the same, and connects again: after a failover the address may lead to the one that
//                                writes
//     the tables are gone        makes them, twice for one question
//
// What did not pass in that time is not waited for a second time, so that a full disk costs a program one wait. A
// server that is lost is asked nothing more, and if it is away, no other connection with the same verdict asks it
// either (verdict.h).
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "compiler/measure/postgres/connection.h"
#include "compiler/measure/postgres/verdict.h"

namespace collage::measure::postgres {

struct RetryOptions {
  /// Makes tables that are gone, and forgets what was in them; empty: that does not pass.
  std::function<runtime::Status()> make_tables{};
  /// Whether the server took writes at the start: if it only reads now, another one may have taken its place.
  bool writes = true;
  double patience = 10;                ///< seconds, unless the address has `connect_timeout`
  std::shared_ptr<Verdict> verdict{};  ///< on the server, of all its connections; null: of this one alone
};

class Retry {
 public:
  /// The connection outlives this.
  explicit Retry(Connection& server, RetryOptions options = {}) : server_(server), options_(std::move(options)) {
    if (options_.verdict == nullptr) options_.verdict = std::make_shared<Verdict>();
  }

  /// Asks, and again while a failure may pass: `ask` returns a Status or a Result. A server that is lost is not asked.
  template <typename Ask>
  auto ask(const Ask& ask) -> decltype(ask()) {
    if (why_lost()) return runtime::Status::error(*why_lost());
    begin();
    auto answer = ask();
    while (!answer && prepare(answer.message())) answer = ask();
    return answer;
  }

  /// A new question.
  void begin();
  /// After a failure with this message: does what it asks for. Returns whether the same may succeed now.
  bool prepare(const std::string& message);
  /// Why the server is lost for good, if it is: found here, or by another connection.
  const std::optional<std::string>& why_lost() const { return why_lost_ ? why_lost_ : options_.verdict->why_lost(); }

 private:
  using Clock = std::chrono::steady_clock;

  bool reconnect(const std::string& message);
  /// Waits a little; false: long enough.
  bool pause(Failure failure);
  /// Whether the server only reads since it repeats what another one writes.
  bool is_standby();
  bool& is_given_up(Failure failure) { return given_up_[static_cast<size_t>(failure)]; }

  Connection& server_;
  RetryOptions options_;
  std::optional<Clock::time_point> failed_;  ///< first in this question
  int cuts_ = 0, makings_ = 0;               ///< in this question
  std::optional<Clock::time_point> end_;     ///< of waiting in this question
  std::chrono::milliseconds pause_{0};
  std::array<bool, static_cast<size_t>(Failure::TablesGone) + 1> given_up_{};
  std::optional<std::string> why_lost_;
};

}  // namespace collage::measure::postgres
