// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/lsp/completion.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "compiler/ir/placement/split.h"
#include "compiler/ir/rules/functions.h"
#include "compiler/rules_tool/lsp/symbols.h"
#include "compiler/rules_tool/lsp/words.h"
#include "runtime/core/layout.h"
#include "runtime/core/storage.h"
#include "runtime/encodings/encodings.h"

namespace collage::rules_tool::lsp {
namespace {

/// `CompletionItemKind` of the protocol.
enum class ItemKind { Function = 3, Field = 5, Variable = 6, Class = 7, Property = 10, Value = 12, Keyword = 14 };

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

class Completer {
 public:
  Completer(const Document& document, uint32_t offset)
      : document_(document), word_begin_(begin_of_word(document.text(), offset)), scope_(document, word_begin_) {
    prefix_ = document.text().substr(word_begin_, offset - word_begin_);
  }

  Json run() {
    if (is_in_encode()) {
      words(runtime::encoding_names(), ItemKind::Value);
      return items();
    }
    if (is_in_comment_or_string()) return Json::array();
    const FormatToken* last = token_before();
    if (last != nullptr && last->is(".")) {
      attributes(token_before(2));
      return items();
    }
    bool starts_line = last == nullptr || begins_line();
    bool may_start = last == nullptr || starts_line || last->is(";") || last->opens_block() || last->closes_block();
    const Statement* block = scope_.block();
    if (may_start) words(statement_words(block == nullptr ? "" : block->head), ItemKind::Keyword);
    // On a line of its own a statement goes on only after what cannot end it.
    bool is_inside = last != nullptr && !last->opens_block() && !last->closes_block() && !last->is(";") &&
                     !(starts_line && can_end(*last));
    if (is_inside && scope_.statement() != nullptr) inside(*scope_.statement(), *last);
    return items();
  }

 private:
  static bool can_end(const FormatToken& token) {
    if (token.kind == FormatToken::Kind::Keyword) return false;
    return token.kind != FormatToken::Kind::Sign || token.is(")") || token.is("]") || token.is("}") || token.is("?");
  }

  /// `encode(w, "OH`: in a string that names an encoding.
  bool is_in_encode() const {
    std::string_view before = document_.text().substr(0, word_begin_);
    std::string_view line = before.substr(std::min(before.rfind('\n') + 1, before.size()));
    const size_t call = line.rfind("encode(");
    if (call == std::string_view::npos || !line.ends_with('"')) return false;
    std::string_view inside = line.substr(call);
    return std::count(inside.begin(), inside.end(), '"') % 2 == 1 && inside.find(')') == std::string_view::npos;
  }

  static uint32_t begin_of_word(std::string_view text, uint32_t offset) {
    while (offset > 0 && is_word(text[offset - 1])) --offset;
    return offset;
  }

  /// The token that ends before the word; with `distance` 2, the one before that.
  const FormatToken* token_before(size_t distance = 1) const {
    const std::vector<FormatToken>& tokens = document_.tokens();
    auto next = std::find_if(tokens.begin(), tokens.end(),
                             [this](const FormatToken& token) { return token.span.end > word_begin_; });
    return static_cast<size_t>(next - tokens.begin()) >= distance ? &*(next - static_cast<std::ptrdiff_t>(distance))
                                                                  : nullptr;
  }

  /// Do only blanks stand before the word on its line?
  bool begins_line() const {
    std::string_view before = document_.text().substr(0, word_begin_);
    size_t at = before.find_last_not_of(" \t");
    return at == std::string_view::npos || before[at] == '\n';
  }

  bool is_in_comment_or_string() const {
    std::string_view before = document_.text().substr(0, word_begin_);
    size_t line_end = before.rfind('\n');
    std::string_view line = before.substr(line_end == std::string_view::npos ? 0 : line_end + 1);
    bool in_string = false;
    for (size_t i = 0; i < line.size(); ++i) {
      if (in_string && line[i] == '\\') {
        ++i;
      } else if (line[i] == '"') {
        in_string = !in_string;
      } else if (!in_string && line.substr(i).starts_with("//")) {
        return true;
      }
    }
    return in_string;
  }

  void add(std::string_view label, ItemKind kind, std::string detail = "") {
    auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
    bool fits = label.size() >= prefix_.size() && std::equal(prefix_.begin(), prefix_.end(), label.begin(),
                                                             [&](char a, char b) { return lower(a) == lower(b); });
    if (fits) found_.try_emplace(std::string(label), kind, std::move(detail));
  }

