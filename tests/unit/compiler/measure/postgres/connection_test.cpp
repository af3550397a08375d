// SPDX-License-Identifier: Apache-2.0
// Connections to a server that hangs, refuses, or has no time: every call ends.
#include "compiler/measure/postgres/connection.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/unit/compiler/measure/postgres_cluster.h"

namespace collage::measure::postgres {
namespace {

using Clock = std::chrono::steady_clock;

class ServerConnection : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cluster().why_absent().empty()) GTEST_SKIP() << cluster().why_absent();
    if (!cluster().is_running()) cluster().start();
    cluster().make_database("connection");
  }
  void TearDown() override { cluster().go_on(); }
  static PostgresCluster& cluster() { return PostgresCluster::instance(); }

  /// A connection that is lost after so many milliseconds of silence.
  static std::unique_ptr<Connection> connect(int silence_ms, const std::string& user = "postgres") {
    auto opened = Connection::open(
        cluster().address("connection", user, "&connect_timeout=1&tcp_user_timeout=" + std::to_string(silence_ms)));
    EXPECT_TRUE(opened) << opened.message();
    return opened ? std::move(*opened) : nullptr;
  }
  static double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }
};

TEST_F(ServerConnection, AStatementEndsWhereTheServerHangs) {
  const auto server = connect(700);
  ASSERT_TRUE(server);
  ASSERT_TRUE(server->execute("SELECT 1"));
  cluster().pause();
  auto start = Clock::now();
  const auto failed = server->execute("SELECT 1");
  EXPECT_GE(seconds_since(start), 0.7);
  EXPECT_LT(seconds_since(start), 5);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.message(), "the server has not answered for 1 s");
  EXPECT_TRUE(server->is_lost());
  EXPECT_EQ(server->failure(), Failure::Lost);
  // The kernel accepts connections for a server that was stopped.
  start = Clock::now();
  EXPECT_EQ(server->reconnect().message(), "the server does not answer");
  EXPECT_TRUE(server->is_away());
  EXPECT_LT(seconds_since(start), 5);
  EXPECT_FALSE(server->execute_script("SELECT 1"));
  EXPECT_FALSE(server->wait(0));
  cluster().go_on();
  ASSERT_TRUE(server->reconnect());
  EXPECT_FALSE(server->is_away());
  EXPECT_TRUE(server->execute("SELECT 1"));
}

TEST_F(ServerConnection, ALongStatementIsWaitedForWhileTheServerExecutesIt) {
  const auto server = connect(500);
  ASSERT_TRUE(server);
  {
    server->set_long_statements(true);
    const auto slept = server->execute("SELECT pg_sleep(2)");
    EXPECT_TRUE(slept) << slept.message();
    cluster().pause();
    const auto start = Clock::now();
    EXPECT_FALSE(server->execute("SELECT pg_sleep(2)"));
    EXPECT_TRUE(server->is_lost());
    EXPECT_LT(seconds_since(start), 5) << "nobody says that it is executed";
    cluster().go_on();
    server->set_long_statements(false);
  }
  ASSERT_TRUE(server->reconnect());
  EXPECT_FALSE(server->execute("SELECT pg_sleep(2)"));
  EXPECT_TRUE(server->is_lost());
}

TEST_F(ServerConnection, AServerWithoutRoomForASecondConnectionExecutes) {
  (void)PostgresCluster::run(cluster().address("postgres"), "CREATE ROLE guest LOGIN");
  ASSERT_EQ(PostgresCluster::run(cluster().address("postgres"), "ALTER DATABASE connection CONNECTION LIMIT 1"), "");
  const auto server = connect(500, "guest");
  ASSERT_TRUE(server);
  server->set_long_statements(true);
  const auto slept = server->execute("SELECT pg_sleep(1.5)");
  EXPECT_TRUE(slept) << slept.message();
}

TEST_F(ServerConnection, SilenceMayBeLimitedFurther) {
  const auto server = connect(60000);
  ASSERT_TRUE(server);
  server->limit_silence(100);
  EXPECT_EQ(server->silence(), 60);
  server->limit_silence(0.3);
  EXPECT_EQ(server->silence(), 0.3);
  EXPECT_FALSE(server->execute("SELECT pg_sleep(5)"));
  EXPECT_TRUE(server->is_lost());
}

