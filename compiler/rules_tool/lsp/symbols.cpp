// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/lsp/symbols.h"

#include <algorithm>

#include "compiler/rules_tool/lsp/words.h"
#include "compiler/syntax/rules_keywords.h"

namespace collage::rules_tool::lsp {
namespace {

using Kind = FormatToken::Kind;

bool holds_pattern(const Statement& statement) {
  const syntax::Keyword* keyword = syntax::find_keyword(statement.head);
  return keyword != nullptr && keyword->opens == syntax::Patterns;
}

/// Token `i`, or an empty sign.
const FormatToken& at(const std::vector<FormatToken>& tokens, size_t i) {
  static const FormatToken none{Kind::Sign, {}, {}};
  return i < tokens.size() ? tokens[i] : none;
}

/// Index after the bracket that closes the one at `i`.
size_t after_bracket(const std::vector<FormatToken>& tokens, size_t i) {
  int depth = 0;
  for (; i < tokens.size(); ++i) {
    if (tokens[i].is("(") || tokens[i].is("{")) ++depth;
    if ((tokens[i].is(")") || tokens[i].is("}")) && --depth == 0) return i + 1;
  }
  return i;
}

/// Do operands follow the word at `i`: `Relu(`, `act?(`, `Relu{1, 3}(`, `Relu*(`?
bool has_operands(const std::vector<FormatToken>& tokens, size_t i) {
  size_t next = i + 1;
  if (at(tokens, next).is("?") || at(tokens, next).is("*")) ++next;
  if (at(tokens, next).is("{") && at(tokens, next).brace == FormatToken::Brace::Repetition) {
    next = after_bracket(tokens, next);
  }
  return at(tokens, next).is("(");
}

/// Names of operators from `i` on: `Conv(`, or `(Relu | Tanh)(`.
std::vector<std::string> operator_names(const std::vector<FormatToken>& tokens, size_t i) {
  const FormatToken& first = at(tokens, i);
  if (first.kind == Kind::Name) return {std::string(first.text)};
  std::vector<std::string> names;
  if (!first.is("(")) return names;
  int depth = 0;
  for (; i < tokens.size(); ++i) {
    if (tokens[i].is("(")) ++depth;
    if (tokens[i].is(")") && --depth == 0) break;
    if (depth == 1 && tokens[i].kind == Kind::Name) names.emplace_back(tokens[i].text);
  }
  return names;
}

/// Captures of a pattern between two tokens; each where it stands first.
void collect(const std::vector<FormatToken>& tokens, size_t begin, size_t end, std::vector<Capture>* captures) {
  for (size_t i = begin; i < end; ++i) {
    const FormatToken& token = tokens[i];
    bool is_qualifier = at(tokens, i - 1).is(":");
    if (token.kind != Kind::Name || is_qualifier || token.is("_") || token.is("none")) continue;
    Capture capture;
    capture.name = token.text;
    capture.span = token.span;
    capture.is_node = at(tokens, i + 1).is("=") && !at(tokens, i + 2).is("..") && !at(tokens, i + 2).is("each");
    if (capture.is_node) capture.operators = operator_names(tokens, i + 2);
    size_t next = i + 1;
    capture.may_be_absent = at(tokens, next).is("?");
    next += capture.may_be_absent ? 1 : 0;
    capture.is_const = at(tokens, next).is(":") && at(tokens, next + 1).is("const");
    bool is_operator = has_operands(tokens, i) || ir::find_op(token.text) != nullptr;
    bool is_known = std::any_of(captures->begin(), captures->end(),
                                [&](const Capture& other) { return other.name == capture.name; });
    if (!is_operator && !is_known) captures->push_back(std::move(capture));
  }
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string describe(const Capture& capture) {
  if (capture.is_node) return fmt::format("`{}`: a node, {}", capture.name, joined(capture.operators));
  return fmt::format("`{}`: a {}value{}", capture.name, capture.is_const ? "constant " : "",
                     capture.may_be_absent ? " that may be left out" : "");
}

class Resolver {
 public:
  Resolver(const Document& document, size_t index, const Scope& scope)
      : tokens_(document.tokens()), index_(index), token_(tokens_[index]), scope_(scope) {}

  std::optional<Symbol> run() const {
    if (token_.kind == Kind::String) return include();
    if (token_.kind != Kind::Name && token_.kind != Kind::Keyword) return std::nullopt;
    if (before().is(".")) return attribute();
    if (const FormatToken* parameter = scope_.parameter(token_.text)) {
      return make(Symbol::Kind::Parameter, parameter->span, fmt::format("`{}`: a parameter", token_.text));
    }
    if (auto found = capture()) return found;
    if (auto found = declared()) return found;
    std::vector<std::string> members = scope_.family_members(token_.text);
    if (!members.empty()) {
      return make(Symbol::Kind::Variable, variable_span(),
                  fmt::format("`{}`: one of {}", token_.text, joined(members)));
    }
    return word();
  }

 private:
  const FormatToken& before() const { return at(tokens_, index_ - 1); }
  const FormatToken& following() const { return at(tokens_, index_ + 1); }

  Symbol make(Symbol::Kind kind, std::optional<support::Span> definition, std::string text) const {
    return {kind, std::string(token_.text), token_.span, definition, std::move(text)};
  }

  std::optional<Symbol> include() const {
    const Statement* statement = scope_.statement();
    if (statement == nullptr || statement->head != "include") return std::nullopt;
    Symbol symbol = make(Symbol::Kind::Include, std::nullopt, "another rule file, whose definitions are visible here");
    symbol.name = token_.text.substr(1, token_.text.size() < 2 ? 0 : token_.text.size() - 2);
    return symbol;
  }

  /// `c.group`
  std::optional<Symbol> attribute() const {
    for (const ir::OpDef* op : scope_.operators_of(at(tokens_, index_ - 2).text)) {
      const ir::AttrDef* attr = op->find_attr(token_.text);
      if (attr == nullptr) continue;
      return make(Symbol::Kind::Attribute, std::nullopt,
                  fmt::format("`{}`: attribute of `{}`, {}{}", attr->name, op->name, attribute_kind(attr->kind),
                              attr->is_required() ? ", required" : ""));
    }
    return std::nullopt;
  }

  std::optional<Symbol> capture() const {
    if (has_operands(tokens_, index_) && ir::find_op(token_.text) != nullptr) return std::nullopt;
    if (token_.kind == Kind::Keyword) return std::nullopt;
    for (const Capture& capture : scope_.captures()) {
      if (capture.name == token_.text) return make(Symbol::Kind::Capture, capture.span, describe(capture));
    }
    return std::nullopt;
  }

  std::optional<Symbol> declared() const {
    static constexpr std::pair<std::string_view, Symbol::Kind> kinds[] = {
        {"attr", Symbol::Kind::BackendAttribute}, {"knob", Symbol::Kind::BackendAttribute},
        {"def", Symbol::Kind::Definition},        {"let", Symbol::Kind::Definition},
        {"rewrite", Symbol::Kind::Definition},    {"rule", Symbol::Kind::Definition},
        {"device", Symbol::Kind::Device},         {"switch", Symbol::Kind::Device},
        {"memory", Symbol::Kind::Device},         {"backend", Symbol::Kind::Backend}};
    // A device is often called like its backend: a link goes to the device.
    const Statement* statement = scope_.statement();
    for (const auto& [head, kind] : kinds) {
      if (head == "rule" && (statement == nullptr || statement->head != "rule")) continue;
      const bool is_rewrite = statement != nullptr && statement->head == "rewrite";
      if (head == "rewrite" && scope_.around("phase") == nullptr && !is_rewrite) continue;
      for (const Statement* other : scope_.declared(head)) {
        if (other->name() == nullptr || !other->name()->is(token_.text)) continue;
        return make(kind, other->name()->span, fmt::format("```\n{} {}\n```", other->head, other->text()));
      }
    }
    return std::nullopt;
  }

  support::Span variable_span() const {
    const Statement* rule = scope_.around("rule");
    size_t family = rule->find("for");
    return at(rule->tokens, family + 1).span;
  }

  std::optional<Symbol> word() const {
    bool is_call = following().is("(");
    if (const ir::OpDef* op = ir::find_op(token_.text)) {
      return make(Symbol::Kind::Operator, std::nullopt, operator_text(*op));
    }
    const Statement* statement = scope_.statement();
    bool in_pattern = statement != nullptr && holds_pattern(*statement);
    if (is_call && !in_pattern) {
      std::string text = function_text(token_.text);
      if (!text.empty()) return make(Symbol::Kind::Function, std::nullopt, text);
    }
    std::string text = word_text(token_.text);
    if (text.empty()) return std::nullopt;
    bool is_keyword = syntax::find_keyword(token_.text) != nullptr;
    return make(is_keyword ? Symbol::Kind::Keyword : Symbol::Kind::Quantity, std::nullopt, text);
  }

  const std::vector<FormatToken>& tokens_;
  size_t index_;
  const FormatToken& token_;
  const Scope& scope_;
};

}  // namespace

Scope::Scope(const Document& document, uint32_t offset)
    : Scope(document, statements_at(document.statements(), offset)) {}

Scope::Scope(const Document& document, std::vector<const Statement*> chain)
    : document_(document), chain_(std::move(chain)) {}

const Statement* Scope::around(std::string_view head) const {
  auto it = std::find_if(chain_.rbegin(), chain_.rend(), [head](const Statement* s) { return s->head == head; });
  return it == chain_.rend() ? nullptr : *it;
}

const Statement* Scope::block() const {
  auto it = std::find_if(chain_.rbegin(), chain_.rend(), [](const Statement* s) { return s->has_block; });
  return it == chain_.rend() ? nullptr : *it;
}

const std::vector<Capture>& Scope::captures() const {
  if (!captures_) captures_ = find_captures();
  return *captures_;
}

std::vector<Capture> Scope::find_captures() const {
  std::vector<Capture> captures;
  if (const Statement* rule = around("rule")) {
    for (const Statement& statement : rule->inner) {
      if (statement.head == "match") collect(statement.tokens, 1, statement.tokens.size(), &captures);
    }
    // The family's variable and the names of `def`s are no captures.
    std::erase_if(captures, [&](const Capture& capture) { return !family_members(capture.name).empty(); });
    return captures;
  }
  for (std::string_view head : {"rewrite", "deny", "numerics", "def"}) {
    const Statement* statement = around(head);
    if (statement == nullptr) continue;
    size_t begin = head == "rewrite" ? statement->find(":") + 1 : head == "def" ? 2 : 1;
    size_t end = std::min(
        {statement->find("where"), statement->find("because"), statement->find("when"), statement->find("loses")});
    collect(statement->tokens, begin, end, &captures);
    return captures;
  }
  return captures;
}

const std::vector<const Statement*>& Scope::declared(std::string_view head) const {
  auto known = declared_.find(head);
  if (known == declared_.end()) known = declared_.emplace(head, find_declared(head)).first;
  return known->second;
}

std::vector<const Statement*> Scope::find_declared(std::string_view head) const {
  std::vector<const Statement*> found;
  auto add = [&](const std::vector<Statement>& statements) {
    for (const Statement& statement : statements) {
      if (statement.head == head) found.push_back(&statement);
      // Memories stand inside devices, and have a name or only a size.
      if (head != "memory" || statement.head != "device") continue;
      for (const Statement& inner : statement.inner) {
        const bool has_name = inner.name() != nullptr && inner.name()->kind == FormatToken::Kind::Name;
        if (inner.head == head && has_name) found.push_back(&inner);
      }
    }
  };
  for (auto it = chain_.rbegin(); it != chain_.rend(); ++it) {
    if ((*it)->has_block) add((*it)->inner);
  }
  add(document_.statements());
  return found;
}

std::vector<std::string> Scope::family_members(std::string_view name) const {
  std::vector<std::string> members;
  const Statement* rule = around("rule");
  if (rule == nullptr) return members;
  size_t family = rule->find("for");
  if (!at(rule->tokens, family + 1).is(name)) return members;
  for (size_t i = family + 3; i < rule->tokens.size(); ++i) {
    if (rule->tokens[i].kind == Kind::Name) members.emplace_back(rule->tokens[i].text);
  }
  return members;
}

std::vector<const ir::OpDef*> Scope::operators_of(std::string_view name) const {
  std::vector<const ir::OpDef*> ops;
  for (const Capture& capture : captures()) {
    if (capture.name != name) continue;
    for (const std::string& word : capture.operators) {
      std::vector<std::string> names = family_members(word);
      if (names.empty()) names = {word};
      for (const std::string& op : names) {
        if (ir::find_op(op) != nullptr) ops.push_back(ir::find_op(op));
      }
    }
  }
  return ops;
}

const FormatToken* Scope::parameter(std::string_view name) const {
  for (auto it = chain_.rbegin(); it != chain_.rend(); ++it) {
    const Statement& statement = **it;
    if (statement.head != "def" && statement.head != "let" && statement.head != "semantics") continue;
    size_t i = 1;  // the name, with the word before it of `def where` and `def kernel`
    while (i < statement.tokens.size() && !statement.tokens[i].is("(") && !statement.tokens[i].is("=")) ++i;
    if (!at(statement.tokens, i).is("(")) continue;
    for (; i < statement.tokens.size() && !statement.tokens[i].is(")"); ++i) {
      if (statement.tokens[i].kind == Kind::Name && statement.tokens[i].is(name)) return &statement.tokens[i];
    }
  }
  return nullptr;
}

std::optional<support::Span> definition_of(const Document& document, std::string_view name, uint32_t offset) {
  const Scope scope(document, offset);
  if (const FormatToken* parameter = scope.parameter(name)) return parameter->span;
  for (const Capture& capture : scope.captures()) {
    if (capture.name == name) return capture.span;
  }
  for (std::string_view head : {"attr", "knob", "def", "let", "memory"}) {
    for (const Statement* statement : scope.declared(head)) {
      if (statement->name() != nullptr && statement->name()->is(name)) return statement->name()->span;
    }
  }
  if (scope.family_members(name).empty()) return std::nullopt;
  const Statement* rule = scope.around("rule");
  return at(rule->tokens, rule->find("for") + 1).span;
}

std::optional<Symbol> symbol_at(const Document& document, uint32_t offset) {
  int index = document.token_at(offset);
  if (index < 0) return std::nullopt;
  const auto token = static_cast<size_t>(index);
  const Scope scope(document, document.tokens()[token].span.begin);
  return Resolver(document, token, scope).run();
}

std::vector<std::optional<Symbol>> symbols_of(const Document& document) {
  std::vector<std::optional<Symbol>> symbols;
  std::optional<Scope> scope;  // of the innermost statement, which many tokens share
  for (size_t i = 0; i < document.tokens().size(); ++i) {
    std::vector<const Statement*> chain = statements_at(document.statements(), document.tokens()[i].span.begin);
    const Statement* innermost = chain.empty() ? nullptr : chain.back();
    if (!scope || scope->statement() != innermost) scope.emplace(document, std::move(chain));
    symbols.push_back(Resolver(document, i, *scope).run());
  }
  return symbols;
}

}  // namespace collage::rules_tool::lsp
