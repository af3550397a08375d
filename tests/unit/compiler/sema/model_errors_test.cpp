// SPDX-License-Identifier: Apache-2.0
// Bad models: what is said, and where; and that nothing a user types does worse.
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/compiler/sema/fixture.h"

namespace collage::testing {
namespace {

struct Bad {
  const char* body;     ///< starts on line 2
  const char* message;  ///< place and text
};

class BadModel : public ::testing::TestWithParam<Bad> {};

TEST_P(BadModel, IsToldWhere) {
  Loaded loaded = load(model_text(GetParam().body));
  EXPECT_FALSE(loaded.model);
  EXPECT_NE(loaded.errors.find(GetParam().message), std::string::npos) << loaded.errors;
}

INSTANTIATE_TEST_SUITE_P(
    , BadModel,
    ::testing::Values(
        Bad{"%y = Rleu(%x)", "m.ir:2:6: error: unknown operator `Rleu` [CG0102]"},
        Bad{"%y = Rely(%x)", "did you mean `Relu`?"},
        Bad{"%abc = Relu(%x)\n%y = Relu(%abd)", "m.ir:3:11: error: `%abd` is not defined [CG0103]"},
        Bad{"%abc = Relu(%x)\n%y = Relu(%abd)", "did you mean `abc`?"},
        Bad{"%y = Relu(%a)\n%a = Relu(%x)",
            "m.ir:3:1: note: it is defined here: values must be defined before they are used"},
        Bad{"%y = Relu(%x)\n%y = Relu(%x)", "m.ir:3:1: error: `%y` is defined twice [CG0104]"},
        Bad{"%x = Relu(%x)\n%y = Relu(%x)", "m.ir:2:1: error: `%x` is defined twice [CG0104]"},
        Bad{"%s = const dense i64[2] [2, 2]\n%y, %y = Split(%x, %s)", "`%y` is defined twice by one statement"},
        Bad{"%z = Relu(%x)", "m.ir:1:35: error: output `%y` is never defined [CG0206]"},
        Bad{"%y = Relu(%x) : f32[1, 3, 8, 9]",
            "m.ir:2:17: error: `%y` is `f32[1, 3, 8, 8]`, `f32[1, 3, 8, 9]` is written [CG0204]"},
        Bad{"%y = Relu(%x) : f32[1, 3, 8, 8], f32[1]", "1 results have 2 types [CG0201]"},
        Bad{"%s = Shape(%x)\n%y = Relu(%s)", "[CG0204]"}, Bad{"%y = Relu(%x, %x)", "[CG0201]"},
        Bad{"_ = Relu(%x)\n%y = Relu(%x)", "m.ir:2:1: error: a result of the operator needs a name [CG0201]"},
        Bad{"%y = LeakyRelu(%x) {alfa = 1.0}", "[CG0202]"},
        Bad{"%y = LeakyRelu(%x) {alpha = 1.0, alpha = 2.0}",
            "m.ir:2:34: error: attribute `alpha` is given twice [CG0104]"},
        Bad{"%y = LeakyRelu(%x) {alpha = [1, \"a\"]}", "m.ir:2:29: error: the list mixes numbers and strings [CG0202]"},
        Bad{"%y = Relu(%x) on npu[-1]", "no device has an instance -1 [CG0105]"},
        Bad{"_ = const 1.0 : f32[]\n%y = Relu(%x)", "a constant has one result, which needs a name [CG0201]"},
        Bad{"%y = Relu(%x", "m.ir:3:1: error: unexpected `}`, expected `)` or `,` [CG0101]"},
        Bad{"%y = Relu %x)", "m.ir:2:11: error: unexpected %value, expected `(` [CG0101]"},
        Bad{"%y = const 99999999999999999999 : i64[]",
            "m.ir:2:12: error: `99999999999999999999` does not fit 64 bits [CG0105]"},
        Bad{"%y = const 1e999 : f64[]", "`1e999` is too large for a double [CG0105]"},
        Bad{"%y = convert %x to npu[0] cost 1e300us", "m.ir:2:32: error: the time `1e300us` is out of range [CG0105]"},
        Bad{"%y = Relu(%x) ; %z", "m.ir:2:15: error: unexpected `;` [CG0101]"},
        Bad{"%y = const file \"abc\n%z = Relu(%x)", "m.ir:2:17: error: a string is not closed on its line [CG0101]"},
        Bad{"%\"\" = Relu(%x)", "m.ir:2:1: error: a name is empty [CG0101]"}));

TEST(BadModels, OutputType) {
  Loaded loaded = load(model_text("%y = Relu(%x)", "%y: f32[2]"));
  EXPECT_NE(loaded.errors.find("m.ir:1:39: error: output `%y` is `f32[1, 3, 8, 8]`, `f32[2]` is declared [CG0204]"),
            std::string::npos)
      << loaded.errors;
  EXPECT_NE(load(model_text("%y = Relu(%x)", "")).errors.find("error: model `m` has no output [CG0206]"),
            std::string::npos);
}

// Each statement is read on its own: one fault, one error, and nothing that only follows from another.
TEST(BadModels, SeveralErrorsInOneFile) {
  Loaded syntax = load(model_text("%a = Relu(%x %x)\n%b = Relu(%x) {alpha = [1 2]}\n%c = = Relu(%x)\n%y = Relu(%x)"));
  EXPECT_EQ(syntax.errors,
            "m.ir:2:14: error: unexpected %value, expected `)` or `,` [CG0101]\n"
            "    2 | %a = Relu(%x %x)\n"
            "      |              ^~\n"
            "m.ir:3:27: error: unexpected integer, expected `]` or `,` [CG0101]\n"
            "    3 | %b = Relu(%x) {alpha = [1 2]}\n"
            "      |                           ^\n"
            "m.ir:4:6: error: unexpected `=` [CG0101]\n"
            "    4 | %c = = Relu(%x)\n"
            "      |      ^\n");
  Loaded names = load(model_text(
      "%a = Relu(%q)\n%b = Relu(%a)\n%c = Foo(%b)\n%d = Relu(%q)\n%y = Add(%c, %x) : f32[1, 3, 8, 8]\n%z = Bar(%y)"));
  EXPECT_EQ(names.errors,
            "m.ir:2:11: error: `%q` is not defined [CG0103]\n"
            "    2 | %a = Relu(%q)\n"
            "      |           ^~\n"
            "m.ir:4:6: error: unknown operator `Foo` [CG0102]\n"
            "    4 | %c = Foo(%b)\n"
            "      |      ^~~\n"
            "m.ir:7:6: error: unknown operator `Bar` [CG0102]\n"
            "    7 | %z = Bar(%y)\n"
            "      |      ^~~\n");
}

TEST(BadModels, LongInputsAreRead) {
  std::string body = "%v0 = Relu(%x)\n";
  for (int i = 1; i < 5000; ++i) body += "%v" + std::to_string(i) + " = Relu(%v" + std::to_string(i - 1) + ")\n";
  EXPECT_TRUE(load(model_text(body + "%y = Relu(%v4999)")).model);
  std::string brackets(200000, '[');
  EXPECT_FALSE(load(model_text("%y = const dense f32[1] " + brackets)).model);
  EXPECT_FALSE(load(std::string(200000, '{')).model);
  EXPECT_FALSE(load("model @m() -> () {" + std::string(200000, '{')).model);
}

// Mutations of a good text: any answer is right but a crash.
TEST(BadModels, MutatedTextsAreAnswered) {
  const std::string good =
      "model @m(%x: f32[1, 3, 8, 8]) -> (%y: f32[1, 3, 8, 8]) {\n"
      "  %w = const random seed 1 : f32[3, 3, 1, 1]\n  %b = const dense f32[3] [1.0, -2.5, 1e-20]\n"
      "  partition @q on npu(npu[0]) rule \"r\" cost 41us\n"
      "  %d = convert %x to npu[0] NHWC cost 8.2us : f32[1, 3, 8, 8]\n"
      "  %e = partition @p on npu(npu[0]) rule \"a\", \"b\" (%d) -> (npu[0] NHWC) { %e = Conv(%d, %w, %b) {strides = "
      "[1, 1]} }\n"
      "  %f = convert %e to npu[0]\n  %y = Relu(%e) : f32[1, 3, 8, 8] on npu[0] in @q\n}\n";
  ASSERT_TRUE(load(good).model) << load(good).errors;
  std::mt19937 random(1);
  const std::string alphabet = "%@\"()[]{},:=-_ \n0123456789.exnpu\\/\x01\xff";
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = good;
    for (unsigned edits = 1 + random() % 3; edits > 0; --edits) {
      size_t at = random() % text.size();
      switch (random() % 4) {
        case 0: text[at] = alphabet[random() % alphabet.size()]; break;
        case 1: text.erase(at, 1 + random() % 8); break;
        case 2: text.insert(at, text.substr(random() % text.size(), random() % 40)); break;
        default: text.insert(at, 1, alphabet[random() % alphabet.size()]); break;
      }
    }
    Loaded loaded = load(text);
    EXPECT_EQ(loaded.model.has_value(), loaded.errors.empty()) << text << loaded.errors;
    if (!loaded.model) {
      ++refused;
      continue;
    }
    std::string printed = loaded.printed();
    EXPECT_EQ(load(printed).printed(), printed) << text;
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace collage::testing
