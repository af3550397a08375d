// SPDX-License-Identifier: Apache-2.0
// The formatter keeps tokens and comments, changes nothing the second time, and gives one result whatever the layout
// was.
#include "compiler/rules_tool/format.h"

#include <algorithm>
#include <filesystem>
#include <random>

#include "compiler/rules_tool/format_tokens.h"
#include "compiler/syntax/rules_keywords.h"
#include "compiler/syntax/scan_rules.h"
#include "tests/unit/compiler/sema/rules_fixture.h"

namespace collage {
namespace {

using Kind = syntax::RulesToken::Kind;

class RulesFormat : public RulesFixture {
 public:
  std::string format(const std::string& text) { return rules_tool::format_rules(sources, sources.add("r", text)); }

  std::vector<std::string> tokens(const std::string& text) {
    support::FileId file = sources.add("t", text);
    std::vector<std::string> texts;
    for (const syntax::RulesToken& token : syntax::scan_rules(sources, file)) {
      texts.emplace_back(sources.text(token.span));
    }
    return texts;
  }

  /// Rule files of the repository that parse: those that ship and those of the tests.
  std::vector<std::string> corpus() {
    std::vector<std::string> texts;
    for (const char* folder : {"rules", "tests/filetests", "tests/fuzz/corpus"}) {
      std::filesystem::path root = std::filesystem::path(COLLAGE_SOURCE_DIR) / folder;
      for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
        if (entry.path().extension() != ".rules") continue;
        const auto file = sources.load(entry.path().string());
        support::Diagnostics unheard(sources);
        if (file && syntax::parse_rules(sources, *file, unheard)) texts.emplace_back(sources.text(*file));
      }
    }
    return texts;
  }
};

TEST_F(RulesFormat, TheCorpusKeepsItsTokensAndIsFormattedOnce) {
  std::vector<std::string> texts = corpus();
  EXPECT_GT(texts.size(), 30U);
  for (const std::string& text : texts) {
    std::string once = format(text);
    EXPECT_EQ(tokens(once), tokens(text));
    EXPECT_EQ(format(once), once);
    EXPECT_TRUE(parse(once)) << diags.render();
  }
}

TEST_F(RulesFormat, ColumnsCountCharactersFromTheLineEnd) {
  std::vector<std::string> texts = corpus();
  texts.emplace_back("rules 1 // \xc3\xa4\n  x \"\xc3\xa9\n\xc3\xbc\" y \"a\n\nb\"\"c\" z\n// end");
  for (const std::string& text : texts) {
    for (const rules_tool::FormatToken& token : rules_tool::format_tokens(sources, sources.add("c", text))) {
      const auto begin = text.begin() + token.span.begin;
      const auto line = std::find(std::make_reverse_iterator(begin), text.rend(), '\n').base();
      const auto characters =
          std::count_if(line, begin, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
      EXPECT_EQ(token.column, characters) << token.text;
    }
  }
}

TEST_F(RulesFormat, Clusters) {
  EXPECT_EQ(
      format("rules 1 cluster lab { host count 2 { memory 16 GiB devices npu 2 link lan bandwidth 10 GB/s duplex }\n"
             "host { link torus( 2,2 ) bandwidth 1 GB/s } } switch host { link host bandwidth 1 GB/s }"),
      "rules 1\n"
      "cluster lab {\n"
      "  host count 2 {\n"
      "    memory 16 GiB\n"
      "    devices npu 2\n"
      "    link lan bandwidth 10 GB/s duplex\n"
      "  }\n"
      "  host {\n"
      "    link torus(2, 2) bandwidth 1 GB/s\n"
      "  }\n"
      "}\n"
      "switch host {\n"
      "  link host bandwidth 1 GB/s\n"
      "}\n");
}

/// Blanks that keep two tokens apart, one line end at most: a blank line would mean something.
std::string random_gap(std::mt19937& random) {
  static const char* const gaps[] = {" ", "  ", "\n", "\t", " \n   ", "\r\n"};
  return gaps[random() % std::size(gaps)];
}

TEST_F(RulesFormat, WithoutCommentsTheTokensAloneDecide) {
  std::mt19937 random(3);
  for (const std::string& text : corpus()) {
    support::FileId file = sources.add("c", text);
    std::string lines, blanks;
    for (const syntax::RulesToken& token : syntax::scan_rules(sources, file)) {
      if (token.kind == Kind::Comment) continue;
      lines += std::string(sources.text(token.span)) + "\n";
      blanks += std::string(sources.text(token.span)) + random_gap(random);
    }
    EXPECT_EQ(format(lines), format(blanks));
  }
}

TEST_F(RulesFormat, CommentsAndBlankLinesAnywhere) {
  std::mt19937 random(5);
  for (const std::string& text : corpus()) {
    support::FileId file = sources.add("c", text);
    std::string scattered;
    int count = 0;
    for (const syntax::RulesToken& token : syntax::scan_rules(sources, file)) {
      bool is_comment = token.kind == Kind::Comment;
      scattered += std::string(sources.text(token.span)) + (is_comment ? "\n" : random_gap(random));
      if (random() % 12 == 0) scattered += "// note " + std::to_string(count++) + (random() % 2 == 0 ? "\n" : "\n\n");
      if (random() % 20 == 0) scattered += "\n\n";
    }
    std::string once = format(scattered);
    EXPECT_EQ(tokens(once), tokens(scattered));
    EXPECT_EQ(format(once), once);
  }
}

/// Files made of pieces of others, of which some parse: constructs side by side that nobody would write.
TEST_F(RulesFormat, ShuffledTokensThatParse) {
  std::mt19937 random(11);
  int parsed = 0;
  for (const std::string& text : corpus()) {
    for (int round = 0; round < 40; ++round) {
      std::vector<std::string> words = tokens(text);
      if (words.size() > 2000) break;
      size_t at = random() % words.size();
      switch (random() % 3) {
        case 0: words.erase(words.begin() + static_cast<std::ptrdiff_t>(at)); break;
        case 1: words.insert(words.begin() + static_cast<std::ptrdiff_t>(at), words[random() % words.size()]); break;
        default: std::swap(words[at], words[random() % words.size()]); break;
      }
      std::string shuffled;
      for (const std::string& word : words) shuffled += word + (word.starts_with("//") ? "\n" : random_gap(random));
      support::Diagnostics unheard(sources);
      if (!syntax::parse_rules(sources, sources.add("s", shuffled), unheard)) continue;
      ++parsed;
      std::string once = format(shuffled);
      EXPECT_EQ(format(once), once);
      EXPECT_EQ(tokens(once), tokens(shuffled));
    }
  }
  EXPECT_GT(parsed, 100);
}

TEST_F(RulesFormat, ARuleMayHaveTheNameOfAClause) {
  const std::string text = "rules 1\nbackend b version 1 {\n  rule split {\n    match y = Split(x, ..)\n  }\n}\n";
  EXPECT_EQ(format(text), text);
}

TEST_F(RulesFormat, NothingAndCommentsAlone) {
  EXPECT_EQ(format(""), "");
  EXPECT_EQ(format("\n\n"), "");
  EXPECT_EQ(format("\n// one\n\n\n// two   \n\n"), "// one\n\n// two\n");
}

TEST_F(RulesFormat, EveryStatementOfABackendStartsItsLine) {
  for (const syntax::Keyword& keyword : syntax::kKeywords) {
    bool is_plain = keyword.starts_statement() && !keyword.is_contextual();
    if (!is_plain || (keyword.starts & syntax::InBackend) == 0) continue;
    std::string text = format(fmt::format("rules 1 backend a {{ runtime sim {} x }}", keyword.spelling));
    EXPECT_NE(text.find(fmt::format("  {} x\n", keyword.spelling)), std::string::npos) << text;
  }
}

TEST_F(RulesFormat, DefinitionsAndWhatUsesThem) {
  const std::string text =
      "rules 1\nlet half(x) = x / 2\ndef where even(x) = x % 2 == 0 else \"odd\"\ndef kernel fast(x) {\n"
      "  let n = dim(x, 1)\n  where even(n)\n  cost n * 1 ns\n}\nbackend a {\n  rule r {\n    match y = Relu(x)\n"
      "    let n = if rank(x) == 2 then 1 else 2\n    kernel fast(x)\n    kernel slow = fast(x)\n"
      "    test ok \"%y = Relu(%x)\" with x: f32[2] -> {%y} by fast{n = 1}, cost <= 2 us, lower \"fast\", format x: "
      "NHWC\n"
      "  }\n}\n";
  EXPECT_EQ(format(text), text);
}

TEST_F(RulesFormat, AWordInsideAStatementStartsNone) {
  std::string text = "rules 1\nbackend a {\n  device d {\n    link host bandwidth 1 GB/s energy 3 pJ\n  }\n}\n";
  EXPECT_EQ(format(text), text);
  EXPECT_NE(format("rules 1 backend a { deny y = Relu(x) where rank(x) > 1 because \"b\" }")
                .find("deny y = Relu(x) where rank(x) > 1 because"),
            std::string::npos);
}

}  // namespace
}  // namespace collage
