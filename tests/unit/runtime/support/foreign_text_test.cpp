// SPDX-License-Identifier: Apache-2.0
// What texts of others can do to messages, and which files they lead to.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runtime/support/diagnostic.h"
#include "runtime/support/file_access.h"
#include "runtime/support/visible.h"

namespace collage::support {
namespace {

namespace fs = std::filesystem;

TEST(Visible, ShowsControlCharacters) {
  EXPECT_EQ(visible("a\nb\x1b[31m\t\x7f\r"), "a\\x0ab\\x1b[31m\\x09\\u007f\\x0d");
  EXPECT_EQ(visible("a\nb\t\x1b", Lines::Keep), "a\nb\t\\x1b");
  EXPECT_EQ(visible("gr\xc3\xbc\xc3\x9f \xc2\xb5s"), "gr\xc3\xbc\xc3\x9f \xc2\xb5s");
  EXPECT_EQ(visible("\xc2\x9b"
                    "2J"),
            "\\u009b2J");
}

TEST(Visible, ShowsWhatTurnsLinesRoundOrTakesNoRoom) {
  EXPECT_EQ(visible("a\u202eb\u2066c\u200bd\ufeff"), "a\\u202eb\\u2066c\\u200bd\\ufeff");
  EXPECT_EQ(visible("\U000e0041"), "\\udb40\\udc41");
  EXPECT_EQ(visible("\u05d0\u0628\u4e2d\U0001d54f\u2028"), "\u05d0\u0628\u4e2d\U0001d54f\\u2028");
  EXPECT_EQ(visible("a\x9b\xff"
                    "2J\xe2\x80",
                    Lines::Keep),
            "a\\x9b\\xff2J\\xe2\\x80");
  EXPECT_EQ(visible(visible("\x1b\u202e")), "\\x1b\\u202e");
  EXPECT_EQ(masked("a\x1b\u202e\xff\n\tb"), "a???\n\tb");
}

/// Columns are those of the line as it is shown.
TEST(Visible, AnExcerptKeepsItsCarets) {
  SourceManager sources;
  Diagnostics diags(sources);
  const FileId file = sources.add("a.rules",
                                  "x \xc2\x9b"
                                  "2J \u202eword \u00fc here\n");
  const auto at = static_cast<uint32_t>(sources.text(file).find("here"));
  diags.error(Code::BadModel, {file, at, at + 4}, "wrong");
  EXPECT_EQ(diags.render(), "a.rules:1:" + std::to_string(at + 1) + ": error: wrong [" + code_text(Code::BadModel) +
                                "]\n    1 | x ?2J ?word \u00fc here\n      | " + std::string(14, ' ') + "^~~~\n");
}

TEST(Visible, NoMessageHasALineOfItsOwnMaking) {
  SourceManager sources;
  Diagnostics diags(sources);
  diags.error_at(Code::BadModel, "m\n.onnx", "no `{}`", "a\nerror: fake\x1b[2J").note("see `{}`", "\x1b[2J");
  EXPECT_EQ(diags.render(), "m\\x0a.onnx: error: no `a\\x0aerror: fake\\x1b[2J` [" + code_text(Code::BadModel) +
                                "]\nnote: see `\\x1b[2J`\n");
}

TEST(FileAccess, EndsAtTheFoldersThatWereNamed) {
  const fs::path folder = fs::path(::testing::TempDir()) / ("collage_access_" + std::to_string(::getpid()));
  fs::create_directories(folder / "model" / "deeper");
  fs::create_directories(folder / "models");
  fs::create_directories(folder / "hub");
  std::ofstream(folder / "models" / "m.ir") << "model";
  fs::create_symlink("../models", folder / "model" / "link");
  fs::create_symlink("../models/m.ir", folder / "hub" / "m.ir");
  const auto path = [&](const char* name) { return (folder / name).string(); };

  const FileAccess none;
  EXPECT_TRUE(none.allows(path("model/w"), path("model")));
  EXPECT_TRUE(none.allows(path("model/deeper/../w"), path("model")));
  EXPECT_FALSE(none.allows(path("model/../w"), path("model")));
  EXPECT_FALSE(none.allows(path("models/w"), path("model")));  // the name begins alike
  EXPECT_FALSE(none.allows(path("model/link/w"), path("model")));
  EXPECT_FALSE(none.allows("/etc/passwd", path("model")));

  const FileAccess named({path("hub/m.ir"), path("model/deeper")});
  EXPECT_TRUE(named.allows(path("hub/w"), path("model")));
  EXPECT_TRUE(named.allows(path("models/w"), path("model")));  // where the link leads
  EXPECT_TRUE(named.allows(path("model/deeper/w"), path("hub")));
  EXPECT_FALSE(named.allows(path("model/w"), path("hub")));
  EXPECT_TRUE(FileAccess({}, true).allows("/etc/passwd", path("model")));

  // What is open is judged by where it is, whatever its name leads to by now.
  const runtime::Result<runtime::Descriptor> opened = none.open(path("models/m.ir"), path("models"));
  ASSERT_TRUE(opened) << opened.message();
  EXPECT_TRUE(none.allows(*opened, path("models")));
  EXPECT_FALSE(none.allows(*opened, path("model")));
  EXPECT_TRUE(FileAccess({}, true).allows(*opened, path("model")));
  EXPECT_EQ(none.open(path("model/link/m.ir"), path("model")).message(), kOutside);
  EXPECT_EQ(none.open(path("model/none"), path("model")).message(), "No such file or directory");
  fs::remove_all(folder);
}

}  // namespace
}  // namespace collage::support
