// SPDX-License-Identifier: Apache-2.0
// What is done about each kind of failure, with a connection that fails as a script says.
#include "compiler/measure/postgres/retry.h"

#include <gtest/gtest.h>

#include <deque>
#include <thread>

namespace collage::measure::postgres {
namespace {

using runtime::Result;
using runtime::Status;

class OneRow : public Rows {
 public:
  explicit OneRow(std::string text) : text_(std::move(text)) {}
  size_t size() const override { return 1; }
  size_t changed() const override { return 0; }
  bool is_null(size_t, int) const override { return false; }
  std::string_view text(size_t, int) const override { return text_; }
  int64_t number(size_t, int) const override { return 0; }
  double real(size_t, int) const override { return 0; }

 private:
  std::string text_;
};

class Scripted : public Connection {
 public:
  Result<std::unique_ptr<Rows>> execute(std::string_view, std::initializer_list<Parameter>) override {
    return std::unique_ptr<Rows>(std::make_unique<OneRow>(is_standby ? "t" : "f"));
  }
  Status execute_script(const std::string&) override { return Status::ok(); }
  Status in_transaction(const std::function<Status()>& body) override { return body(); }
  Status listen(const std::string&) override { return Status::ok(); }
  Result<std::optional<Notification>> wait(double, int) override { return std::optional<Notification>(); }
  bool is_lost() const override { return failure_ == Failure::Lost; }
  Failure failure() const override { return failure_; }
  double patience(double) const override { return 0.2; }
  double silence() const override { return 0.2; }
  void limit_silence(double) override {}
  void set_long_statements(bool) override {}
  Status reconnect(double) override {
    ++reconnected;
    return comes_back ? Status::ok() : Status::error("nobody there");
  }
  bool is_away() const override { return !comes_back && !refuses; }

  /// A question: fails in these ways, one after another, and succeeds then; `forever`: the last one stays.
  Status answer() {
    ++asked;
    if (fails.empty()) return Status::ok();
    failure_ = fails.front();
    if (fails.size() > 1 || !forever) fails.pop_front();
    return Status::error("as scripted");
  }

  std::deque<Failure> fails;
  bool forever = false, is_standby = false, comes_back = true, refuses = false;
  int asked = 0, reconnected = 0;