  void words(const std::vector<std::string>& words, ItemKind kind) {
    for (const std::string& word : words) add(word, kind, word_text(word));
  }

  void attributes(const FormatToken* node) {
    if (node == nullptr) return;
    for (const ir::OpDef* op : scope_.operators_of(node->text)) {
      for (const ir::AttrDef& attr : op->attrs) {
        add(attr.name, ItemKind::Field, std::string(attribute_kind(attr.kind)));
      }
    }
  }

  void operators() {
    for (const ir::OpDef* op : ir::all_ops()) add(op->name, ItemKind::Class, std::string(op->doc));
  }

  void captures() {
    for (const Capture& capture : scope_.captures()) {
      if (capture.span.begin == word_begin_) continue;  // the word itself, half written
      add(capture.name, ItemKind::Variable, capture.is_node ? "node" : "value");
    }
  }

  void names_of(std::string_view head, ItemKind kind) {
    for (const Statement* statement : scope_.declared(head)) {
      if (statement->name() != nullptr) add(statement->name()->text, kind, std::string(head));
    }
  }

  void expression() {
    for (const std::string& name : ir::function_names()) add(name, ItemKind::Function, function_text(name));
    captures();
    names_of("attr", ItemKind::Property);
    names_of("knob", ItemKind::Property);
    names_of("let", ItemKind::Function);
    names_of("memory", ItemKind::Property);
    if (const Statement* rule = scope_.around("rule")) {
      size_t family = rule->find("for");
      if (family + 1 < rule->tokens.size()) add(rule->tokens[family + 1].text, ItemKind::Variable, "operator");
    }
    for (const ir::QuantityDef& quantity : ir::all_quantities()) {
      if (quantity.scope == ir::QuantityDef::Scope::Everywhere) {
        add(quantity.name, ItemKind::Variable, std::string(quantity.doc));
      }
    }
    for (const std::string& dtype : runtime::dtype_names()) add(dtype, ItemKind::Value);
    for (std::string_view value : {"true", "false"}) add(value, ItemKind::Value);
  }

  void inside(const Statement& statement, const FormatToken& last) {
    std::string_view head = statement.head;
    words(words_inside(head), ItemKind::Keyword);
    bool holds_condition = head == "deny" || head == "rewrite";
    if (head == "match" || head == "def" || head == "numerics" || holds_condition) {
      operators();
      captures();
      names_of("def", ItemKind::Class);
      if (const Statement* rule = scope_.around("rule")) {
        size_t family = rule->find("for");
        if (family + 1 < rule->tokens.size()) add(rule->tokens[family + 1].text, ItemKind::Variable, "operator");
      }
      words({"elementwise", "broadcast", "injective", "reduction", "contraction", "opaque", "any_op"}, ItemKind::Class);
    }
    bool is_expression = head == "where" || head == "cost" || head == "lower" || head == "let" || head == "energy" ||
                         head == "workspace";
    if (head == "where") names_of("def", ItemKind::Function);
    if (is_expression || holds_condition) expression();
    if (head == "rule" || head == "never") operators();
    if (head == "format") {
      if (last.is(":")) {
        for (const std::string& layout : runtime::layout_names()) add(layout, ItemKind::Value);
        for (const std::string& dtype : runtime::storage_type_names()) add(dtype, ItemKind::Value);
        words({"any", "as", "packed"}, ItemKind::Keyword);
      } else {
        captures();
      }
    }
    if (head == "inner" || head == "split" || head == "test") captures();
    if (head == "split") {
      words(ir::split_axis_names(), ItemKind::Value);
      names_of("device", ItemKind::Value);
    }
    if (head == "link") {
      names_of("device", ItemKind::Value);
      names_of("switch", ItemKind::Value);
    }
    if (head == "devices") names_of("device", ItemKind::Value);
    if (scope_.around("phase") != nullptr) names_of("rewrite", ItemKind::Value);
  }

  Json items() const {
    Json all = Json::array();
    for (const auto& [label, item] : found_) {
      Json entry = {{"label", label}, {"kind", static_cast<int>(item.first)}};
      if (!item.second.empty()) entry["detail"] = item.second;
      all.push_back(std::move(entry));
    }
    return all;
  }

  const Document& document_;
  uint32_t word_begin_;
  Scope scope_;
  std::string_view prefix_;
  std::map<std::string, std::pair<ItemKind, std::string>> found_;
};

}  // namespace

Json completion(const Document& document, uint32_t offset) {
  return Completer(document, offset).run();
}

}  // namespace collage::rules_tool::lsp
