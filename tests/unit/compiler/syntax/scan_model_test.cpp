// SPDX-License-Identifier: Apache-2.0
// Tokens of models, whole and broken; statements that parse beside others that do not.
#include "compiler/syntax/scan_model.h"

#include <gtest/gtest.h>

#include "compiler/syntax/parse_model.h"

namespace collage::syntax {
namespace {

using Kind = ModelToken::Kind;

class ScanModel : public ::testing::Test {
 protected:
  std::vector<ModelToken> scan(const std::string& text) { return scan_model(sources, sources.add("m.ir", text)); }

  support::SourceManager sources;
};

TEST_F(ScanModel, KindsAndNames) {
  const std::vector<ModelToken> tokens = scan("%\"a b\" = const file \"w.npy\" : f32[2] // said\n@p 8us");
  const Kind wanted[] = {Kind::Value, Kind::Sign,   Kind::Keyword, Kind::Name,    Kind::String, Kind::Sign,  Kind::Name,
                         Kind::Sign,  Kind::Number, Kind::Sign,    Kind::Comment, Kind::Symbol, Kind::Number};
  ASSERT_EQ(tokens.size(), std::size(wanted));
  for (size_t i = 0; i < tokens.size(); ++i) EXPECT_EQ(tokens[i].kind, wanted[i]) << i;
  EXPECT_EQ(tokens[0].name, "a b");
  EXPECT_EQ(tokens[11].name, "p");
  EXPECT_EQ(sources.text(tokens[10].span), "// said");
  EXPECT_EQ(sources.text(tokens[12].span), "8us");
}

TEST_F(ScanModel, BrokenTextHasTokens) {
  const std::vector<ModelToken> tokens = scan("%y = ? Relu(\"not closed\n% \xc3");
  ASSERT_EQ(tokens.size(), 5U);
  EXPECT_EQ(tokens[4].kind, Kind::String);
  EXPECT_TRUE(scan("").empty());
}

TEST_F(ScanModel, EveryKeywordIsFound) {
  for (const ModelKeyword& row : model_keywords()) {
    EXPECT_EQ(find_model_keyword(row.spelling), &row);
    EXPECT_FALSE(row.text.empty());
  }
  EXPECT_FALSE(find_model_keyword("const")->may_be_name);
  EXPECT_TRUE(find_model_keyword("rule")->may_be_name);
  EXPECT_EQ(find_model_keyword("Relu"), nullptr);
}

TEST_F(ScanModel, BrokenStatementsAreLeftOut) {
  const support::FileId file =
      sources.add("m.ir", "model @m(%x: f32[1]) -> (%y: f32[1]) { %a = Relu(%x) %b = Relu) %y = Relu(%a) }");
  support::Diagnostics diags(sources);
  EXPECT_FALSE(parse_model(sources, file, diags));
  EXPECT_EQ(diags.error_count(), 1U);
  const std::optional<ModelAst> ast = parse_model(sources, file, diags, OnErrors::LeaveOut);
  ASSERT_TRUE(ast);
  EXPECT_EQ(ast->statements.size(), 2U);
}

}  // namespace
}  // namespace collage::syntax