/// Twice as many milliseconds would be no int64_t.
TEST_F(ServerConnection, ALimitThatIsTooLargeIsTheLargest) {
  const auto server =
      Connection::open(cluster().address("connection", "postgres", "&tcp_user_timeout=4611686018427387904"));
  ASSERT_TRUE(server) << server.message();
  EXPECT_DOUBLE_EQ((*server)->silence(), 2147483.647);
  EXPECT_TRUE((*server)->execute("SELECT 1"));
}

TEST_F(ServerConnection, ATransactionEndsWhereTheServerHangs) {
  const auto server = connect(500);
  ASSERT_TRUE(server);
  const auto start = Clock::now();
  const runtime::Status failed = server->in_transaction([&] {
    cluster().pause();
    return server->execute_script("SELECT 1");
  });
  EXPECT_FALSE(failed);
  EXPECT_TRUE(server->is_lost());
  EXPECT_LT(seconds_since(start), 5) << "neither ROLLBACK nor another try is waited for";
}

TEST_F(ServerConnection, WhatIsSentToAServerThatHangsEnds) {
  const auto server = connect(60000);  // a busy machine may take seconds for the first query
  ASSERT_TRUE(server);
  const std::string text(20 << 20, 'x');  // more than the kernel keeps for the server
  const auto there = server->execute("SELECT length($1)", {text});
  ASSERT_TRUE(there) << there.message();
  EXPECT_EQ((*there)->number(0, 0), 20 << 20);
  server->limit_silence(0.5);
  cluster().pause();
  const auto start = Clock::now();
  EXPECT_FALSE(server->execute("SELECT length($1)", {text}));
  EXPECT_TRUE(server->is_lost());
  EXPECT_LT(seconds_since(start), 5);
}

TEST_F(ServerConnection, AServerThatSendsIsNotLost) {
  const auto server = connect(1000);
  ASSERT_TRUE(server);
  // Rows that fill the buffer of the server, one after another.
  const auto rows = server->execute("SELECT repeat('x', 20000), pg_sleep(0.3) FROM generate_series(1, 6)");
  ASSERT_TRUE(rows) << rows.message();
  EXPECT_EQ((*rows)->size(), 6u);
  EXPECT_FALSE(server->execute("SELECT pg_sleep(3)"));
  EXPECT_TRUE(server->is_lost());
}

TEST_F(ServerConnection, ALockThatOthersHoldIsNoLoss) {
  const auto holder = connect(30000), server = connect(900);
  ASSERT_TRUE(holder && server);
  ASSERT_TRUE(holder->execute_script("CREATE TABLE one(x int)"));
  ASSERT_TRUE(holder->execute_script("BEGIN; LOCK TABLE one"));
  EXPECT_FALSE(server->execute("SELECT * FROM one"));
  EXPECT_EQ(server->failure(), Failure::Busy);
  EXPECT_FALSE(server->is_lost());
  ASSERT_TRUE(holder->execute_script("COMMIT"));
  EXPECT_TRUE(server->execute("SELECT * FROM one"));
}

TEST_F(ServerConnection, AProgramThatStopsInATransactionHoldsNoLockForLong) {
  const auto stopped = connect(300), server = connect(5000);
  ASSERT_TRUE(stopped && server);
  ASSERT_TRUE(stopped->execute_script("CREATE TABLE two(x int)"));
  ASSERT_TRUE(stopped->execute_script("BEGIN; LOCK TABLE two"));
  EXPECT_TRUE(server->execute("SELECT * FROM two")) << "after 0.6 s, when the server ended the other connection";
  EXPECT_FALSE(stopped->execute_script("SELECT 1"));
  EXPECT_EQ(stopped->failure(), Failure::Lost);
}

TEST_F(ServerConnection, AStatementThatIsCancelledMayBeAskedAgain) {
  const auto server = connect(10000), other = connect(10000);
  ASSERT_TRUE(server && other);
  const auto process = server->execute("SELECT pg_backend_pid()");
  ASSERT_TRUE(process);
  const int64_t id = (*process)->number(0, 0);
  std::thread cancels([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_TRUE(other->execute("SELECT pg_cancel_backend($1::int)", {id}));
  });
  EXPECT_FALSE(server->execute("SELECT pg_sleep(5)"));
  cancels.join();
  EXPECT_EQ(server->failure(), Failure::Busy);
  EXPECT_TRUE(server->execute("SELECT 1"));
}

