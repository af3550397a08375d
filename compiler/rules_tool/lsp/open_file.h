// SPDX-License-Identifier: Apache-2.0
// A file that an editor has open, in one of the two languages: what the server asks about it. Offsets are bytes of its
// text; results are those of the protocol. Any text has answers, however broken.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/rules_tool/lsp/edit.h"
#include "compiler/rules_tool/lsp/positions.h"
#include "compiler/rules_tool/lsp/semantic_tokens.h"
#include "runtime/support/source_manager.h"

namespace collage::rules_tool::lsp {

class OpenFile {
 public:
  explicit OpenFile(std::string uri) : uri_(std::move(uri)) {}
  virtual ~OpenFile() = default;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  const std::string& uri() const { return uri_; }
  virtual const support::SharedText& shared_text() const = 0;
  std::string_view text() const { return *shared_text(); }

  /// Errors, found at once.
  virtual const Json& diagnostics() const = 0;
  /// Is there a check that takes longer and finds more? `slow_diagnostics` makes it, from any thread.
  virtual bool has_slow_check() const { return false; }

  /// Does what is said about it depend on the text of the file at `path`, or may it?
  virtual bool depends_on(const std::string& /*path*/) const { return false; }

  virtual Json hover(uint32_t offset) const = 0;
  virtual Json definition(uint32_t offset) const = 0;
  virtual Json completion(uint32_t offset) const = 0;
  virtual std::vector<support::Span> references(uint32_t offset, bool with_declaration) const = 0;
  virtual std::optional<Renamable> renamable(uint32_t offset) const = 0;
  virtual Rename rename(uint32_t offset, const std::string& name) const = 0;
  virtual Json symbols() const = 0;
  virtual std::vector<SemanticToken> semantic_tokens() const = 0;
  /// The text as the formatter writes it; nullopt if it does not parse, or the language has no formatter.
  virtual std::optional<std::string> formatted() const { return std::nullopt; }
  virtual bool has_formatter() const { return false; }

  /// Actions at a place beside the fixes of diagnostics; those with `data` get their edit from `resolve`.
  virtual Json actions(uint32_t /*offset*/) const { return Json::array(); }
  /// Edits of an action, by its `data`; empty where there is none to be had.
  virtual std::vector<Edit> resolve(const Json& /*data*/) const { return {}; }

  virtual Json lenses() const { return Json::array(); }
  /// Runs tests, those of a lens's argument; nullopt if the file has errors.
  virtual std::optional<Json> run_tests(const Json& /*which*/) const { return std::nullopt; }

 private:
  std::string uri_;
};

}  // namespace collage::rules_tool::lsp
