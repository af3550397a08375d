// SPDX-License-Identifier: Apache-2.0
// The file of measured costs: what it keeps, for whom, and which files it leaves alone.
#include "compiler/measure/cost_database.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>

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

Measurement measured(int64_t ps) {
  Measurement measurement;
  measurement.cost = Duration::picoseconds(ps);
  measurement.spread = Duration::picoseconds(7);
  measurement.runs = 5;
  return measurement;
}

TEST_F(DatabaseFile, KeepsByEnvironmentAndText) {
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

TEST_F(DatabaseFile, TheFirstOneStoredCounts) {
  auto one = CostDatabase::open(path_), two = CostDatabase::open(path_);
  ASSERT_TRUE(one && two);
  EXPECT_EQ((*one)->store("here", "a", measured(100)), measured(100));
  EXPECT_EQ((*two)->store("here", "a", measured(200)), measured(100));
}

TEST_F(DatabaseFile, FailuresAreKeptAndTimeoutsReplaced) {
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

TEST_F(DatabaseFile, WhatIsDisturbedMakesWayForBetter) {
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

TEST_F(DatabaseFile, VersionOneGetsWhatItLacks) {
  execute(R"(
    CREATE TABLE environment(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
    CREATE TABLE measurement(
      environment INTEGER NOT NULL REFERENCES environment(id), candidate TEXT NOT NULL,
      cost_ps INTEGER NOT NULL, spread_ps INTEGER NOT NULL, runs INTEGER NOT NULL,
      failure TEXT NOT NULL, timeout_ps INTEGER NOT NULL,
      PRIMARY KEY(environment, candidate)) WITHOUT ROWID;
    INSERT INTO environment VALUES(1, 'here');
    INSERT INTO measurement VALUES(1, 'a', 100, 7, 5, '', 0);
    PRAGMA application_id = 1131375719; PRAGMA user_version = 1;)");
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

TEST_F(DatabaseFile, RowsAreWrittenAndRemovedTogether) {
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
