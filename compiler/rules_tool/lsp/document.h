// SPDX-License-Identifier: Apache-2.0
// A rule file as it stands in an editor: its text, its statements, and what is wrong with it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/rules/rule_set.h"
#include "compiler/rules_tool/lsp/positions.h"
#include "compiler/rules_tool/outline.h"
#include "runtime/support/diagnostic.h"

namespace collage::rules_tool::lsp {

/// Texts that an editor has open, by path without `.` and `..`.
using Buffers = std::map<std::string, support::SharedText>;

class Document {
 public:
  /// What it includes is read from `buffers` where they have it, else from files.
  Document(std::string uri, support::SharedText text, const Buffers& buffers);

  const std::string& uri() const { return uri_; }
  std::string_view text() const { return sources_->text(file_); }
  const support::SharedText& shared_text() const { return sources_->shared_text(file_); }
  support::FileId file() const { return file_; }
  const std::vector<Statement>& statements() const { return statements_; }
  /// Tokens without comments.
  const std::vector<FormatToken>& tokens() const { return tokens_; }
  /// Index of the token that holds `offset`, or ends there and is a word; -1 where there is none.
  int token_at(uint32_t offset) const;

  enum class Depth {
    Errors,   ///< what is wrong: found at once
    Warnings  ///< also what `collage-rules check` warns of, and models of tests: may take seconds
  };
  /// Parses and checks; the `diagnostics` of the protocol. `is_right`, where given, becomes true if warnings can be
  /// asked for: the file has no error, and can be judged alone.
  Json diagnostics(Depth depth, bool* is_right = nullptr) const;
  /// Returns what the file says; nullopt if it has errors, links to devices of other files aside.
  std::optional<ir::RuleSet> rules(support::Diagnostics& diags) const;
  support::SourceManager& sources() const { return *sources_; }
  /// Has an `include` led to the file at `path`?
  bool has_read(const std::string& path) const;
  bool has_includes() const;
  /// The text as `fmt` writes it; nullopt if it does not parse.
  std::optional<std::string> formatted() const;

 private:
  std::string uri_;
  std::unique_ptr<support::SourceManager> sources_;
  support::FileId file_;
  std::vector<FormatToken> tokens_;
  std::vector<Statement> statements_;
};

}  // namespace collage::rules_tool::lsp