TEST_F(ServerConnection, FailuresOfStatementsSayWhatTheyAskFor) {
  const auto server = connect(10000);
  ASSERT_TRUE(server);
  const auto failure = [&](const std::string& statement) {
    EXPECT_FALSE(server->execute(statement));
    return server->failure();
  };
  EXPECT_EQ(failure("SELECT * FROM nowhere"), Failure::TablesGone);
  EXPECT_EQ(failure("SELEC 1"), Failure::Lasting);
  ASSERT_TRUE(server->execute_script("SET default_transaction_read_only = on"));
  EXPECT_EQ(failure("CREATE TABLE three(x int)"), Failure::ReadOnly);
  // ROLLBACK succeeds, and says nothing of the transaction.
  const runtime::Status failed =
      server->in_transaction([&] { return server->execute("CREATE TABLE three(x int)").status(); });
  EXPECT_FALSE(failed);
  EXPECT_EQ(server->failure(), Failure::ReadOnly);
  // What the program itself refuses is no failure of the server.
  EXPECT_FALSE(server->in_transaction([] { return runtime::Status::error("no"); }));
  EXPECT_EQ(server->failure(), Failure::Lasting);
}

TEST_F(ServerConnection, ARefusalIsOneLineOfWords) {
  const auto refused = Connection::open(cluster().address("nonesuch"));
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.message().ends_with("database \"nonesuch\" does not exist")) << refused.message();
  EXPECT_EQ(refused.message().find("3D000"), std::string::npos) << refused.message();
}

TEST_F(ServerConnection, APlaceAmongTheConnectionsIsWaitedFor) {
  (void)PostgresCluster::run(cluster().address("postgres"), "CREATE ROLE guest LOGIN");
  ASSERT_EQ(PostgresCluster::run(cluster().address("postgres"), "ALTER DATABASE connection CONNECTION LIMIT 1"), "");
  auto first = connect(10000, "guest");
  ASSERT_TRUE(first);
  std::thread ends([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    first.reset();
  });
  const auto start = Clock::now();
  const auto second = Connection::open(cluster().address("connection", "guest"));
  ends.join();
  EXPECT_TRUE(second) << second.message();
  EXPECT_GE(seconds_since(start), 0.3);
}

/// Other connections may be there, and stay.
TEST_F(ServerConnection, OneThatRefusesAConnectionIsNotAway) {
  (void)PostgresCluster::run(cluster().address("postgres"), "CREATE ROLE guest LOGIN");
  ASSERT_EQ(PostgresCluster::run(cluster().address("postgres"), "ALTER DATABASE connection CONNECTION LIMIT 1"), "");
  const auto first = connect(10000, "guest");
  ASSERT_TRUE(first);
  ASSERT_EQ(PostgresCluster::run(cluster().address("postgres"),
                                 "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'guest'"),
            "");
  const auto second = Connection::open(cluster().address("connection", "guest"));
  ASSERT_TRUE(second) << second.message();
  EXPECT_FALSE(first->execute("SELECT 1"));
  EXPECT_FALSE(first->reconnect());
  EXPECT_FALSE(first->is_away());
}

TEST(FailureClasses, TheLongestBeginCounts) {
  EXPECT_EQ(failure_of("25006"), Failure::ReadOnly);
  EXPECT_EQ(failure_of("25001"), Failure::Lasting);
  for (const char* state : {"40001", "40P01"}) EXPECT_EQ(failure_of(state), Failure::Conflict) << state;
  for (const char* state : {"53100", "53300", "55P03", "57014"}) EXPECT_EQ(failure_of(state), Failure::Busy) << state;
  for (const char* state : {"57P01", "57P03", "08006", ""}) EXPECT_EQ(failure_of(state), Failure::Lost) << state;
  for (const char* state : {"42P01", "3F000", "23503"}) EXPECT_EQ(failure_of(state), Failure::TablesGone) << state;
  for (const char* state : {"23505", "42601", "42501", "57"}) EXPECT_EQ(failure_of(state), Failure::Lasting) << state;
}

}  // namespace
}  // namespace collage::measure::postgres
