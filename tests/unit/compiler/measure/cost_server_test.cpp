// SPDX-License-Identifier: Apache-2.0
// The database of measured costs on a server, which others use as well and which may be cut off, restart, hang or go
// away.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>

#include "compiler/measure/cost_database.h"
#include "compiler/measure/fallback_costs.h"
#include "compiler/measure/postgres/connection.h"
#include "compiler/measure/postgres/verdict.h"
#include "tests/unit/compiler/measure/measured_cost.h"
#include "tests/unit/compiler/measure/postgres_cluster.h"

namespace collage::measure {
namespace {

namespace fs = std::filesystem;

/// What PostgreSQL alone does.
class Server : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cluster().why_absent().empty()) GTEST_SKIP() << cluster().why_absent();
    if (!cluster().is_running()) cluster().start();
    cluster().make_database("server");
    address_ = cluster().address("server");
  }
  void TearDown() override {
    if (cluster().why_absent().empty() && !cluster().is_running()) cluster().start();
  }
  static PostgresCluster& cluster() { return PostgresCluster::instance(); }

  std::string address_;
};

TEST_F(Server, ForeignTablesAreLeftAlone) {
  ASSERT_EQ(PostgresCluster::run(address_, "CREATE SCHEMA collage; CREATE TABLE collage.birds(name text)"), "");
  auto database = CostDatabase::open(address_);
  ASSERT_FALSE(database);
  EXPECT_EQ(database.message(), "its schema `collage` belongs to another program");
}

TEST_F(Server, ManyBringItUpToDateAtOnce) {
  std::vector<std::string> failures(8);
  std::vector<std::thread> threads;
  for (std::string& failure : failures) {
    threads.emplace_back([&] {
      auto database = CostDatabase::open(address_);
      if (!database) failure = database.message();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) EXPECT_EQ(failure, "");
}

TEST_F(Server, OneWhoMayNotWriteReads) {
  {
    auto database = CostDatabase::open(address_);
    ASSERT_TRUE(database) << database.message();
    (*database)->store("here", "a", measured(100));
  }
  (void)PostgresCluster::run(address_, "CREATE ROLE guest LOGIN");
  ASSERT_EQ(
      PostgresCluster::run(
          address_, "GRANT USAGE ON SCHEMA collage TO guest; GRANT SELECT ON ALL TABLES IN SCHEMA collage TO guest"),
      "");
  for (const std::string& address :
       {cluster().address("server", "guest"),
        cluster().address("server", "postgres", "&options=-c%20default_transaction_read_only%3Don")}) {
    auto database = CostDatabase::open(address);
    ASSERT_TRUE(database) << database.message();
    EXPECT_EQ((*database)->find("here", "a"), measured(100));
    EXPECT_EQ((*database)->take_unkept(), "");
    EXPECT_EQ((*database)->store("here", "b", measured(200)), measured(200));
    EXPECT_NE((*database)->take_unkept(), "");
    EXPECT_FALSE((*database)->find("here", "b"));
    EXPECT_FALSE((*database)->is_lost());
  }
}

TEST_F(Server, OneWhoMayNotMakeTablesIsTold) {
  (void)PostgresCluster::run(address_, "CREATE ROLE guest LOGIN");
  auto database = CostDatabase::open(cluster().address("server", "guest"));
  ASSERT_FALSE(database);
  EXPECT_NE(database.message().find("permission denied"), std::string::npos) << database.message();
}

TEST_F(Server, AConnectionThatIsCutIsMadeAgain) {
  auto database = CostDatabase::open(address_);
  ASSERT_TRUE(database) << database.message();
  for (int round = 0; round < 3; ++round) {
    const std::string candidate = std::to_string(round);
    ASSERT_EQ(PostgresCluster::run(cluster().address("postgres"),
                                   "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'server'"),
              "");
    EXPECT_EQ((*database)->store("here", candidate, measured(100)), measured(100));
    EXPECT_EQ((*database)->find("here", candidate), measured(100));
  }
  EXPECT_FALSE((*database)->is_lost());
  EXPECT_EQ((*database)->take_unkept(), "");
}

/// Connections of all are cut again and again while they write the same keys.
TEST_F(Server, CutsLoseNothing) {
  ASSERT_TRUE(CostDatabase::open(address_));
  constexpr int kThreads = 4, kKeys = 40;
  std::vector<std::vector<Measurement>> answers(kThreads);
  std::vector<std::string> unkept(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      auto database = CostDatabase::open(address_);
      if (!database) {
        unkept[t] = database.message();
        return;
      }
      for (int k = 0; k < kKeys; ++k)
        answers[t].push_back((*database)->store("here", std::to_string(k), measured(t + 1)));
      unkept[t] = (*database)->take_unkept();
    });
  }
  for (int cuts = 0; cuts < 20; ++cuts) {
    (void)PostgresCluster::run(cluster().address("postgres"),
                               "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'server' AND "
                               "state <> 'idle'");
    // One question is asked again ten times at most, on a busy machine as well.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < kThreads; ++t) {
    EXPECT_EQ(unkept[t], "");
    EXPECT_EQ(answers[t], answers[0]);
  }
  auto reader = CostDatabase::open_to_read(address_);
  ASSERT_TRUE(reader) << reader.message();
  auto rows = (*reader)->rows();
  ASSERT_TRUE(rows) << rows.message();
  EXPECT_EQ(rows->size(), static_cast<size_t>(kKeys));
}

