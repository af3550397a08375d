// SPDX-License-Identifier: Apache-2.0
// What the words of a model are, and the types of its values while it is written.
#include "compiler/rules_tool/lsp/model_document.h"

#include <gtest/gtest.h>

namespace collage::rules_tool::lsp {
namespace {

using Role = ModelWord::Role;

constexpr const char* kUri = "file:///tmp/m.ir";

/// A model that ends with `body`.
std::string model(const std::string& body) {
  return "model @m(%x: f32[n, 8], %s: f32[2, 8]) -> (%y: f32[n, 8]) {\n" + body;
}

/// The role of the word at a mark `^` in the text, which is taken out.
Role role_at(std::string text) {
  const size_t mark = text.find('^');
  text.erase(mark, 1);
  const ModelDocument document(kUri, text);
  const int index = document.word_at(static_cast<uint32_t>(mark));
  return index < 0 ? Role::None : document.words()[static_cast<size_t>(index)].role;
}

std::string type(const ModelDocument& document, const std::string& value) {
  const std::string* found = document.type_of(value);
  return found == nullptr ? "" : *found;
}

TEST(ModelDocument, Roles) {
  EXPECT_EQ(role_at("model @^m(%x: f32[1])"), Role::ModelName);
  EXPECT_EQ(role_at("model @m(%^x: f32[1])"), Role::Input);
  EXPECT_EQ(role_at("model @m(%x: f3^2[1])"), Role::DType);
  EXPECT_EQ(role_at("model @m(%x: f32[ba^tch])"), Role::Dimension);
  EXPECT_EQ(role_at("model @m(%x: f32[1]) -> (%^y: f32[1])"), Role::Use);
  EXPECT_EQ(role_at("{ %^a, _, %b = Split(%x)"), Role::Definition);
  EXPECT_EQ(role_at("{ %a, _, %b = Sp^lit(%x)"), Role::Operator);
  EXPECT_EQ(role_at("{ %a = Split(%^x)"), Role::Use);
  EXPECT_EQ(role_at("{ %a = Split(%x) {ax^is = 1}"), Role::Attribute);
  EXPECT_EQ(role_at("{ %a = con^st 1.0 : f32[]"), Role::Keyword);
  EXPECT_EQ(role_at("{ %a = Relu(%x) on np^u[0] in @p"), Role::Place);
  EXPECT_EQ(role_at("{ %a = Relu(%x) on npu[0] in @p^"), Role::Member);
  EXPECT_EQ(role_at("{ partition @p^ on npu(npu[0])"), Role::Partition);
  EXPECT_EQ(role_at("{ %a = ^"), Role::None);
}

TEST(ModelDocument, TypesOfOpenDimensions) {
  const ModelDocument document(
      kUri, model("%d = Concat(%x, %x) {axis = 0}\n%t = Transpose(%x)\n%e = MatMul(%x, %t)\n%y = Relu(%x) }"));
  EXPECT_TRUE(document.diagnostics().empty()) << document.diagnostics().dump();
  EXPECT_EQ(type(document, "y"), "f32[n, 8]");
  EXPECT_EQ(type(document, "d"), "f32[2 * n, 8]");
  EXPECT_EQ(type(document, "t"), "f32[8, n]");
  EXPECT_EQ(type(document, "e"), "f32[n, n]");
  EXPECT_EQ(type(document, "s"), "f32[2, 8]");
}

TEST(ModelDocument, SizesAloneAreNoMistakes) {
  // Right for n = 2 alone, which may be what is meant.
  const ModelDocument document(kUri, model("%a = Add(%x, %s)\n%y = Relu(%x) }"));
  EXPECT_EQ(document.diagnostics().size(), 0U) << document.diagnostics().dump();
  // Wrong whatever n is.
  const ModelDocument wrong(kUri, model("%t = Transpose(%s)\n%a = Add(%x, %t)\n%y = Relu(%x) }"));
  EXPECT_EQ(wrong.diagnostics().size(), 1U) << wrong.diagnostics().dump();
}

TEST(ModelDocument, HalfWritten) {
  for (const char* half :
       {"%a = Tanh(%x)", "%a = Tanh(%x)\n%b = Ta", "%a = Tanh(%x)\n%b = Tanh(", "%a = Tanh(%x)\n%b = Gelu(%a) {approx",
        "%a = Tanh(%x)\n%b = Gelu(%a) {approximate = \"", "%a = Tanh(%x)\n%", "%a = Tanh(%x)\n%\"b", "%a = Tanh(%x) ?",
        "%a = Tanh(%x)\n% // {\n%b = Tanh(%a)", "%a = Tanh(%x) }\n}"}) {
    const ModelDocument document(kUri, model(half));
    EXPECT_EQ(type(document, "a"), "f32[n, 8]") << half;
  }
}

TEST(ModelDocument, KeepsWhatWasKnown) {
  const ModelDocument before(kUri, model("%y = Relu(%x) }"));
  ModelDocument broken(kUri, "model @m(" + model("%y = Relu(%x) }"));
  EXPECT_EQ(type(broken, "y"), "");
  broken.keep_types_of(before);
  EXPECT_EQ(type(broken, "y"), "f32[n, 8]");
}

TEST(ModelDocument, EveryPrefixAndEveryPlace) {
  const std::string text =
      model("// \xf0\x9d\x95\x8f\n%\"a b\" = Relu(%x) : _ on npu[0]\n%y = Gelu(%\"a b\") {approximate = \"tanh\"} }");
  for (size_t end = 0; end <= text.size(); ++end) {
    const ModelDocument document(kUri, text.substr(0, end));
    for (uint32_t offset = 0; offset <= end; ++offset) {
      const int index = document.word_at(offset);
      if (index >= 0) document.declaration_of(document.words()[static_cast<size_t>(index)]);
    }
  }
}

}  // namespace
}  // namespace collage::rules_tool::lsp
