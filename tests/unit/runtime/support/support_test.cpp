// SPDX-License-Identifier: Apache-2.0
// Diagnostics, source texts, spelling hints, durations and layouts: what every stage leans on.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "runtime/core/duration.h"
#include "runtime/core/layout.h"
#include "runtime/support/diagnostic.h"
#include "runtime/support/explain.h"

namespace collage {
namespace {

using runtime::Duration;
using support::Code;

TEST(Diagnostics, RenderShowsTheLineACaretAndNotesInFileOrder) {
  support::SourceManager sources;
  support::FileId file = sources.add("m.ir", "first\n\t%a = Rleu(%x)\n");
  support::Diagnostics diags(sources);
  diags.error(Code::UndefinedValue, {file, 17, 19}, "undefined value `%x`");
  diags.error(Code::UnknownOperator, {file, 12, 16}, "unknown operator `{}`", "Rleu").did_you_mean("Relu");
  EXPECT_EQ(diags.render(),
            "m.ir:2:7: error: unknown operator `Rleu` [CG0102]\n"
            "    2 | \t%a = Rleu(%x)\n"
            "      | \t     ^~~~\n"
            "note: did you mean `Relu`?\n"
            "m.ir:2:12: error: undefined value `%x` [CG0103]\n"
            "    2 | \t%a = Rleu(%x)\n"
            "      | \t          ^~\n");
}

TEST(Diagnostics, SpansPastTheEndAreHarmless) {
  support::SourceManager sources;
  support::FileId file = sources.add("m.ir", "x");
  support::Diagnostics diags(sources);
  diags.error(Code::SyntaxError, {file, 1, 900}, "unexpected end of file");
  EXPECT_NE(diags.render().find("m.ir:1:2: error: unexpected end of file"), std::string::npos);
}

TEST(SourceManager, PlacesAreThoseOfTheLines) {
  support::SourceManager sources;
  const std::string text = "ab\n\ncd\r\ne";
  const support::FileId file = sources.add("m.ir", text);
  const std::pair<int, int> places[] = {{1, 1}, {1, 2}, {1, 3}, {2, 1}, {3, 1}, {3, 2},
                                        {3, 3}, {3, 4}, {4, 1}, {4, 2}, {4, 2}};
  const char* lines[] = {"ab", "ab", "ab", "", "cd", "cd", "cd", "cd", "e", "e", "e"};
  for (uint32_t at = 0; at < std::size(places); ++at) {
    const support::LineColumn found = sources.position(file, at);
    EXPECT_EQ(std::pair(found.line, found.column), places[at]) << at;
    EXPECT_EQ(sources.line_at(file, at), lines[at]) << at;
  }
  const support::FileId empty = sources.add("none.ir", "");
  EXPECT_EQ(sources.position(empty, 5).line, 1);
  EXPECT_EQ(sources.line_at(empty, 5), "");
}

/// A file of a million mistakes is neither printed without end nor looked through for each of them.
TEST(Diagnostics, AHundredOfACodeAreShown) {
  support::SourceManager sources;
  constexpr uint32_t kLines = 200'000;
  std::string text;
  for (uint32_t i = 0; i < kLines; ++i) text += "%v = Rleu(%x)\n";
  const support::FileId file = sources.add("m.ir", text);
  support::Diagnostics diags(sources);
  for (uint32_t i = 0; i < kLines; ++i) {
    const uint32_t at = i * 14 + 5;
    diags.error(Code::UnknownOperator, {file, at, at + 4}, "unknown operator `Rleu{}`", i);
  }
  diags.warning(Code::UndefinedValue, {file, 0, 2}, "another kind");
  const std::string shown = diags.render();
  EXPECT_EQ(std::count(shown.begin(), shown.end(), '\n'), 3 * (100 + 1) + 1);
  EXPECT_TRUE(
      shown.ends_with("note: 199900 more of " + support::code_text(Code::UnknownOperator) + " are not shown\n"));
  EXPECT_EQ(diags.error_count(), kLines);
}

TEST(SourceManager, ManagersShareATextUnlessItHasAByteOrderMark) {
  const auto text = std::make_shared<const std::string>("rules 1\n");
  const auto marked = std::make_shared<const std::string>("\xef\xbb\xbf" + *text);
  support::SourceManager first, second;
  EXPECT_EQ(first.shared_text(first.add("<text>", text)), text);
  second.stand_in("open.rules", text);
  second.stand_in("marked.rules", marked);
  const runtime::Result<support::FileId> open = second.load("open.rules");
  ASSERT_TRUE(open) << open.message();
  EXPECT_EQ(second.shared_text(*open), text);
  const runtime::Result<support::FileId> without = second.load("marked.rules");
  ASSERT_TRUE(without) << without.message();
  EXPECT_EQ(second.text(*without), *text);
  EXPECT_EQ(marked->size(), text->size() + 3);
}

TEST(Diagnostics, CodesAreUniqueAndFoundByTextAndName) {
  std::set<std::string> texts;
  for (Code code : support::all_codes()) {
    EXPECT_TRUE(texts.insert(code_text(code)).second) << code_text(code);
    EXPECT_EQ(support::parse_code(code_text(code)), code);
    EXPECT_EQ(support::parse_code(code_name(code)), code);
    EXPECT_FALSE(code_explanation(code).empty());
    // A row in diagnostic_examples.def.
    std::string text = support::explanation(code);
    EXPECT_TRUE(text.find("\nexample\n  ") != std::string::npos && text.find("\nfix\n  ") != std::string::npos) << text;
  }
}

/// All files of the file tests, one after the other.
std::string file_tests() {
  std::string all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(COLLAGE_SOURCE_DIR "/tests/filetests")) {
    if (!entry.is_regular_file()) continue;
    std::ifstream stream(entry.path(), std::ios::binary);
    all.append(std::istreambuf_iterator<char>(stream), {});
  }
  return all;
}

TEST(DiagnosticTable, FileTestsTriggerEachCodeOfRuleFiles) {
  std::string tests = file_tests();
  for (Code code : support::all_codes()) {
    if (!code_text(code).starts_with("CG03")) continue;
    EXPECT_NE(tests.find("[" + code_text(code) + "]"), std::string::npos) << code_text(code) << " " << code_name(code);
  }
}

TEST(Closest, FindsSlipsAndKeepsQuietOtherwise) {
  EXPECT_EQ(support::closest("Rleu", {"Elu", "Relu", "Selu"}), "Relu");
  EXPECT_EQ(support::closest("optimum", {"greedy", "optimal"}), "optimal");
  EXPECT_EQ(support::closest("conv", {"Conv", "Gemm"}), "Conv");
  EXPECT_EQ(support::closest("x", {"y"}), "");
  EXPECT_EQ(support::closest("Banana", {"Conv", "Gemm"}), "");
}

TEST(DurationText, ReadsBackAsItself) {
  for (int64_t ps : {int64_t{0}, int64_t{1}, int64_t{999}, int64_t{1'000}, int64_t{8'192'000}, int64_t{41'000'000},
                     int64_t{123'456'789'012}, int64_t{7'000'000'000'001}}) {
    Duration d = Duration::picoseconds(ps);
    EXPECT_EQ(runtime::parse_duration(to_string(d)), d) << to_string(d);
  }
  EXPECT_EQ(to_string(Duration::picoseconds(8'192'000)), "8.192us");
  EXPECT_FALSE(runtime::parse_duration("3 parsecs"));
}

TEST(Reorder, ThereAndBackIsTheIdentity) {
  runtime::Tensor plain(runtime::DType::F32, {2, 3, 4, 5}), other = plain.clone(), back = plain.clone();
  for (int64_t i = 0; i < plain.count(); ++i) plain.as<float>()[static_cast<size_t>(i)] = static_cast<float>(i);
  runtime::reorder(plain.view(), "plain", other.view(), "NHWC");
  EXPECT_EQ(other.as<float>()[1], 20.0f);  // the second channel of the first pixel
  runtime::reorder(other.view(), "NHWC", back.view(), "plain");
  EXPECT_TRUE(identical(plain, back));
  EXPECT_FALSE(runtime::layout_permutation("NHWC", 3));
  EXPECT_FALSE(runtime::layout_permutation("NHHC", 4));
}

}  // namespace
}  // namespace collage