TEST_F(Server, ARestartIsWaitedFor) {
  auto database = CostDatabase::open(address_);
  ASSERT_TRUE(database) << database.message();
  (*database)->store("here", "a", measured(100));
  cluster().stop();
  std::optional<Measurement> found;
  std::thread waiting([&] { found = (*database)->find("here", "a"); });
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  cluster().start();
  waiting.join();
  EXPECT_EQ(found, measured(100));
  EXPECT_FALSE((*database)->is_lost());
}

TEST_F(Server, AfterALossAnotherDatabaseIsUsed) {
  const fs::path file = fs::path(::testing::TempDir()) / "collage_after_loss.sqlite";
  fs::remove(file);
  const std::string hurried = cluster().address("server") + "&connect_timeout=1";
  for (const std::string& fallback : {std::string(":memory:"), file.string()}) {
    if (!cluster().is_running()) cluster().start();
    auto server = CostDatabase::open(hurried);
    ASSERT_TRUE(server) << server.message();
    FallbackCosts costs(std::move(*server), fallback);
    EXPECT_EQ(costs.store("here", "a", measured(100)), measured(100));
    EXPECT_EQ(costs.take_lost(), "");
    cluster().stop();
    EXPECT_EQ(costs.store("here", "b", measured(200)), measured(200));
    EXPECT_EQ(costs.find("here", "b"), measured(200));
    EXPECT_FALSE(costs.find("here", "a")) << "the server had it";
    costs.store_reference("machine", Duration::picoseconds(90), 1000, 0);
    EXPECT_EQ(costs.reference("machine", 0), Duration::picoseconds(90));
    EXPECT_TRUE(costs.is_lost());
    EXPECT_NE(costs.take_lost(), "");
    EXPECT_EQ(costs.take_lost(), "") << "once";
    EXPECT_EQ(costs.take_unkept(), "");
  }
  auto kept = CostDatabase::open_to_read(file.string());
  ASSERT_TRUE(kept) << kept.message();
  EXPECT_EQ((*kept)->find("here", "b"), measured(200));
  fs::remove(file);
}

