// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/lsp/references.h"

#include <algorithm>
#include <cctype>

#include "compiler/ir/ops/op_def.h"
#include "compiler/rules_tool/lsp/symbols.h"
#include "compiler/sema/rules/named_parts.h"
#include "compiler/syntax/rules_keywords.h"

namespace collage::rules_tool::lsp {
namespace {

using support::Span;
using Kind = FormatToken::Kind;

bool is_same_place(const Span& a, const Span& b) {
  return a.begin == b.begin && a.end == b.end;
}

bool is_word_start(char c) {
  return c == '_' || std::isalpha(static_cast<unsigned char>(c)) != 0;
}

bool is_word_part(char c) {
  return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
}

/// Words in the `{…}` of a message, but for those after a dot.
std::vector<Span> words_in_holes(const FormatToken& message) {
  std::vector<Span> words;
  const std::string_view text = message.text;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '{') {
      ++depth;
    } else if (text[i] == '}') {
      depth -= depth > 0 ? 1 : 0;
    } else if (depth > 0 && is_word_start(text[i])) {
      size_t end = i;
      while (end < text.size() && is_word_part(text[end])) ++end;
      const Span span{message.span.file, static_cast<uint32_t>(message.span.begin + i),
                      static_cast<uint32_t>(message.span.begin + end)};
      if (text[i - 1] != '.') words.push_back(span);
      i = end - 1;
    }
  }
  return words;
}

bool is_in_test(const Document& document, uint32_t offset) {
  const Scope scope(document, offset);
  return scope.statement() != nullptr && scope.statement()->head == "test";
}

std::string_view text_of(const Document& document, const Span& span) {
  return document.text().substr(span.begin, span.end - span.begin);
}

/// The declaration of the word at `offset`, and what it stands for.
std::optional<Symbol> declared_at(const Document& document, uint32_t offset) {
  std::optional<Symbol> symbol = symbol_at(document, offset);
  if (!symbol || !symbol->definition || is_in_test(document, offset)) return std::nullopt;
  return symbol;
}

/// Tests that make `w` a constant by its name alone: `with w: f32[1]` => `with w: const f32[1]`.
void mark_constants(const Document& document, std::string_view name, const Span& definition, std::vector<Edit>* edits) {
  const std::vector<FormatToken>& tokens = document.tokens();
  for (size_t i = 1; i + 2 < tokens.size(); ++i) {
    const bool is_typed = tokens[i].is(name) && tokens[i + 1].is(":") && !tokens[i + 2].is("const") &&
                          (tokens[i - 1].is("with") || tokens[i - 1].is(","));
    if (!is_typed || !is_in_test(document, tokens[i].span.begin)) continue;
    // Only of the rule whose operand it is.
    const Scope scope(document, tokens[i].span.begin);
    const Statement* rule = scope.around("rule");
    const bool is_of_rule = rule != nullptr && rule->span.begin <= definition.begin && definition.end <= rule->span.end;
    if (!is_of_rule) continue;
    Span at = tokens[i + 2].span;
    at.end = at.begin;
    edits->push_back({at, "const "});
  }
}

/// Index of the token at a place; the number of tokens for a place in a message.
size_t token_of(const Document& document, const Span& place) {
  const std::vector<FormatToken>& tokens = document.tokens();
  auto found = std::find_if(tokens.begin(), tokens.end(),
                            [&](const FormatToken& token) { return is_same_place(token.span, place); });
  return static_cast<size_t>(found - tokens.begin());
}

bool is_in_lowering(const Document& document, uint32_t offset) {
  const Scope scope(document, offset);
  return scope.statement() != nullptr && scope.statement()->head == "lower";
}

/// Is it the `b` of `lower "sub"(b = x)`?
bool names_argument(const Document& document, size_t i) {
  const std::vector<FormatToken>& tokens = document.tokens();
  return i + 1 < tokens.size() && tokens[i + 1].is("=") && is_in_lowering(document, tokens[i].span.begin);
}

/// An argument of `lower` without a name of its own has that of what it hands over, and keeps it: `lower "f"(w)` =>
/// `lower "f"(w = weights)`.
void add_edits(const Document& document, const Span& place, const Symbol& symbol, const std::string& name,
               std::vector<Edit>* edits) {
  const std::vector<FormatToken>& tokens = document.tokens();
  const size_t i = token_of(document, place);
  const bool is_whole = i >= 3 && i + 1 < tokens.size() && is_in_lowering(document, place.begin) &&
                        (tokens[i + 1].is(",") || tokens[i + 1].is(")")) &&
                        (tokens[i - 1].is(",") || tokens[i - 1].is("("));
  if (is_whole && tokens[i].depth == 1) return edits->push_back({place, symbol.name + " = " + name});
  if (is_whole && tokens[i - 2].is("encode") && !tokens[i - 3].is("=")) {
    Span before = tokens[i - 2].span;
    before.end = before.begin;
    edits->push_back({before, symbol.name + " = "});
  }
  edits->push_back({place, name});
}

