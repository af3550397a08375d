// SPDX-License-Identifier: Apache-2.0
// print -> parse -> print is the identity, and prints what was meant.
#include <gtest/gtest.h>

#include "compiler/ir/placement/verify.h"
#include "tests/unit/compiler/sema/fixture.h"

namespace collage::testing {
namespace {

/// The text that `text` prints as, after checking that it prints as itself.
std::string round_trip(const std::string& text) {
  Loaded first = load(text);
  EXPECT_TRUE(first.model.has_value()) << first.errors;
  if (!first.model) return first.errors;
  ir::verify(first.model->graph);
  std::string printed = first.printed();
  Loaded second = load(printed);
  EXPECT_EQ(second.printed(), printed);
  return printed;
}

TEST(Print, InfersAndPrintsTypes) {
  EXPECT_EQ(round_trip(model_text("%a = Relu(%x)   // a comment\n%y = Add(%a, %x) : f32[1, 3, 8, 8] on npu[1]")),
            "model @m(%x: f32[1, 3, 8, 8]) -> (%y: f32[1, 3, 8, 8]) {\n"
            "  %a = Relu(%x) : f32[1, 3, 8, 8]\n"
            "  %y = Add(%a, %x) : f32[1, 3, 8, 8] on npu[1]\n"
            "}\n");
}

TEST(Print, OddNames) {
  std::string printed = round_trip(
      "model @\"two words\"(%\"odd \\\"name\\\"\": f32[2], %gpu_0/data-0: f32[2]) -> (%/l/Relu_0: f32[2]) {\n"
      "  %\"a:0\" = Add(%\"odd \\\"name\\\"\", %gpu_0/data-0)\n  %/l/Relu_0 = Relu(%\"a:0\")\n}");
  EXPECT_NE(printed.find("model @\"two words\"(%\"odd \\\"name\\\"\": f32[2], %gpu_0/data-0: f32[2])"),
            std::string::npos);
  EXPECT_NE(printed.find("%/l/Relu_0 = Relu(%\"a:0\")"), std::string::npos);
}

TEST(Print, EveryFormOfConstant) {
  std::string constants =
      "  %dense = const dense f32[2, 2] [1.0, -2.5, 1e-20, 0.1]\n"
      "  %scalar = const 3.5 : f32[]\n"
      "  %ints = const dense i64[3] [-1, 0, 9223372036854775807]\n"
      "  %flags = const dense bool[2] [1, 0]\n"
      "  %empty = const dense f32[0] []\n"
      "  %zeros = const splat 0.1 : f32[64]\n"
      "  %bytes = const splat 200 : u8[2]\n"
      "  %big = const splat inf : f64[2]\n"
      "  %noise = const random seed 7 : f32[1, 3, 8, 8]\n"
      "  %small = const random seed 8 in [-0.05, 0.1] : f32[3]\n";
  EXPECT_EQ(round_trip("model @m(%x: f32[2]) -> (%y: f32[2]) {\n" + constants + "  %y = Relu(%x) : f32[2]\n}\n"),
            "model @m(%x: f32[2]) -> (%y: f32[2]) {\n" + constants + "  %y = Relu(%x) : f32[2]\n}\n");
}

TEST(Print, AttributesOfEveryKind) {
  std::string printed = round_trip(
      "model @m(%x: f32[1, 3, 8, 8]) -> (%y: f32[1, 3, 8, 8]) {\n"
      "  %a = LeakyRelu(%x) {alpha = 1}\n"
      "  %w = const random seed 1 : f32[3, 3, 3, 3]\n"
      "  %y = Conv(%a, %w, _) {pads = [1, 1, 1, 1], auto_pad = \"NOTSET\"}\n}\n");
  EXPECT_NE(printed.find("LeakyRelu(%x) {alpha = 1.0}"), std::string::npos);
  EXPECT_NE(printed.find("Conv(%a, %w, _) {auto_pad = \"NOTSET\", pads = [1, 1, 1, 1]}"), std::string::npos);
}

TEST(Print, UnwantedResult) {
  std::string printed = round_trip(
      "model @m(%x: f32[4]) -> (%b: f32[2]) {\n  %s = const dense i64[2] [2, 2]\n  _, %b = Split(%x, %s) {axis = "
      "0}\n}");
  EXPECT_NE(printed.find("  _, %b = Split(%x, %s) {axis = 0} : _, f32[2]\n"), std::string::npos);
}

}  // namespace
}  // namespace collage::testing
