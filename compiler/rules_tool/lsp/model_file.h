// SPDX-License-Identifier: Apache-2.0
// An open file of the model language.
#pragma once

#include "compiler/rules_tool/lsp/model_document.h"
#include "compiler/rules_tool/lsp/open_file.h"

namespace collage::rules_tool::lsp {

class ModelFile : public OpenFile {
 public:
  /// `before`: the same file as it was before the last change, or null.
  ModelFile(const std::string& uri, std::string text, const ModelFile* before);

  const support::SharedText& shared_text() const override { return document_.shared_text(); }
  const Json& diagnostics() const override { return document_.diagnostics(); }

  Json hover(uint32_t offset) const override;
  Json definition(uint32_t offset) const override;
  Json completion(uint32_t offset) const override;
  std::vector<support::Span> references(uint32_t offset, bool with_declaration) const override;
  std::optional<Renamable> renamable(uint32_t offset) const override;
  Rename rename(uint32_t offset, const std::string& name) const override;
  Json symbols() const override;
  std::vector<SemanticToken> semantic_tokens() const override;

 private:
  const ModelWord* word_at(uint32_t offset) const;
  std::string value_text(const ModelWord& word) const;
  std::string word_text(const ModelWord& word) const;

  ModelDocument document_;
};

}  // namespace collage::rules_tool::lsp
