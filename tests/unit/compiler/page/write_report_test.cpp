// SPDX-License-Identifier: Apache-2.0
#include "compiler/page/write_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace collage::page {
namespace {

using nlohmann::ordered_json;

constexpr PageAsset kAssets[] = {
    {"d3.min.js", "first()"},
    {"licence of d3", "keep -- this"},
    {"report.html",
     "<title><!-- @title@ --></title><!-- @licences@ -->|<!-- @style@ -->|<!-- @data@ -->|<!-- @scripts@ -->"},
    {"report.css", "p {}\n"},
    {"report_main.js", "second()"}};

TEST(WriteReport, DataDoNotEndTheirElement) {
  const ordered_json data = {{"name", "</script><script>alert(1)</script>"}, {"other", "<!-- &amp; \x01"}};
  const std::string text = script_text(data);
  EXPECT_EQ(text.find('<'), std::string::npos) << text;
  EXPECT_EQ(ordered_json::parse(text), data);
}

TEST(WriteReport, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(ordered_json::parse(script_text({{"name", "a\xff"}}))["name"], "a\xef\xbf\xbd");
}

TEST(WriteReport, TextsOfElementsAreEscaped) {
  EXPECT_EQ(element_text("a < b && c"), "a &lt; b &amp;&amp; c");
}

TEST(WriteReport, ThePageHasItsPartsInOrder) {
  const std::string text = page_text(kAssets, "<m>", {{"x", 1}});
  EXPECT_EQ(text,
            "<title>&lt;m></title><!--\nlicence of d3\n\nkeep - - this-->\n|<style>\np {}\n</style>\n"
            "|<script type=\"application/json\" id=\"data\">{\"x\":1}</script>"
            "|<script>\nfirst()\n</script>\n<script>\nsecond()\n</script>\n");
}

TEST(WriteReport, AMarkInTheDataIsData) {
  const std::string text = page_text(kAssets, "m", {{"x", "<!-- @scripts@ -->"}});
  EXPECT_NE(text.find("\\u003c!-- @scripts@ -->"), std::string::npos);
  EXPECT_TRUE(text.ends_with("second()\n</script>\n"));
}

TEST(WriteReport, TheBuildHasAllAssetsOrNone) {
  if (page_assets().empty()) GTEST_SKIP() << "this build lacks the libraries";
  const std::string text = page_text(page_assets(), "m", {{"x", 1}});
  for (const char* part : {"d3js.org", "Permission is hereby granted", "THIS SOFTWARE IS PROVIDED", "report.graph",
                           "Content-Security-Policy"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
}

}  // namespace
}  // namespace collage::page
