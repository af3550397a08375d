// SPDX-License-Identifier: Apache-2.0
// The database of measured costs, as a file and on a server: what it keeps, for whom, and what it leaves alone.
#include "compiler/measure/cost_database.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "compiler/measure/cost_migrations.h"
#include "compiler/measure/fallback_costs.h"
#include "tests/unit/compiler/measure/postgres_cluster.h"

namespace collage::measure {
namespace {

namespace fs = std::filesystem;

class DatabaseFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    path_ = (folder_ / "deep" / "costs.sqlite").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& bytes) {
    fs::create_directories(fs::path(path_).parent_path());
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  void execute(const char* statements) {
    fs::create_directories(fs::path(path_).parent_path());
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, statements, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    sqlite3_close(database);
  }
  std::string refusal() {
    auto database = CostDatabase::open(path_);
    return database ? "" : database.message();
  }

  fs::path folder_;
  std::string path_;
};

/// What both engines do: the parameter is one of them.
class Database : public DatabaseFile, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    DatabaseFile::SetUp();
    if (!is_server()) return;
    PostgresCluster& cluster = PostgresCluster::instance();
    if (!cluster.why_absent().empty()) GTEST_SKIP() << cluster.why_absent();
    if (!cluster.is_running()) cluster.start();
    cluster.make_database("costs");
    path_ = cluster.address("costs");
  }
  bool is_server() const { return std::string_view(GetParam()) == "postgres"; }

  /// Runs statements of one of the engines.
  void execute_either(const char* sqlite, const std::string& postgres) {
    if (is_server()) {
      EXPECT_EQ(PostgresCluster::run(path_, postgres), "");
    } else {
      execute(sqlite);
    }
  }
  /// Runs statements that both know.
  void execute_both(const char* statements) { execute_either(statements, statements); }
};

INSTANTIATE_TEST_SUITE_P(Engines, Database, ::testing::Values("sqlite", "postgres"),
                         [](const auto& engine) { return std::string(engine.param); });

Measurement measured(int64_t ps) {
  Measurement measurement;
  measurement.cost = Duration::picoseconds(ps);
  measurement.spread = Duration::picoseconds(7);
  measurement.runs = 5;
  return measurement;
}

TEST_P(Database, KeepsByEnvironmentAndText) {
  {
    auto database = CostDatabase::open(path_);
    ASSERT_TRUE(database) << database.message();
    EXPECT_FALSE((*database)->find("here", "a"));
    EXPECT_EQ((*database)->store("here", "a", measured(100)), measured(100));
  }
  auto database = CostDatabase::open(path_);
  ASSERT_TRUE(database) << database.message();
  EXPECT_EQ((*database)->find("here", "a"), measured(100));
  EXPECT_FALSE((*database)->find("there", "a"));
  EXPECT_FALSE((*database)->find("here", "b"));
}

TEST_P(Database, TheFirstOneStoredCounts) {
  auto one = CostDatabase::open(path_), two = CostDatabase::open(path_);
  ASSERT_TRUE(one && two);
  EXPECT_EQ((*one)->store("here", "a", measured(100)), measured(100));
  EXPECT_EQ((*two)->store("here", "a", measured(200)), measured(100));
}

TEST_P(Database, FailuresAreKeptAndTimeoutsReplaced) {
  auto database = CostDatabase::open(path_);
  ASSERT_TRUE(database) << database.message();
  Measurement late = failed_measurement("it took more than 1 s");
  late.timeout = Duration::seconds(1);
  EXPECT_EQ((*database)->store("here", "a", late), late);
  EXPECT_EQ((*database)->store("here", "a", measured(100)), measured(100));
  EXPECT_EQ((*database)->store("here", "b", failed_measurement("it broke")).failure, "it broke");
  EXPECT_EQ((*database)->store("here", "b", measured(100)).failure, "it broke");
}

TEST_F(DatabaseFile, DamagedFilesAreRefusedAndLeftAlone) {
  std::string bytes =
      "This is certainly no database, but long enough to have a header of a hundred bytes, which "
      "is what SQLite reads before anything else.";
  write(bytes);
  EXPECT_EQ(refusal(), "file is not a database");
  EXPECT_EQ(fs::file_size(path_), bytes.size());
}

