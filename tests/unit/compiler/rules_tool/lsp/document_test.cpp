// SPDX-License-Identifier: Apache-2.0
// A rule file in an editor: texts are shared with what else has them.
#include "compiler/rules_tool/lsp/document.h"

#include <gtest/gtest.h>

namespace collage::rules_tool::lsp {
namespace {

constexpr const char* kRulesUri = "file:///tmp/document_test/a.rules";

TEST(Document, HasTheTextsOfOpenFilesAndNoCopies) {
  const auto text =
      std::make_shared<const std::string>("rules 1\ninclude \"b.rules\"\nbackend a { runtime host_jit }\n");
  const auto other = std::make_shared<const std::string>("rules 1\ndef twice(x) = Relu(Relu(x))\n");
  const Buffers buffers = {{"/tmp/document_test/b.rules", other}};
  const Document document(kRulesUri, text, buffers);
  EXPECT_EQ(document.shared_text(), text);
  EXPECT_EQ(document.text().data(), text->data());
  EXPECT_EQ(document.diagnostics(Document::Depth::Errors), Json::array());
  ASSERT_TRUE(document.has_read("/tmp/document_test/b.rules"));
  for (size_t i = 0; i < document.sources().count(); ++i) {
    const support::FileId file{static_cast<int32_t>(i)};
    EXPECT_EQ(document.sources().shared_text(file), file == document.file() ? text : other);
  }
}

TEST(Document, OutlivesTheTextsOfTheEditor) {
  auto text = std::make_shared<const std::string>("rules 1\nbackend a { runtime host_jit }\n");
  const Document document(kRulesUri, text, {});
  text.reset();
  EXPECT_FALSE(document.statements().empty());
  EXPECT_EQ(document.text().substr(0, 7), "rules 1");
}

}  // namespace
}  // namespace collage::rules_tool::lsp
