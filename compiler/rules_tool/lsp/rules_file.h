// SPDX-License-Identifier: Apache-2.0
// An open file of the rule language.
#pragma once

#include "compiler/rules_tool/lsp/document.h"
#include "compiler/rules_tool/lsp/open_file.h"

namespace collage::rules_tool::lsp {

class RulesFile : public OpenFile {
 public:
  /// `buffers`: what other files that are open say.
  RulesFile(const std::string& uri, support::SharedText text, const Buffers& buffers);

  const support::SharedText& shared_text() const override { return document_.shared_text(); }
  const Json& diagnostics() const override { return diagnostics_; }
  bool has_slow_check() const override { return is_right_; }
  bool depends_on(const std::string& path) const override;

  Json hover(uint32_t offset) const override;
  Json definition(uint32_t offset) const override;
  Json completion(uint32_t offset) const override;
  std::vector<support::Span> references(uint32_t offset, bool with_declaration) const override;
  std::optional<Renamable> renamable(uint32_t offset) const override;
  Rename rename(uint32_t offset, const std::string& name) const override;
  Json symbols() const override;
  std::vector<SemanticToken> semantic_tokens() const override;
  std::optional<std::string> formatted() const override { return document_.formatted(); }
  bool has_formatter() const override { return true; }
  Json actions(uint32_t offset) const override;
  std::vector<Edit> resolve(const Json& data) const override;
  Json lenses() const override;
  std::optional<Json> run_tests(const Json& which) const override;

 private:
  Document document_;
  bool is_right_ = false;
  Json diagnostics_;
};

/// Errors and warnings of a text; may take seconds. Shares nothing with open files.
Json slow_diagnostics(const std::string& uri, support::SharedText text, const Buffers& buffers);

}  // namespace collage::rules_tool::lsp