bool is_const_capture(const Document& document, const Symbol& symbol) {
  const Scope scope(document, symbol.span.begin);
  const std::vector<Capture> captures = scope.captures();
  return std::any_of(captures.begin(), captures.end(),
                     [&](const Capture& capture) { return capture.name == symbol.name && capture.is_const; });
}

/// Why the name cannot be changed in this document alone; empty where it can.
std::string why_not_here(const Document& document, const Symbol& symbol) {
  const bool is_local = symbol.kind == Symbol::Kind::Capture || symbol.kind == Symbol::Kind::Variable ||
                        symbol.kind == Symbol::Kind::Parameter || symbol.kind == Symbol::Kind::Definition ||
                        symbol.kind == Symbol::Kind::BackendAttribute;
  const bool is_in_file =
      std::any_of(document.statements().begin(), document.statements().end(), [&](const Statement& statement) {
        return statement.name() != nullptr && is_same_place(statement.name()->span, *symbol.definition);
      });
  if (!is_local || is_in_file) return "`" + symbol.name + "` may be named in other files, too";
  const Scope scope(document, symbol.definition->begin);
  if (symbol.kind == Symbol::Kind::Parameter && scope.around("semantics") != nullptr)
    return "`" + symbol.name + "` names an argument of kernels";
  return "";
}

/// Does a word of the file, tests and names after a dot aside, have this spelling?
bool is_written(const Document& document, const std::string& name) {
  const std::vector<FormatToken>& tokens = document.tokens();
  for (size_t i = 0; i < tokens.size(); ++i) {
    const bool is_name = tokens[i].is(name) && (i == 0 || !tokens[i - 1].is("."));
    if (is_name && !is_in_test(document, tokens[i].span.begin)) return true;
  }
  return false;
}

std::string refusal_of(const Document& document, const Symbol& symbol, const std::string& name) {
  const bool is_word = !name.empty() && is_word_start(name[0]) && std::all_of(name.begin(), name.end(), is_word_part);
  if (!is_word) return "`" + name + "` is no name";
  const syntax::Keyword* keyword = syntax::find_keyword(name);
  if (keyword != nullptr && !keyword->may_be_name()) return "`" + name + "` is a keyword";
  if (name == "_" || name == "none" || ir::find_op(name) != nullptr || !sema::meaning_of_name(name).empty())
    return "`" + name + "` means something already";
  return why_not_here(document, symbol);
}

}  // namespace

std::vector<Span> references_of(const Document& document, uint32_t offset) {
  const std::optional<Symbol> wanted = declared_at(document, offset);
  std::vector<Span> found;
  if (!wanted) return found;
  for (const FormatToken& token : document.tokens()) {
    if (token.kind == Kind::String && !is_in_test(document, token.span.begin)) {
      for (const Span& word : words_in_holes(token)) {
        if (text_of(document, word) != wanted->name) continue;
        const std::optional<Span> meant = definition_of(document, wanted->name, token.span.begin);
        if (meant && is_same_place(*meant, *wanted->definition)) found.push_back(word);
      }
      continue;
    }
    if (!token.is(wanted->name) || names_argument(document, token_of(document, token.span))) continue;
    const std::optional<Symbol> symbol = declared_at(document, token.span.begin);
    if (symbol && is_same_place(*symbol->definition, *wanted->definition)) found.push_back(token.span);
  }
  return found;
}

std::optional<Renamable> renamable_at(const Document& document, uint32_t offset) {
  const std::optional<Symbol> symbol = declared_at(document, offset);
  if (!symbol || !why_not_here(document, *symbol).empty()) return std::nullopt;
  return Renamable{symbol->span, symbol->name};
}

Rename rename_at(const Document& document, uint32_t offset, const std::string& name) {
  Rename rename;
  const std::optional<Symbol> symbol = declared_at(document, offset);
  if (!symbol) {
    rename.refusal = "nothing that this file declares stands here";
    return rename;
  }
  rename.refusal = refusal_of(document, *symbol, name);
  if (!rename.refusal.empty() || name == symbol->name) return rename;
  // What a whole backend sees hides no other name there, used with it or not: `def act` => `def x` is an error of every
  // rule that captures an `x`.
  const bool is_seen_by_all =
      symbol->kind == Symbol::Kind::Definition || symbol->kind == Symbol::Kind::BackendAttribute;
  if (is_seen_by_all && is_written(document, name)) {
    rename.refusal = "`" + name + "` is a name in this file already";
    return rename;
  }
  const std::vector<Span> places = references_of(document, offset);
  for (const Span& place : places) {
    const std::optional<Span> taken = definition_of(document, name, place.begin);
    if (!taken) continue;
    rename.refusal = "`" + name + "` is declared already";
    return rename;
  }
  for (const Span& place : places) add_edits(document, place, *symbol, name, &rename.edits);
  if (symbol->kind == Symbol::Kind::Capture && is_const_capture(document, *symbol))
    mark_constants(document, symbol->name, *symbol->definition, &rename.edits);
  return rename;
}

}  // namespace collage::rules_tool::lsp
