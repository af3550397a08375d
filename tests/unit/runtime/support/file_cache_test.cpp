// SPDX-License-Identifier: Apache-2.0
// The folder of computed bytes: what it keeps, what it does not believe, what it removes, and several processes at
// once.
#include "runtime/support/file_cache.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace collage::support {
namespace {

namespace fs = std::filesystem;

class CacheFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              fmt::format("{}.{}", ::testing::UnitTest::GetInstance()->current_test_info()->name(), ::getpid());
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string folder() const { return (folder_ / "deep").string(); }
  std::string bytes_of(const std::string& key) const {
    std::ifstream file(FileCache(folder()).file_of(key), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void replace(const std::string& key, const std::string& bytes) const {
    std::ofstream(FileCache(folder()).file_of(key), std::ios::binary | std::ios::trunc) << bytes;
  }
  size_t files() const {
    size_t count = 0;
    for (const auto& entry : fs::directory_iterator(folder())) count += entry.is_regular_file() ? 1 : 0;
    return count;
  }

  fs::path folder_;
};

/// Sets a variable while it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    ::setenv(name, value, 1);
  }
  ~Variable() { old_ ? ::setenv(name_, old_->c_str(), 1) : ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST(UserCacheFolder, FollowsAbsolutePathsAlone) {
  const Variable home("HOME", "/home/ann"), cache("XDG_CACHE_HOME", "/var/cache/ann");
  EXPECT_EQ(user_cache_folder(), "/var/cache/ann/collage");
  const Variable relative("XDG_CACHE_HOME", "cache");
  EXPECT_EQ(user_cache_folder(), "/home/ann/.cache/collage");
  const Variable nowhere("HOME", "relative");
  EXPECT_EQ(user_cache_folder(), "");
  const Variable empty("HOME", "");
  EXPECT_EQ(user_cache_folder(), "");
}

TEST_F(CacheFolder, KeepsBytesByTheWholeKey) {
  const std::string value("\0one\nline", 9);
  {
    FileCache cache(folder());
    EXPECT_FALSE(cache.find("key"));
    cache.keep("key", value);
    cache.keep("", "of no key");
    cache.keep("empty", "");
    EXPECT_EQ(cache.find("key"), value);
  }
  FileCache cache(folder());
  EXPECT_EQ(cache.find("key"), value);
  EXPECT_EQ(cache.find(""), "of no key");
  EXPECT_EQ(cache.find("empty"), "");
  EXPECT_FALSE(cache.find("ke"));
  EXPECT_FALSE(cache.find("key2"));
  cache.keep("key", "another");
  EXPECT_EQ(cache.find("key"), "another");
  EXPECT_EQ(files(), 3u);
}

TEST_F(CacheFolder, AFileOfAnotherKeyIsNotBelieved) {
  FileCache cache(folder());
  cache.keep("abc", "of abc");
  fs::copy_file(cache.file_of("abc"), cache.file_of("abd"));
  EXPECT_FALSE(cache.find("abd"));
}

TEST_F(CacheFolder, DamagedEntriesAreMissingAndAreWrittenAgain) {
  FileCache cache(folder());
  cache.keep("key", "a value of some length");
  const std::string good = bytes_of("key");
  const auto expect_missing = [&](const std::string& bytes) {
    replace("key", bytes);
    EXPECT_FALSE(cache.find("key"));
    cache.keep("key", "a value of some length");
    EXPECT_EQ(cache.find("key"), "a value of some length");
  };
  for (size_t size = 0; size < good.size(); ++size) expect_missing(good.substr(0, size));
  for (size_t at = 0; at < good.size(); ++at) {
    std::string altered = good;
    altered[at] = static_cast<char>(altered[at] ^ 0x10);
    expect_missing(altered);
  }
  expect_missing(good + "x");
}

TEST_F(CacheFolder, WhatIsNoFileIsMissing) {
  FileCache cache(folder());
  fs::create_directories(cache.file_of("key"));
  EXPECT_FALSE(cache.find("key"));
  cache.keep("key", "value");
  EXPECT_FALSE(cache.find("key"));
  EXPECT_EQ(files(), 0u);
}

TEST_F(CacheFolder, WorksWithoutAFolder) {
  fs::create_directories(folder_);
  std::ofstream(folder()) << "a file in its place";
  FileCache cache(folder());
  EXPECT_NE(cache.why_unusable(), "");
  cache.keep("key", "value");
  EXPECT_FALSE(cache.find("key"));
}

TEST_F(CacheFolder, WorksInAFolderThatCannotBeWritten) {
  if (::geteuid() == 0) GTEST_SKIP() << "this user may write everywhere";
  FileCache(folder()).keep("old", "value");
  fs::permissions(folder(), fs::perms::owner_read | fs::perms::owner_exec);
  {
    FileCache cache(folder());
    EXPECT_NE(cache.why_unusable(), "");
    cache.keep("key", "value");
    EXPECT_FALSE(cache.find("key"));
    EXPECT_EQ(cache.find("old"), "value");
  }
  fs::permissions(folder(), fs::perms::owner_all);
}

TEST_F(CacheFolder, EntriesThatWereUsedLeastRecentlyGo) {
  const std::string value(1000, 'v');
  const auto key = [](int i) { return fmt::format("key {}", i); };
  {
    FileCache cache(folder());
    for (int i = 0; i < 20; ++i) cache.keep(key(i), value);
    const auto now = fs::file_time_type::clock::now();
    for (int i = 0; i < 20; ++i) fs::last_write_time(cache.file_of(key(i)), now - std::chrono::minutes(60 - i));
    EXPECT_TRUE(cache.find(key(0)));  // used now
  }
  std::ofstream(folder_ / "deep" / "notes.txt") << std::string(50'000, 'n');
  std::ofstream(FileCache(folder()).file_of("x") + ".Abcdef.partial") << "of a writer that is gone";
  fs::last_write_time(FileCache(folder()).file_of("x") + ".Abcdef.partial",
                      fs::file_time_type::clock::now() - std::chrono::hours(2));
  FileCache(folder(), 10'700).keep("new", value);
  const FileCache cache(folder());
  EXPECT_TRUE(cache.find("new"));
  EXPECT_TRUE(cache.find(key(0)));
  EXPECT_TRUE(cache.find(key(19)));
  for (int i = 1; i < 10; ++i) EXPECT_FALSE(cache.find(key(i))) << i;
  EXPECT_TRUE(fs::exists(folder_ / "deep" / "notes.txt"));
  EXPECT_LE(files(), 11u);
  EXPECT_GE(files(), 8u);
  EXPECT_FALSE(fs::exists(cache.file_of("x") + ".Abcdef.partial"));
}

TEST_F(CacheFolder, WhatIsTooLargeAloneIsNotKept) {
  FileCache cache(folder(), 1000);
  cache.keep("key", std::string(1000, 'v'));
  EXPECT_FALSE(cache.find("key"));
}

TEST_F(CacheFolder, ALongRunKeepsItsSize) {
  FileCache cache(folder(), 20'000);
  for (int i = 0; i < 500; ++i) cache.keep(fmt::format("{}", i), std::string(1000, 'v'));
  EXPECT_LT(files(), 100u);
}

// Every process writes, reads and removes all entries all the time: what is found is whole.
TEST_F(CacheFolder, SeveralProcessesAtOnce) {
  const auto value_of = [](int key) {
    return std::string(static_cast<size_t>(1 + key * 997), static_cast<char>('a' + key));
  };
  const auto work = [&](int self) {
    bool is_good = true;
    size_t found = 0;
    for (int round = 0; round < 300; ++round) {
      FileCache cache(folder(), 30'000);  // less than all of them need
      const int key = (round * 7 + self * 3) % 10;
      if (const std::optional<std::string> value = cache.find(fmt::format("key {}", key))) {
        is_good = is_good && *value == value_of(key);
        ++found;
      } else {
        cache.keep(fmt::format("key {}", key), value_of(key));
      }
    }
    return is_good && found > 0;
  };
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    const pid_t process = ::fork();
    ASSERT_GE(process, 0);
    if (process == 0) ::_exit(work(child) ? 0 : 1);
    children.push_back(process);
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  for (const auto& entry : fs::directory_iterator(folder())) EXPECT_EQ(entry.path().extension(), "") << entry.path();
}

}  // namespace
}  // namespace collage::support