 private:
  Failure failure_ = Failure::Lasting;
};

double seconds_of(const std::function<void()>& action) {
  const auto start = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(RetryTest, WhatLastsIsAskedOnce) {
  Scripted server;
  server.fails = {Failure::Lasting};
  EXPECT_FALSE(Retry(server).ask([&] { return server.answer(); }));
  EXPECT_EQ(server.asked, 1);
}

TEST(RetryTest, ABusyServerIsWaitedFor) {
  Scripted server;
  server.fails = {Failure::Busy, Failure::Conflict};
  EXPECT_TRUE(Retry(server).ask([&] { return server.answer(); }));
  EXPECT_EQ(server.asked, 3);
  EXPECT_EQ(server.reconnected, 0);
}

TEST(RetryTest, WhatDoesNotPassIsWaitedForOnce) {
  Scripted server;
  server.fails = {Failure::Busy};
  server.forever = true;
  Retry retry(server);
  const double first = seconds_of([&] { EXPECT_FALSE(retry.ask([&] { return server.answer(); })); });
  EXPECT_GE(first, 0.2);
  EXPECT_LT(first, 2);
  server.asked = 0;
  EXPECT_FALSE(retry.ask([&] { return server.answer(); }));
  EXPECT_EQ(server.asked, 1);
  EXPECT_FALSE(retry.why_lost());
}

TEST(RetryTest, ALostConnectionIsMadeAgain) {
  Scripted server;
  server.fails = {Failure::Lost, Failure::Lost};
  Retry retry(server);
  EXPECT_TRUE(retry.ask([&] { return server.answer(); }));
  EXPECT_EQ(server.reconnected, 2);
  EXPECT_FALSE(retry.why_lost());
}

TEST(RetryTest, ButNotForEver) {
  Scripted server;
  server.fails = {Failure::Lost};
  server.forever = true;
  Retry retry(server);
  EXPECT_FALSE(retry.ask([&] { return server.answer(); }));
  EXPECT_EQ(server.asked, 11);
  server.comes_back = false;
  EXPECT_FALSE(retry.ask([&] { return server.answer(); }));
  EXPECT_EQ(retry.why_lost(), "nobody there");
}

TEST(RetryTest, OneThatConnectsAndIsSilentIsLost) {
  Scripted server;
  server.fails = {Failure::Lost};
  server.forever = true;
  Retry retry(server);
  const auto silent = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    return server.answer();
  };
  EXPECT_FALSE(retry.ask(silent));
  EXPECT_EQ(server.asked, 2) << "the second one fails 0.25 s after the first, longer than patience and silence";
  EXPECT_EQ(retry.why_lost(), "as scripted");
}

TEST(RetryTest, WhatOneConnectionHasGivenUpOthersDoNotAsk) {
  for (const bool is_silent : {false, true}) {
    Scripted first, second;
    first.fails = second.fails = {Failure::Lost};
    first.forever = is_silent;
    first.comes_back = is_silent;
    const auto verdict = std::make_shared<Verdict>();
    Retry asks(first, {.verdict = verdict}), asks_too(second, {.verdict = verdict});
    EXPECT_FALSE(asks.ask([&] {
      if (is_silent) std::this_thread::sleep_for(std::chrono::milliseconds(250));
      return first.answer();
    }));
    const char* why = is_silent ? "as scripted" : "nobody there";
    EXPECT_EQ(verdict->why_lost(), why);
    EXPECT_EQ(asks_too.why_lost(), why);
    const Status failed = asks_too.ask([&] { return second.answer(); });
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.message(), why);
    EXPECT_EQ(second.asked, 0);
    EXPECT_EQ(second.reconnected, 0);
  }
}

TEST(RetryTest, ARefusalIsOfOneConnectionAlone) {
  Scripted first, second;
  first.fails = {Failure::Lost};
  first.comes_back = false;
  first.refuses = true;
  const auto verdict = std::make_shared<Verdict>();
  Retry asks(first, {.verdict = verdict}), asks_too(second, {.verdict = verdict});
  EXPECT_FALSE(asks.ask([&] { return first.answer(); }));
  EXPECT_EQ(asks.why_lost(), "nobody there");
  EXPECT_FALSE(verdict->why_lost());
  EXPECT_TRUE(asks_too.ask([&] { return second.answer(); }));
}

TEST(RetryTest, WhatIsLostIsAskedNothingMore) {
  Scripted server;
  server.fails = {Failure::Lost};
  server.comes_back = false;
  Retry retry(server);
  EXPECT_FALSE(retry.ask([&] { return server.answer(); }));
  EXPECT_FALSE(retry.ask([&] { return server.answer(); }));
  EXPECT_EQ(server.asked, 1);
}

TEST(RetryTest, AfterAFailoverAnotherServerWrites) {
  Scripted server;
  server.fails = {Failure::ReadOnly, Failure::ReadOnly};
  server.is_standby = true;
  EXPECT_TRUE(Retry(server).ask([&] { return server.answer(); }));
  EXPECT_EQ(server.reconnected, 2);
}

TEST(RetryTest, WhoMayOnlyReadIsRefusedAtOnce) {
  for (const bool is_standby : {false, true}) {
    Scripted server;
    server.fails = {Failure::ReadOnly};
    server.is_standby = is_standby;
    RetryOptions options;
    options.writes = !is_standby;  // a standby that was there to be read, or a user who may only read
    EXPECT_FALSE(Retry(server, options).ask([&] { return server.answer(); }));
    EXPECT_EQ(server.asked, 1);
    EXPECT_EQ(server.reconnected, 0);
  }
}

TEST(RetryTest, TablesAreMadeAgain) {
  Scripted server;
  server.fails = {Failure::TablesGone};
  int made = 0;
  RetryOptions options;
  options.make_tables = [&] {
    ++made;
    return Status::ok();
  };
  EXPECT_TRUE(Retry(server, options).ask([&] { return server.answer(); }));
  EXPECT_EQ(made, 1);
  server.fails = {Failure::TablesGone};
  server.forever = true;
  EXPECT_FALSE(Retry(server, options).ask([&] { return server.answer(); }));
  EXPECT_EQ(made, 3) << "somebody drops them again and again";
  EXPECT_FALSE(Retry(server).ask([&] { return server.answer(); })) << "who only reads makes none";
}

}  // namespace
}  // namespace collage::measure::postgres
