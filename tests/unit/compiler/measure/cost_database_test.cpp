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
  EXPECT_EQ(refusal(), "it has version 99, this program needs 1");
}

TEST_F(DatabaseFile, AnImpossiblePathIsAnError) {
  write("a file, no folder");
  path_ += "/costs.sqlite";
  EXPECT_NE(refusal(), "");
}

}  // namespace
}  // namespace collage::measure
