// SPDX-License-Identifier: Apache-2.0
// Files that others made to look like databases of costs: reading one ends, and runs nothing of theirs.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "compiler/measure/cost_database.h"
#include "compiler/measure/sql_statement.h"
#include "compiler/measure/sqlite_limits.h"

namespace collage::measure {
namespace {

namespace fs = std::filesystem;

class ForeignFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    path_ = (folder_ / "deep" / "costs.sqlite").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  void execute(const char* statements) const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, statements, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    sqlite3_close(database);
  }
  std::string refusal() const {
    auto database = CostDatabase::open(path_);
    return database ? "" : database.message();
  }

  fs::path folder_;
  std::string path_;
};

/// Views that never end, columns that are computed, triggers: what no program of ours makes is not read.
TEST_F(ForeignFile, OtherTablesThanOursAreRefused) {
  const std::pair<const char*, const char*> kHostile[] = {
      {"DROP TABLE measurement; CREATE VIEW measurement AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) "
       "SELECT i AS environment FROM n",
       "it has `measurement`, which no database of costs has"},
      {"DROP TABLE measurement; CREATE TABLE measurement(environment INTEGER, candidate TEXT GENERATED ALWAYS AS "
       "(printf('%900000000s', 'x')))",
       "it has `measurement`, which no database of costs has"},
      {"CREATE TRIGGER more AFTER INSERT ON measurement BEGIN DELETE FROM environment; END",
       "it has `more`, which no database of costs has"},
      {"CREATE INDEX slow ON measurement(length(candidate))", "it has `slow`, which no database of costs has"},
      {"DROP TABLE reference", "it lacks a table of a database of costs"},
  };
  for (const auto& [statements, expected] : kHostile) {
    fs::remove_all(folder_);
    ASSERT_TRUE(CostDatabase::open(path_));
    execute(statements);
    EXPECT_EQ(refusal(), expected);
    auto read = CostDatabase::open_to_read(path_);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.message(), expected);
  }
}

/// Rows of a page that many entries lead to: more than the file has bytes for.
TEST_F(ForeignFile, WhatDoesNotEndIsStopped) {
  ASSERT_TRUE(CostDatabase::open(path_));
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
  set_limits(database, path_);
  const char* endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT count(*) FROM n";
  EXPECT_FALSE(SqlStatement(database, endless).step());
  EXPECT_EQ(failure_of(database), "it is damaged: reading it does not end");
  sqlite3_close(database);
}

TEST_F(ForeignFile, RowsLongerThanAnyOfOursAreRefused) {
  ASSERT_TRUE(CostDatabase::open(path_));
  execute(
      "INSERT INTO environment VALUES(1, 'here');"
      "INSERT INTO measurement VALUES(1, printf('%20000000s', 'x'), 100, 7, 5, '', 0, 0, '', 0)");
  auto database = CostDatabase::open_to_read(path_);
  EXPECT_FALSE(database && (*database)->rows());
}

/// SQLite would remove the file that such a journal names.
TEST_F(ForeignFile, AJournalThatNamesAFileIsRefused) {
  ASSERT_TRUE(CostDatabase::open(path_));
  const std::string name = (folder_ / "victim").string();
  std::ofstream(path_ + "-journal", std::ios::binary)
      << std::string(1024, 'x') << name << std::string(8, '\1') << "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
  EXPECT_EQ(refusal(), "its journal names another file to be removed");
  std::ofstream(path_ + "-journal", std::ios::binary) << std::string(1024, 'x');
  EXPECT_EQ(refusal(), "") << "another journal is of no database, or is rolled back";
}

TEST_F(ForeignFile, PipesDevicesAndFoldersAreNotWaitedFor) {
  fs::create_directories(folder_ / "deep");
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(refusal(), "is a pipe");
  EXPECT_EQ(CostDatabase::open_to_read(path_).message(), "is a pipe");
  path_ = "/dev/zero";
  EXPECT_EQ(refusal(), "is a device");
  path_ = folder_.string();
  EXPECT_EQ(refusal(), "is a directory");
  path_ = "/proc/self/status";
  EXPECT_EQ(refusal(), "is a file of the system");
}

}  // namespace
}  // namespace collage::measure
