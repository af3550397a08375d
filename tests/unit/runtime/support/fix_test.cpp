// SPDX-License-Identifier: Apache-2.0
// What diagnostics say may be written instead.
#include <gtest/gtest.h>

#include "runtime/support/diagnostic.h"

namespace collage::support {
namespace {

class Fixes : public ::testing::Test {
 protected:
  /// The text with the only fix of a diagnostic at `marked`, a part of it; empty if there is no fix.
  std::string fixed(const std::string& text, const std::string& marked, const std::string& near,
                    const std::string& word = "") {
    const FileId file = sources.add("t", text);
    const auto begin = static_cast<uint32_t>(text.find(marked));
    const Span span{file, begin, static_cast<uint32_t>(begin + marked.size())};
    Diagnostics diags(sources);
    auto error = diags.error(Code::UnknownName, span, "unknown");
    if (word.empty()) {
      error.did_you_mean(near);
    } else {
      error.did_you_mean(near, word);
    }
    EXPECT_EQ(diags.records().at(0).notes.size(), near.empty() ? 0U : 1U);
    const std::vector<Fix>& fixes = diags.records().at(0).fixes;
    if (fixes.empty()) return "";
    EXPECT_EQ(fixes.size(), 1U);
    std::string result = text;
    return result.replace(fixes[0].span.begin, fixes[0].span.end - fixes[0].span.begin, fixes[0].text);
  }

  SourceManager sources;
};

TEST_F(Fixes, AWordIsReplaced) {
  EXPECT_EQ(fixed("a = Relo(x)", "Relo", "Relu"), "a = Relu(x)");
  EXPECT_EQ(fixed("%y = Relu(%xx)", "%xx", "x"), "%y = Relu(%x)");
  EXPECT_EQ(fixed("in @p1", "@p1", "p0"), "in @p0");
  EXPECT_EQ(fixed("encode(w, \"OHVI\")", "\"OHVI\"", "OHWI"), "encode(w, \"OHWI\")");
}

TEST_F(Fixes, OnlyAWordIsReplaced) {
  EXPECT_EQ(fixed("a = Relo(x)", "Relo(x)", "Relu"), "");
  EXPECT_EQ(fixed("a = Relo(x)", "Relo", ""), "");
  EXPECT_EQ(fixed("a = Relo(x)", "Relo", "Re//lu"), "");
  EXPECT_EQ(fixed("encode(w, \"OHVI\")", "\"OHVI\"", "a \"name"), "");
}

TEST_F(Fixes, NamesAfterASigilHaveTheQuotesThatTheyNeed) {
  EXPECT_EQ(fixed("%y = Relu(%x1)", "%x1", "a name"), "%y = Relu(%\"a name\")");
  EXPECT_EQ(fixed("%y = Relu(%a/c)", "%a/c", "a//b"), "%y = Relu(%\"a//b\")");
  EXPECT_EQ(fixed("%y = Relu(%\"a//c\")", "%\"a//c\"", "a//b"), "%y = Relu(%\"a//b\")");
  EXPECT_EQ(fixed("%y = Relu(%\"a c\")", "%\"a c\"", "ac"), "%y = Relu(%ac)");
  EXPECT_EQ(fixed("in @\"p 1\"", "@\"p 1\"", "p \"0\""), "in @\"p \\\"0\\\"\"");
}

TEST_F(Fixes, AWordIsFoundInALongerPlace) {
  EXPECT_EQ(fixed("{axes = 1, axe = 2}", "axes = 1, axe = 2", "axis", "axe"), "{axes = 1, axis = 2}");
  EXPECT_EQ(fixed("{axes = 1}", "axes = 1", "axis", "axe"), "");
}

TEST_F(Fixes, WithoutAPlaceThereIsNone) {
  Diagnostics diags(sources);
  diags.error_at(Code::UnknownName, "--rule", "unknown").did_you_mean("conv").fix("conv");
  EXPECT_TRUE(diags.records().at(0).fixes.empty());
}

}  // namespace
}  // namespace collage::support
