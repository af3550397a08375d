// SPDX-License-Identifier: Apache-2.0
// What a word in a rule file stands for, from the tokens alone, so that it can be asked while a statement is half
// written.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/ops/op_def.h"
#include "compiler/rules_tool/lsp/document.h"

namespace collage::rules_tool::lsp {

/// A name that a pattern binds.
struct Capture {
  std::string name;
  support::Span span;
  bool is_node = false;                ///< `c = Conv(x)`; else a value
  bool is_const = false;               ///< `w: const`
  bool may_be_absent = false;          ///< `b?`
  std::vector<std::string> operators;  ///< of a node: `Relu`, `Sigmoid`
};

/// Where a place is: the statements around it, and what they make visible. What it was asked once it knows.
class Scope {
 public:
  Scope(const Document& document, uint32_t offset);
  Scope(const Document& document, std::vector<const Statement*> chain);

  /// The innermost statement of this kind around the place, or null.
  const Statement* around(std::string_view head) const;
  /// The innermost statement around the place, or null.
  const Statement* statement() const { return chain_.empty() ? nullptr : chain_.back(); }
  /// The innermost statement with a block around the place, or null at the top.
  const Statement* block() const;

  /// Captures of the rule, rewrite, `deny` or `def` around the place.
  const std::vector<Capture>& captures() const;
  /// Statements of a kind that are visible here: in the backend around the place, and at the top.
  const std::vector<const Statement*>& declared(std::string_view head) const;
  /// The parameter `name` of the `def`, `let` or `semantics` around the place; null if there is none.
  const FormatToken* parameter(std::string_view name) const;
  /// Members of the family whose variable is `name`; empty if there is no such family.
  std::vector<std::string> family_members(std::string_view name) const;
  /// Operators that a capture's node may be, families resolved.
  std::vector<const ir::OpDef*> operators_of(std::string_view capture) const;

 private:
  std::vector<Capture> find_captures() const;
  std::vector<const Statement*> find_declared(std::string_view head) const;

  const Document& document_;
  std::vector<const Statement*> chain_;
  mutable std::optional<std::vector<Capture>> captures_;
  mutable std::map<std::string, std::vector<const Statement*>, std::less<>> declared_;  ///< by head
};

struct Symbol {
  enum class Kind {
    Keyword,
    Operator,
    Function,
    Capture,
    Variable,
    Parameter,
    Attribute,
    BackendAttribute,
    Definition,
    Device,
    Backend,
    Quantity,
    DType,
    Include
  };
  Kind kind = Kind::Keyword;
  std::string name;
  support::Span span;                       ///< of the word
  std::optional<support::Span> definition;  ///< in this document
  std::string text;                         ///< documentation, as Markdown
};

/// Where the name that stands at `offset`, in a statement or a message, is declared in this document; nullopt if
/// nowhere.
std::optional<support::Span> definition_of(const Document& document, std::string_view name, uint32_t offset);

/// Returns nullopt if the word has no meaning here.
std::optional<Symbol> symbol_at(const Document& document, uint32_t offset);

/// What each token stands for; nullopt for those without a meaning.
std::vector<std::optional<Symbol>> symbols_of(const Document& document);

}  // namespace collage::rules_tool::lsp
