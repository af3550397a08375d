// SPDX-License-Identifier: Apache-2.0
// Types of values for editors: of what is right beside mistakes, without the elements of large constants.
#include <gtest/gtest.h>

#include <map>

#include "compiler/sema/model/build_graph.h"
#include "compiler/syntax/parse_model.h"

namespace collage::sema {
namespace {

class InferTypes : public ::testing::Test {
 protected:
  /// `%h` => `f32[1, 4]`
  std::map<std::string, std::string> types(const std::string& text) {
    const support::FileId file = sources.add("m.ir", text);
    std::map<std::string, std::string> found;
    if (const auto ast = syntax::parse_model(sources, file, diags)) {
      for (const NamedType& named : infer_types(*ast, "", diags))
        found[std::string(sources.text(named.name))] = to_string(named.type);
    }
    return found;
  }

  support::SourceManager sources;
  support::Diagnostics diags{sources};
};

TEST_F(InferTypes, OfAllNames) {
  const auto found = types(
      "model @m(%x: f32[1, 8]) -> (%y: f32[1, 4]) { %w = const random seed 1 : f32[8, 4] %h = MatMul(%x, %w) %y = "
      "Relu(%h) }");
  EXPECT_FALSE(diags.has_errors()) << diags.render();
  const std::map<std::string, std::string> wanted = {
      {"%x", "f32[1, 8]"}, {"%w", "f32[8, 4]"}, {"%h", "f32[1, 4]"}, {"%y", "f32[1, 4]"}};
  EXPECT_EQ(found, wanted);
}

TEST_F(InferTypes, BesideMistakes) {
  const auto found =
      types("model @m(%x: f32[1, 8]) -> (%y: f32[1, 8]) { %a = Relu(%x) %b = Relo(%a) %c = Tanh(%b) %y = Tanh(%a) }");
  EXPECT_EQ(diags.error_count(), 1U) << diags.render();
  EXPECT_EQ(found.count("%b"), 0U);
  EXPECT_EQ(found.count("%c"), 0U);
  EXPECT_EQ(found.at("%y"), "f32[1, 8]");
}

TEST_F(InferTypes, LargeConstantsAreNotMade) {
  // Made, it would take 4 GiB; the file does not exist.
  const auto found = types(
      "model @m(%x: f32[1, 32768]) -> (%y: f32[1, 32768], %z: f32[1, 2]) {"
      " %w = const random seed 1 : f32[32768, 32768] %y = MatMul(%x, %w)"
      " %v = const file \"none.npy\" : f32[32768, 2] %z = MatMul(%x, %v) }");
  EXPECT_FALSE(diags.has_errors()) << diags.render();
  EXPECT_EQ(found.at("%y"), "f32[1, 32768]");
  EXPECT_EQ(found.at("%z"), "f32[1, 2]");
}

TEST_F(InferTypes, MistakesInLargeConstantsAreFound) {
  types("model @m() -> (%w: u8[64, 128]) { %w = const random seed 1 in [0, 300] : u8[64, 128] }");
  EXPECT_EQ(diags.error_count(), 1U) << diags.render();
}

TEST_F(InferTypes, ShapesDependOnSmallConstants) {
  const auto found =
      types("model @m(%x: f32[4, 2]) -> (%y: f32[8]) { %s = const dense i64[1] [-1] %y = Reshape(%x, %s) }");
  EXPECT_FALSE(diags.has_errors()) << diags.render();
  EXPECT_EQ(found.at("%y"), "f32[8]");
}

}  // namespace
}  // namespace collage::sema
