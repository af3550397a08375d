// SPDX-License-Identifier: Apache-2.0
#include "runtime/io/files_read.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "runtime/io/file_bytes.h"
#include "runtime/io/file_replacement.h"

namespace collage::runtime {
namespace {

namespace fs = std::filesystem;

/// A folder with a file that is read, and one that is not.
class FilesRead : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("collage_files_read_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    for (const char* name : {"read", "other"}) ASSERT_TRUE(write_file(path(name), {std::string_view("old")}));
    fs::create_symlink("read", folder_ / "link");
    fs::create_hard_link(folder_ / "read", folder_ / "hard");
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  Status write(const std::string& name) const { return write_file(path(name), {std::string_view("new")}); }

  fs::path folder_;
};

/// Ends this process: with 0 where `holds`.
[[noreturn]] void end_process(bool holds, const std::string& why) {
  std::fputs(why.c_str(), stderr);
  std::_Exit(holds ? 0 : 1);
}

// A process that has begun to note what it reads does not stop: each of these tests begins in one of its own.
TEST_F(FilesRead, AreNotReplacedByAnyName) {
  EXPECT_EXIT(
      {
        note_files_read();
        (void)read_file(path("read"));
        std::string wrong;
        for (const char* name : {"read", "link", "hard", "other"}) {
          if (write(name).is_ok() != (std::string_view(name) == "other")) wrong += name + std::string(" ");
        }
        end_process(wrong.empty(), wrong + write("link").message());
      },
      ::testing::ExitedWithCode(0), "link': this command has read it, as `.*/read`");
  EXPECT_EQ(*read_file(path("read")), "old");
}

TEST_F(FilesRead, AreAskedForAgainBeforeTheName) {
  EXPECT_EXIT(
      {
        note_files_read();
        Result<FileReplacement> file = FileReplacement::write(path("read"), {std::string_view("new")});
        (void)read_file(path("read"));
        end_process(file && !file->commit().is_ok(), "");
      },
      ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(*read_file(path("read")), "old");
}

TEST_F(FilesRead, AFormatterWritesWhatItHasRead) {
  EXPECT_EXIT(
      {
        note_files_read();
        (void)read_file(path("read"));
        auto file = FileReplacement::write(path("link"), {std::string_view("new")}, Replaces::Anything);
        end_process(file && file->commit().is_ok(), "");
      },
      ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(*read_file(path("read")), "new");
}

TEST_F(FilesRead, OfALibraryAreItsUsersAffair) {
  (void)read_file(path("read"));
  EXPECT_TRUE(write("read"));
}

}  // namespace
}  // namespace collage::runtime