TEST_F(Server, OneThatHangsIsLost) {
  const std::string hurried = address_ + "&connect_timeout=1&tcp_user_timeout=700";
  auto server = CostDatabase::open(hurried);
  ASSERT_TRUE(server) << server.message();
  FallbackCosts costs(std::move(*server), ":memory:");
  EXPECT_EQ(costs.store("here", "a", measured(100)), measured(100));
  cluster().pause();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(costs.store("here", "b", measured(200)), measured(200));
  EXPECT_TRUE(costs.is_lost());
  EXPECT_EQ(costs.take_lost(), "the server does not answer");
  EXPECT_EQ(costs.find("here", "b"), measured(200));
  EXPECT_FALSE(CostDatabase::open(hurried));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  cluster().go_on();
}

TEST_F(Server, OneThatHangsIsWaitedForOnce) {
  const std::string hurried = address_ + "&connect_timeout=1&tcp_user_timeout=700";
  const auto verdict = std::make_shared<postgres::Verdict>();
  auto first = CostDatabase::open(hurried, verdict), second = CostDatabase::open(hurried, verdict);
  ASSERT_TRUE(first) << first.message();
  ASSERT_TRUE(second) << second.message();
  cluster().pause();
  EXPECT_FALSE((*first)->find("here", "a"));
  EXPECT_TRUE((*first)->is_lost());
  EXPECT_TRUE((*second)->is_lost()) << "before it is asked";
  EXPECT_FALSE((*second)->find("here", "a"));
  EXPECT_EQ((*second)->take_lost(), "the server does not answer");
  EXPECT_EQ((*second)->take_lost(), "") << "once";
  cluster().go_on();
}

TEST_F(Server, MaintenanceMayTakeLong) {
  ASSERT_TRUE(CostDatabase::open(address_));
  ASSERT_EQ(PostgresCluster::run(
                address_,
                "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(2); RETURN NULL; "
                "END $$; CREATE TRIGGER slow AFTER DELETE ON collage.measurement FOR EACH STATEMENT EXECUTE FUNCTION "
                "slow()"),
            "");
  const auto all = [](const CostRow&) { return true; };
  for (const bool is_maintenance : {true, false}) {
    auto database = CostDatabase::open(address_ + "&connect_timeout=1&tcp_user_timeout=700");
    ASSERT_TRUE(database) << database.message();
    ASSERT_TRUE((*database)->write({{"here", "a", measured(100)}}));
    if (is_maintenance) (*database)->expect_long_statements();
    const auto removed = (*database)->remove_if(all);
    EXPECT_EQ(removed.is_ok(), is_maintenance);
    EXPECT_FALSE(is_maintenance && (*database)->is_lost());
  }
}

TEST_F(Server, ATableThatOthersLockIsWaitedFor) {
  auto database = CostDatabase::open(address_ + "&tcp_user_timeout=600");
  ASSERT_TRUE(database) << database.message();
  auto other = postgres::Connection::open(address_);
  ASSERT_TRUE(other) << other.message();
  ASSERT_TRUE((*other)->execute_script("BEGIN; LOCK TABLE collage.measurement"));
  std::thread unlocks([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    EXPECT_TRUE((*other)->execute_script("COMMIT"));
  });
  EXPECT_EQ((*database)->store("here", "a", measured(100)), measured(100));
  unlocks.join();
  EXPECT_EQ((*database)->take_unkept(), "");
  EXPECT_FALSE((*database)->is_lost());
  EXPECT_EQ((*database)->find("here", "a"), measured(100));
}

TEST_F(Server, TablesThatWereDroppedAreMadeAgain) {
  auto database = CostDatabase::open(address_);
  ASSERT_TRUE(database) << database.message();
  EXPECT_EQ((*database)->store("here", "a", measured(100)), measured(100));
  ASSERT_EQ(PostgresCluster::run(address_, "DROP SCHEMA collage CASCADE"), "");
  EXPECT_FALSE((*database)->find("here", "a"));
  EXPECT_EQ((*database)->store("here", "b", measured(200)), measured(200));
  EXPECT_EQ((*database)->take_unkept(), "");
  EXPECT_EQ((*database)->find("here", "b"), measured(200));
  // Another program makes them: its environment gets the number that this one's had.
  ASSERT_EQ(PostgresCluster::run(address_, "DROP SCHEMA collage CASCADE"), "");
  auto other = CostDatabase::open(address_);
  ASSERT_TRUE(other) << other.message();
  EXPECT_EQ((*other)->store("there", "c", measured(300)), measured(300));
  EXPECT_EQ((*database)->store("here", "d", measured(400)), measured(400));
  EXPECT_EQ((*other)->find("here", "d"), measured(400));
  EXPECT_FALSE((*other)->find("there", "d"));
  EXPECT_EQ((*database)->take_unkept(), "");
}