TEST_F(DatabaseFile, DamageFurtherInsideIsFound) {
  {
    auto database = CostDatabase::open(path_);
    ASSERT_TRUE(database) << database.message();
    for (int i = 0; i < 200; ++i)
      (*database)->store("here", std::string(200, 'x') + std::to_string(i), measured(i + 1));
  }
  ASSERT_GT(fs::file_size(path_), 40'000u);
  std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(20'000);
  file << std::string(12'000, '\x7f');
  file.close();
  EXPECT_NE(refusal(), "");
}

TEST_F(DatabaseFile, ForeignFilesAndOtherVersionsAreRefused) {
  execute("CREATE TABLE birds(name TEXT); PRAGMA application_id = 12345");
  EXPECT_EQ(refusal(), "it belongs to another program");
  fs::remove_all(folder_);
  ASSERT_TRUE(CostDatabase::open(path_));
  execute("PRAGMA user_version = 99");
  EXPECT_EQ(refusal(), "it has version 99, this program needs 2");
}

TEST_P(Database, WhatIsDisturbedMakesWayForBetter) {
  auto database = CostDatabase::open(path_);
  ASSERT_TRUE(database) << database.message();
  Measurement busy = measured(500), less_busy = measured(400), busier = measured(450);
  busy.disturbance = less_busy.disturbance = busier.disturbance = "other programs used 1.0 of 2 processors";
  EXPECT_EQ((*database)->store("here", "a", busy), busy);
  EXPECT_EQ((*database)->store("here", "a", less_busy), less_busy);
  EXPECT_EQ((*database)->store("here", "a", busier), less_busy);
  EXPECT_EQ((*database)->store("here", "a", measured(410)), measured(410)) << "undisturbed, though more";
  EXPECT_EQ((*database)->store("here", "a", less_busy), measured(410));
}

TEST_F(DatabaseFile, ImpossibleRowsCountAsAbsent) {
  ASSERT_TRUE(CostDatabase::open(path_));
  execute(R"(
    INSERT INTO environment VALUES(1, 'here');
    INSERT INTO measurement VALUES(1, 'negative', -5, 1, 5, '', 0, 0, '');
    INSERT INTO measurement VALUES(1, 'text', 'abc', 1, 5, '', 0, 0, '');
    INSERT INTO measurement VALUES(1, 'real', 1.5, 1, 5, '', 0, 0, '');
    INSERT INTO measurement VALUES(1, 'zero', 0, 1, 5, '', 0, 0, '');
    INSERT INTO measurement VALUES(1, 'vast', 9000000000000000000, 1, 5, '', 0, 0, '');
    INSERT INTO measurement VALUES(1, 'spread', 100, -1, 5, '', 0, 0, '');
    INSERT INTO measurement VALUES(1, 'runs', 100, 1, -5, '', 0, 0, '');
    INSERT INTO measurement VALUES(1, 'nothing', 0, 0, 0, '', 0, 0, '');
    INSERT INTO measurement VALUES(1, 'blob', x'0102', 0, 0, '', 0, 0, '');
    INSERT INTO measurement VALUES(1, 'bytes', 0, 0, 0, CAST(x'6c9891' AS TEXT), 0, 0, '');)");
  const std::pair<const char*, const char*> kRows[] = {
      {"negative", "impossible cost -5ps"}, {"text", "the cost `abc` is no whole number"},
      {"real", "is no whole number"},       {"zero", "a cost of 0"},
      {"vast", "impossible cost"},          {"spread", "impossible spread"},
      {"runs", "negative number of runs"},  {"nothing", "neither runs nor a failure"},
      {"blob", "is no whole number"},       {"bytes", "the failure is not UTF-8"}};
  auto database = CostDatabase::open(path_);
  ASSERT_TRUE(database) << database.message();
  for (const auto& [candidate, expected] : kRows) {
    std::string problem;
    EXPECT_FALSE((*database)->find("here", candidate, &problem)) << candidate;
    EXPECT_NE(problem.find(expected), std::string::npos) << candidate << ": " << problem;
    EXPECT_EQ((*database)->store("here", candidate, measured(100)), measured(100)) << "the next one replaces it";
  }
}

/// Exported and imported they would be other rows.
TEST_F(DatabaseFile, RowsWhoseKeysAreNotUtf8DoNotCount) {
  ASSERT_TRUE(CostDatabase::open(path_));
  execute(R"(
    INSERT INTO environment VALUES(1, 'here');
    INSERT INTO environment VALUES(2, CAST(x'6c9891' AS TEXT));
    INSERT INTO measurement VALUES(1, 'a', 100, 7, 5, '', 0, 0, '');
    INSERT INTO measurement VALUES(1, CAST(x'eda080' AS TEXT), 100, 7, 5, '', 0, 0, '');
    INSERT INTO measurement VALUES(2, 'a', 100, 7, 5, '', 0, 0, '');)");
  auto database = CostDatabase::open(path_);
  ASSERT_TRUE(database) << database.message();
  auto rows = (*database)->rows();
  ASSERT_TRUE(rows) << rows.message();
  std::string problems;
  for (const CostRow& row : *rows) problems += row.problem + "|";
  EXPECT_EQ(problems, "|the candidate is not UTF-8|the environment is not UTF-8|");
  auto removed = (*database)->remove_if([](const CostRow& row) { return !row.problem.empty(); });
  ASSERT_TRUE(removed) << removed.message();
  EXPECT_EQ(*removed, 2u);
}

TEST_P(Database, VersionOneGetsWhatItLacks) {
  execute_either(R"(
    CREATE TABLE environment(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
    CREATE TABLE measurement(
      environment INTEGER NOT NULL REFERENCES environment(id), candidate TEXT NOT NULL,
      cost_ps INTEGER NOT NULL, spread_ps INTEGER NOT NULL, runs INTEGER NOT NULL,
      failure TEXT NOT NULL, timeout_ps INTEGER NOT NULL,
      PRIMARY KEY(environment, candidate)) WITHOUT ROWID;
    INSERT INTO environment VALUES(1, 'here');
    INSERT INTO measurement VALUES(1, 'a', 100, 7, 5, '', 0);
    PRAGMA application_id = 1131375719; PRAGMA user_version = 1;)",
                 R"(
    CREATE SCHEMA collage;
    CREATE TABLE collage.version(version bigint PRIMARY KEY, since timestamptz NOT NULL DEFAULT now());
    INSERT INTO collage.version VALUES(1);
    CREATE FUNCTION collage.text_digest(text) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
      AS $$ SELECT sha256(convert_to($1, 'UTF8')) $$;
    CREATE TABLE collage.environment(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, text text NOT NULL);
    CREATE UNIQUE INDEX environment_key ON collage.environment(collage.text_digest(text));
    CREATE TABLE collage.measurement(
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      environment bigint NOT NULL REFERENCES collage.environment(id), candidate text NOT NULL,
      cost_ps bigint NOT NULL, spread_ps bigint NOT NULL, runs bigint NOT NULL,
      failure text NOT NULL, timeout_ps bigint NOT NULL);
    CREATE UNIQUE INDEX measurement_key ON collage.measurement(environment, collage.text_digest(candidate));
    INSERT INTO collage.environment(text) VALUES('here');
    INSERT INTO collage.measurement(environment, candidate, cost_ps, spread_ps, runs, failure, timeout_ps)
      VALUES(1, 'a', 100, 7, 5, '', 0);)");
  {
    auto reader = CostDatabase::open_to_read(path_);
    ASSERT_TRUE(reader) << reader.message();
    auto rows = (*reader)->rows();
    ASSERT_TRUE(rows) << rows.message();
    ASSERT_EQ(rows->size(), 1u);
    EXPECT_EQ((*rows)[0].measurement, measured(100));
  }
  auto database = CostDatabase::open(path_);
  ASSERT_TRUE(database) << database.message();
  EXPECT_EQ((*database)->find("here", "a"), measured(100));
  (*database)->store_reference("machine", Duration::picoseconds(90), 1000, 0);
  (*database)->store_reference("machine", Duration::picoseconds(95), 2000, 0);
  EXPECT_EQ((*database)->reference("machine", 0), Duration::picoseconds(90));
  EXPECT_FALSE((*database)->reference("machine", 1500)) << "it is too old";
  (*database)->store_reference("machine", Duration::picoseconds(95), 2000, 1500);
  EXPECT_EQ((*database)->reference("machine", 1500), Duration::picoseconds(95));
}

TEST_P(Database, RowsAreWrittenAndRemovedTogether) {
  auto one = CostDatabase::open(path_), two = CostDatabase::open(path_);
  ASSERT_TRUE(one && two);
  (*one)->store("here", "a", measured(100));
  auto written = (*two)->write({{"here", "a", measured(200)}, {"there", "a", measured(300)}});
  ASSERT_TRUE(written) << written.message();
  EXPECT_EQ(written->added, 1u);
  EXPECT_EQ(written->known, 1u);
  auto rows = (*one)->rows();
  ASSERT_TRUE(rows) << rows.message();
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_NE((*rows)[0].id(), (*rows)[1].id());
  auto removed = (*two)->remove_if([&](const CostRow& row) { return row.id() == (*rows)[0].id(); });
  ASSERT_TRUE(removed) << removed.message();
  EXPECT_EQ(*removed, 1u);
  // The first one knew the environment by its number.
  EXPECT_EQ((*one)->store("here", "b", measured(400)), measured(400));
  EXPECT_EQ((*two)->find("here", "b"), measured(400));
}

TEST_P(Database, OtherVersionsAreRefused) {
  ASSERT_TRUE(CostDatabase::open(path_));
  execute_either("PRAGMA user_version = 99", "INSERT INTO collage.version VALUES(99)");
  const int64_t newest = newest_version(is_server() ? &Migration::postgres : &Migration::sqlite);
  const std::string expected = "it has version 99, this program needs " + std::to_string(newest);
  EXPECT_EQ(refusal(), expected);
  auto reader = CostDatabase::open_to_read(path_);
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.message(), expected);
}

TEST_P(Database, WhatIsEmptyIsNotRead) {
  if (!is_server()) execute("VACUUM");
  auto reader = CostDatabase::open_to_read(path_);
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.message(), "it is empty");
}

TEST_P(Database, ImpossibleNumbersCountAsAbsent) {
  ASSERT_TRUE(CostDatabase::open(path_));
  execute_both("INSERT INTO environment(text) VALUES('here')");
  const std::pair<const char*, const char*> kRows[] = {
      {"'negative', -5, 1, 5, '', 0, 0, ''", "impossible cost -5ps"},
      {"'zero', 0, 1, 5, '', 0, 0, ''", "a cost of 0"},
      {"'vast', 9000000000000000000, 1, 5, '', 0, 0, ''", "impossible cost"},
      {"'spread', 100, -1, 5, '', 0, 0, ''", "impossible spread"},
      {"'runs', 100, 1, -5, '', 0, 0, ''", "negative number of runs"},
      {"'date', 100, 1, 5, '', 0, 999999999999999, ''", "impossible date"},
      {"'nothing', 0, 0, 0, '', 0, 0, ''", "neither runs nor a failure"}};
  for (const auto& [values, expected] : kRows) {
    const std::string statement =
        "INSERT INTO measurement(environment, candidate, cost_ps, spread_ps, runs, failure, timeout_ps, date, "
        "disturbance) SELECT id, " +
        std::string(values) + " FROM environment";
    execute_both(statement.c_str());
  }
  auto database = CostDatabase::open(path_);
  ASSERT_TRUE(database) << database.message();
  for (const auto& [values, expected] : kRows) {
    const std::string candidate(values + 1, std::string_view(values).find('\'', 1) - 1);
    std::string problem;
    EXPECT_FALSE((*database)->find("here", candidate, &problem)) << candidate;
    EXPECT_NE(problem.find(expected), std::string::npos) << candidate << ": " << problem;
    EXPECT_EQ((*database)->store("here", candidate, measured(100)), measured(100)) << "the next one replaces it";
  }
}

/// Candidates have 100 kB and more, and the last byte counts.
TEST_P(Database, LongTextsAreKeptApart) {
  auto database = CostDatabase::open(path_);
  ASSERT_TRUE(database) << database.message();
  const std::string text = "it's a \\ \"text\" – of\nmany\tparts\x01 " + std::string(200'000, 'x');
  const std::string environment = "here " + std::string(20'000, 'y');
  EXPECT_EQ((*database)->store(environment, text + "a", measured(100)), measured(100));
  EXPECT_EQ((*database)->store(environment, text + "b", measured(200)), measured(200));
  EXPECT_EQ((*database)->store(environment + "z", text + "a", measured(300)), measured(300));
  EXPECT_EQ((*database)->find(environment, text + "a"), measured(100));
  EXPECT_EQ((*database)->find(environment, text + "b"), measured(200));
  EXPECT_FALSE((*database)->find(environment, text));
  auto rows = (*database)->rows();
  ASSERT_TRUE(rows) << rows.message();
  ASSERT_EQ(rows->size(), 3u);
  EXPECT_EQ((*rows)[1].candidate, text + "b");
  EXPECT_EQ((*rows)[2].environment, environment + "z");
}

/// Bytes decide, whatever the language of the server.
TEST_P(Database, RowsAreInTheOrderOfTheirBytes) {
  auto database = CostDatabase::open(path_);
  ASSERT_TRUE(database) << database.message();
  std::vector<CostRow> rows;
  for (const char* candidate : {"b", "B", "ä", "a", "_", "A b", "Ab"}) rows.push_back({"here", candidate, measured(1)});
  ASSERT_TRUE((*database)->write(rows));
  auto read = (*database)->rows();
  ASSERT_TRUE(read) << read.message();
  std::string order;
  for (const CostRow& row : *read) order += row.candidate + "|";
  EXPECT_EQ(order, "A b|Ab|B|_|a|b|ä|");
}

TEST_P(Database, AllFieldsAreKept) {
  auto database = CostDatabase::open(path_);
  ASSERT_TRUE(database) << database.message();
  Measurement full = measured(123'456'789'012);
  full.date = 1'700'000'000;
  full.disturbance = "other programs used 1.0 of 2 processors";
  Measurement failed = failed_measurement("it took more than 1 s");
  failed.timeout = kMostTimeout;
  failed.date = kLastDate;
  EXPECT_EQ((*database)->store("here", "a", full), full);
  EXPECT_EQ((*database)->store("here", "b", failed), failed);
}

/// More rows than go to a server at once, some of them with one key, and some that are there.
TEST_P(Database, ManyRowsAreWrittenAtOnce) {
  auto database = CostDatabase::open(path_);
  ASSERT_TRUE(database) << database.message();
  constexpr size_t kRows = 2500;
  std::vector<CostRow> rows;
  for (size_t i = 0; i < kRows; ++i)
    rows.push_back({"here " + std::to_string(i % 3), "candidate " + std::to_string(i), measured(100)});
  rows.push_back({"here 0", "candidate 0", measured(200)});
  Measurement late = failed_measurement("late");
  late.timeout = Duration::seconds(1);
  rows.push_back({"here 0", "late", late});
  rows.push_back({"here 0", "late", measured(300)});
  auto written = (*database)->write(rows);
  ASSERT_TRUE(written) << written.message();
  EXPECT_EQ(written->added, kRows + 1);
  EXPECT_EQ(written->known, 1u);
  EXPECT_EQ(written->replaced, 1u);
  EXPECT_EQ((*database)->find("here 0", "candidate 0"), measured(100));
  EXPECT_EQ((*database)->find("here 0", "late"), measured(300));
  written = (*database)->write(rows);
  ASSERT_TRUE(written) << written.message();
  EXPECT_EQ(written->known, rows.size());
}

/// Threads with connections of their own write the same keys in different orders while one removes: each key is added once for each
/// time that it was absent, and what is known is the same for all of them.
TEST_P(Database, WritersAtOnceAgree) {
  ASSERT_TRUE(CostDatabase::open(path_));
  constexpr int kThreads = 6, kKeys = 40;
  std::vector<size_t> added(kThreads);
  std::vector<std::string> failures(kThreads);
  std::vector<std::vector<Measurement>> answers(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      auto database = CostDatabase::open(path_);
      if (!database) {
        failures[t] = database.message();
        return;
      }
      std::vector<CostRow> rows;
      for (int k = 0; k < kKeys; ++k)
        rows.push_back({"here", std::to_string((k * (t % 2 == 0 ? 1 : kKeys - 1) + t) % kKeys), measured(t + 1)});
      auto written = (*database)->write(rows);
      if (!written) failures[t] = written.message();
      added[t] = written ? written->added : 0;
      for (int k = 0; k < kKeys; ++k) answers[t].push_back((*database)->store("here", std::to_string(k), measured(99)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  size_t all = 0;
  for (int t = 0; t < kThreads; ++t) {
    EXPECT_EQ(failures[t], "");
    EXPECT_EQ(answers[t], answers[0]);
    all += added[t];
  }
  EXPECT_EQ(all, static_cast<size_t>(kKeys));
}

TEST_P(Database, NothingIsLostBetweenQuestionAndRemoval) {
  auto database = CostDatabase::open(path_);
  ASSERT_TRUE(database) << database.message();
  Measurement busy = measured(500);
  busy.disturbance = "other programs";
  (*database)->store("here", "a", busy);
  std::string failure;
  Measurement answer;
  std::thread other([&] {
    auto second = CostDatabase::open(path_);
    if (!second) {
      failure = second.message();
      return;
    }
    answer = (*second)->store("here", "a", measured(400));
  });
  auto removed = (*database)->remove_if([](const CostRow& row) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return !row.measurement.disturbance.empty();
  });
  other.join();
  EXPECT_EQ(failure, "");
  ASSERT_TRUE(removed) << removed.message();
  EXPECT_EQ(answer, measured(400));
  EXPECT_EQ((*database)->find("here", "a"), measured(400)) << "it is not what was asked about";
}

TEST_P(Database, WritingIsAllOrNothing) {
  auto database = CostDatabase::open(path_);
  ASSERT_TRUE(database) << database.message();
  execute_either(R"(CREATE TRIGGER no BEFORE INSERT ON measurement WHEN NEW.candidate = 'no'
                    BEGIN SELECT RAISE(ABORT, 'not this one'); END)",
                 "ALTER TABLE collage.measurement ADD CONSTRAINT no CHECK (candidate <> 'no')");
  auto written = (*database)->write({{"here", "a", measured(1)}, {"there", "no", measured(1)}});
  ASSERT_FALSE(written);
  EXPECT_EQ((*database)->store("there", "no", measured(2)), measured(2)) << "this compilation still has it";
  EXPECT_NE((*database)->take_unkept(), "");
  EXPECT_EQ((*database)->take_unkept(), "");
  auto rows = (*database)->rows();
  ASSERT_TRUE(rows) << rows.message();
  EXPECT_TRUE(rows->empty());
  EXPECT_EQ((*database)->store("there", "a", measured(3)), measured(3)) << "no number of what was rolled back is used";
  EXPECT_EQ((*database)->find("there", "a"), measured(3));
}

TEST_P(Database, WhatIsOpenedToReadIsNotChanged) {
  {
    auto database = CostDatabase::open(path_);
    ASSERT_TRUE(database) << database.message();
    (*database)->store("here", "a", measured(100));
  }
  auto reader = CostDatabase::open_to_read(path_);
  ASSERT_TRUE(reader) << reader.message();
  EXPECT_EQ((*reader)->find("here", "a"), measured(100));
  EXPECT_FALSE((*reader)->write({{"here", "b", measured(100)}}));
}

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

TEST(CostDatabaseNames, WhatLooksLikeAnAddressIsNoFile) {
  for (const char* name : {"POSTGRESQL://ann:secret@127.0.0.1/costs", "host=127.0.0.1 user=ann password=secret"}) {
    const auto database = CostDatabase::open(name);
    ASSERT_FALSE(database);
    EXPECT_EQ(database.message(), "an address of a server begins with `postgresql://`");
    EXPECT_EQ(shown_database(name).find("secret"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(name));
  }
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

TEST_F(DatabaseFile, AnEmptyPathIsAnError) {
  EXPECT_FALSE(CostDatabase::open(""));
  EXPECT_FALSE(CostDatabase::open_to_read(""));
}

TEST_F(DatabaseFile, AnImpossiblePathIsAnError) {
  write("a file, no folder");
  path_ += "/costs.sqlite";
  EXPECT_NE(refusal(), "");
}

}  // namespace
}  // namespace collage::measure
