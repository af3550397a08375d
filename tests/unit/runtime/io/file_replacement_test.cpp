// SPDX-License-Identifier: Apache-2.0
#include "runtime/io/file_replacement.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "runtime/io/file_bytes.h"

namespace collage::runtime {
namespace {

namespace fs = std::filesystem;

class FilesOfTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("collage_files_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  Status write(const std::string& name, std::string_view text) const { return write_file(path(name), {text}); }
  std::string read(const std::string& name) const {
    Result<std::string> bytes = read_file(path(name));
    return bytes ? *bytes : bytes.message();
  }
  size_t files() const { return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {})); }

  fs::path folder_;
};

TEST_F(FilesOfTest, NothingIsThereBeforeItIsCommitted) {
  ASSERT_TRUE(write("a", "old"));
  Result<FileReplacement> file = FileReplacement::write(path("a"), {std::string_view("ne"), std::string_view("w")});
  ASSERT_TRUE(file) << file.message();
  EXPECT_EQ(read("a"), "old");
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(read("a"), "new");
  EXPECT_EQ(files(), 1U);
}

TEST_F(FilesOfTest, AFileThatIsNotCommittedLeavesNothing) {
  { ASSERT_TRUE(FileReplacement::write(path("a"), {std::string_view("text")})); }
  EXPECT_EQ(files(), 0U);
}

TEST_F(FilesOfTest, WhatCannotBeWrittenIsKnownBefore) {
  ASSERT_TRUE(write("a", "old"));
  EXPECT_TRUE(FileReplacement::check(path("a")));
  EXPECT_TRUE(FileReplacement::check(path("new")));
  EXPECT_TRUE(FileReplacement::check("/dev/null"));
  EXPECT_TRUE(FileReplacement::check("/dev/stdout"));
  EXPECT_EQ(FileReplacement::check("").message(), "the name is empty");
  EXPECT_EQ(FileReplacement::check(folder_.string()).message(), "is a directory");
  EXPECT_FALSE(FileReplacement::check(path("none/a")));
  fs::create_symlink("here", folder_ / "there");
  fs::create_symlink("there", folder_ / "here");
  EXPECT_EQ(FileReplacement::check(path("here")).message(), "its links run in a circle");
  EXPECT_EQ(read("a"), "old");
  EXPECT_EQ(files(), 3U);
}

TEST_F(FilesOfTest, ALinkStaysAndWhatItLeadsToIsReplaced) {
  fs::create_directory(folder_ / "real");
  ASSERT_TRUE(write("real/a", "old"));
  fs::create_symlink("real/a", folder_ / "link");
  fs::create_symlink("real/none", folder_ / "dangling");
  ASSERT_TRUE(write("link", "new"));
  ASSERT_TRUE(write("dangling", "made"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "dangling"));
  EXPECT_EQ(read("real/a"), "new");
  EXPECT_EQ(read("real/none"), "made");
}

TEST_F(FilesOfTest, ModesStay) {
  ASSERT_TRUE(write("a", "old"));
  ASSERT_EQ(::chmod(path("a").c_str(), 0640), 0);
  ASSERT_TRUE(write("a", "new"));
  struct stat about {};
  ASSERT_EQ(::stat(path("a").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777U, 0640U);
}

TEST_F(FilesOfTest, MemoryOfTheSystemHoldsFilesLikeOthers) {
  if (!fs::is_directory("/dev/shm")) GTEST_SKIP() << "no /dev/shm";
  const std::string shared = "/dev/shm/collage_files_" + std::to_string(::getpid());
  for (const std::string text : {"a long text", "short"}) {
    EXPECT_TRUE(write_file(shared, {text}));
    Result<std::string> bytes = read_file(shared);
    EXPECT_EQ(bytes ? *bytes : bytes.message(), text);
  }
  fs::remove(shared);
}

TEST_F(FilesOfTest, WhatCannotBeReplacedIsWrittenToOrRefused) {
  EXPECT_TRUE(write_file("/dev/null", {std::string_view("text")}));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(write("pipe", "text").message(), "cannot write '" + path("pipe") + "': nothing reads this pipe");
  EXPECT_FALSE(write("", "text"));
  EXPECT_EQ(write_file("", {std::string_view("text")}).message(), "cannot write '': the name is empty");
  EXPECT_EQ(write(".", "text").message(), "cannot write '" + path(".") + "': is a directory");
}

TEST_F(FilesOfTest, WritersOfOneFileDoNotMeet) {
  std::vector<std::thread> writers;
  for (int i = 0; i < 8; ++i) {
    writers.emplace_back([this, i] {
      const std::string text(10'000, static_cast<char>('a' + i));
      for (int n = 0; n < 20; ++n) EXPECT_TRUE(write("a", text));
    });
  }
  for (std::thread& writer : writers) writer.join();
  const std::string text = read("a");
  EXPECT_EQ(text, std::string(10'000, text.at(0)));
  EXPECT_EQ(files(), 1U);
}

TEST_F(FilesOfTest, PipesDevicesAndFoldersAreNotRead) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(open_to_read(path("pipe")).message(), "is a pipe");
  EXPECT_EQ(open_to_read("/dev/zero").message(), "is a device");
  EXPECT_EQ(open_to_read(folder_.string()).message(), "is a directory");
  EXPECT_EQ(open_to_read(path("none")).message(), "No such file or directory");
  ASSERT_TRUE(write("large", std::string(100, 'x')));
  Result<Descriptor> file = open_to_read(path("large"));
  ASSERT_TRUE(file);
  EXPECT_EQ(read_all(*file, 99).message(), "has 100 bytes, more than 99");
  EXPECT_EQ(beginning_of_file(path("large"), 3), "xxx");
  EXPECT_EQ(beginning_of_file(path("none"), 3), "");
}

}  // namespace
}  // namespace collage::runtime