TEST_F(Server, WhoMeasuredGoesWithTheCost) {
  auto database = CostDatabase::open(address_);
  ASSERT_TRUE(database) << database.message();
  ASSERT_TRUE((*database)->write({{"here", "a", measured(1)}, {"here", "b", measured(2)}}));
  // Each was measured twice; of a third one the cost was removed by an older version.
  ASSERT_EQ(PostgresCluster::run(
                address_,
                "INSERT INTO collage.measured_by(environment, candidate_digest, worker, host, attempt, seconds) "
                "SELECT environment, collage.text_digest(candidate), candidate, 'host', n, 1 FROM collage.measurement, "
                "generate_series(1, 2) AS n "
                "UNION ALL SELECT 1, collage.text_digest('c'), 'c', 'host', 1, 1"),
            "");
  const auto removed = (*database)->remove_if([](const CostRow& row) { return row.candidate == "a"; });
  ASSERT_TRUE(removed) << removed.message();
  EXPECT_EQ(*removed, 1u);
  auto server = postgres::Connection::open(address_);
  ASSERT_TRUE(server) << server.message();
  const auto left = (*server)->execute("SELECT DISTINCT worker, count(*) FROM collage.measured_by GROUP BY worker");
  ASSERT_TRUE(left) << left.message();
  ASSERT_EQ((*left)->size(), 1u);
  EXPECT_EQ((*left)->text(0, 0), "b");
  EXPECT_EQ((*left)->number(0, 1), 2);
}

TEST(CostDatabaseNames, WhatLooksLikeAnAddressIsNoFile) {
  for (const char* name : {"POSTGRESQL://ann:secret@127.0.0.1/costs", "host=127.0.0.1 user=ann password=secret"}) {
    const auto database = CostDatabase::open(name);
    ASSERT_FALSE(database);
    EXPECT_EQ(database.message(), "an address of a server begins with `postgresql://`");
    EXPECT_EQ(shown_database(name).find("secret"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(name));
  }
}

TEST(Address, ShowsNoPassword) {
  using postgres::Connection;
  EXPECT_EQ(Connection::shown("postgresql://ann:secret@host:5433/costs"), "postgresql://ann@host:5433/costs");
  EXPECT_EQ(Connection::shown("postgres://host/costs?password=secret&port=1"), "postgres://host/costs?port=1");
  EXPECT_EQ(Connection::shown("postgresql:///costs?host=/tmp/x&sslpassword=a&user=ann"),
            "postgresql:///costs?host=/tmp/x&user=ann");
  EXPECT_EQ(Connection::shown("postgresql://ann:se/cr@et@host/costs"), "postgresql://…@host/costs");
  EXPECT_EQ(shown_database("/a/b@c?password=x"), "/a/b@c?password=x") << "a file";
  for (const char* address :
       {"postgresql://ann:se@cret@127.0.0.1:1/costs", "postgresql://ann:sec/ret@127.0.0.1:1/costs",
        "postgresql://ann:50%secret@127.0.0.1:1/costs", "postgresql://ann:secret@127.0.0.1:1/costs",
        "postgresql://127.0.0.1:1/costs?password=%secret"}) {
    auto database = CostDatabase::open(address);
    ASSERT_FALSE(database);
    EXPECT_EQ(database.message().find("secret"), std::string::npos) << database.message();
    EXPECT_EQ(database.message().find("cret"), std::string::npos) << database.message();
  }
}

}  // namespace
}  // namespace collage::measure
