// SPDX-License-Identifier: Apache-2.0
// The database of measured costs, as a file and on a server: what it keeps, for whom, and what it leaves alone.
#include "compiler/measure/cost_database.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "compiler/measure/cost_tables.h"
#include "compiler/measure/sqlite_limits.h"
#include "tests/unit/compiler/measure/measured_cost.h"
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
  EXPECT_EQ(refusal(), "it has version 99, this program needs " + std::to_string(kTablesVersion));
}

TEST_P(Database, WhatIsDisturbedMakesWayForBetter) {
  auto database = CostDatabase::open(path_);
  ASSERT_TRUE(database) << database.message();
  Measurement busy = measured(500), less_busy = measured(400), busier = measured(450);
  busy.disturbance = less_busy.disturbance = busier.disturbance = "other programs used 1.0 of 2 processors";
  busy.date = 1000;
  less_busy.date = 2000;
  busier.date = 3000;
  EXPECT_EQ((*database)->store("here", "a", busy), busy);
  EXPECT_EQ((*database)->store("here", "a", busy), busy) << "the same again is no other measurement";
  less_busy.repeated = true;
  EXPECT_EQ((*database)->store("here", "a", less_busy), less_busy);
  Measurement kept = less_busy;
  kept.date = busier.date;
  EXPECT_EQ((*database)->store("here", "a", busier), kept);
  EXPECT_EQ((*database)->store("here", "a", measured(410)), measured(410)) << "undisturbed, though more";
  EXPECT_EQ((*database)->store("here", "a", less_busy), measured(410));
}

TEST_P(Database, WhatIsDisturbedTwiceIsMarked) {
  auto database = CostDatabase::open(path_);
  ASSERT_TRUE(database) << database.message();
  Measurement first = measured(500), second = measured(600);
  first.disturbance = second.disturbance = "other programs used 1.0 of 2 processors";
  first.date = 1000;
  second.date = 2000;
  EXPECT_FALSE((*database)->store("here", "a", first).repeated);
  const Measurement kept = (*database)->store("here", "a", second);
  EXPECT_TRUE(kept.repeated);
  EXPECT_EQ(kept.cost, first.cost);
  EXPECT_EQ(kept.date, second.date);
  auto rows = (*database)->rows();
  ASSERT_TRUE(rows) << rows.message();
  EXPECT_EQ(rows->at(0).measurement, kept);
  EXPECT_EQ((*database)->write(*rows)->known, 1u);
}

TEST_F(DatabaseFile, ImpossibleRowsCountAsAbsent) {
  ASSERT_TRUE(CostDatabase::open(path_));
  execute(R"(
    INSERT INTO environment VALUES(1, 'here');
    INSERT INTO measurement VALUES(1, 'negative', -5, 1, 5, '', 0, 0, '', 0);
    INSERT INTO measurement VALUES(1, 'text', 'abc', 1, 5, '', 0, 0, '', 0);
    INSERT INTO measurement VALUES(1, 'real', 1.5, 1, 5, '', 0, 0, '', 0);
    INSERT INTO measurement VALUES(1, 'zero', 0, 1, 5, '', 0, 0, '', 0);
    INSERT INTO measurement VALUES(1, 'vast', 9000000000000000000, 1, 5, '', 0, 0, '', 0);
    INSERT INTO measurement VALUES(1, 'spread', 100, -1, 5, '', 0, 0, '', 0);
    INSERT INTO measurement VALUES(1, 'runs', 100, 1, -5, '', 0, 0, '', 0);
    INSERT INTO measurement VALUES(1, 'nothing', 0, 0, 0, '', 0, 0, '', 0);
    INSERT INTO measurement VALUES(1, 'blob', x'0102', 0, 0, '', 0, 0, '', 0);
    INSERT INTO measurement VALUES(1, 'bytes', 0, 0, 0, CAST(x'6c9891' AS TEXT), 0, 0, '', 0);)");
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
    INSERT INTO measurement VALUES(1, 'a', 100, 7, 5, '', 0, 0, '', 0);
    INSERT INTO measurement VALUES(1, CAST(x'eda080' AS TEXT), 100, 7, 5, '', 0, 0, '', 0);
    INSERT INTO measurement VALUES(2, 'a', 100, 7, 5, '', 0, 0, '', 0);)");
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

TEST_P(Database, ReferencesGrowOld) {
  auto database = CostDatabase::open(path_);
  ASSERT_TRUE(database) << database.message();
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
  const std::string expected = "it has version 99, this program needs " + std::to_string(kTablesVersion);
  EXPECT_EQ(refusal(), expected);
  auto reader = CostDatabase::open_to_read(path_);
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.message(), expected);
  execute_either("PRAGMA user_version = 1", "DELETE FROM collage.version; INSERT INTO collage.version VALUES(1)");
  EXPECT_EQ(refusal(), "it has version 1, this program needs " + std::to_string(kTablesVersion));
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
  full.repeated = true;
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

/// Threads with connections of their own write the same keys in different orders while one removes: each key is added
/// once for each time that it was absent, and what is known is the same for all of them.
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
  execute_either("SELECT 1", "ALTER TABLE collage.measurement ADD CONSTRAINT no CHECK (candidate <> 'no')");
  const std::string no = is_server() ? "no" : std::string(kMostRowText + 1, 'n');  // longer than a file has room for
  auto written = (*database)->write({{"here", "a", measured(1)}, {"there", no, measured(1)}});
  ASSERT_FALSE(written);
  EXPECT_EQ((*database)->store("there", no, measured(2)), measured(2)) << "this compilation still has it";
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
