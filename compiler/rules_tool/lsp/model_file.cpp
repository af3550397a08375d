// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/lsp/model_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "compiler/ir/graph/print_parts.h"
#include "compiler/rules_tool/lsp/words.h"
#include "runtime/core/dtype.h"
#include "runtime/core/joined.h"
#include "runtime/support/written_name.h"

namespace collage::rules_tool::lsp {
namespace {

using WordKind = syntax::ModelToken::Kind;
using Role = ModelWord::Role;

/// `CompletionItemKind` and `SymbolKind` of the protocol.
constexpr int kPropertyItem = 10, kVariableItem = 6, kClassItem = 7, kKeywordItem = 14, kTypeItem = 25, kModuleItem = 9;
constexpr int kModuleSymbol = 2, kNamespaceSymbol = 3, kVariableSymbol = 13, kConstantSymbol = 14;

/// A character of an unquoted name of a value.
bool is_of_plain_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_.$/-").find(c) != std::string_view::npos;
}

std::string code_block(const std::string& text) {
  return fmt::format("```\n{}\n```", text);
}

/// The file that the string at `i` names, `const file "w.npy"`; empty for another string.
std::string file_named(const std::vector<ModelWord>& words, size_t i) {
  const std::string_view text = words[i].text;
  const bool is_path = i > 0 && words[i - 1].text == "file" && text.size() > 2 && text.ends_with('"');
  return is_path ? std::string(text.substr(1, text.size() - 2)) : "";
}

std::optional<TokenType> type_of_word(const ModelWord& word) {
  switch (word.role) {
    case Role::Keyword: return TokenType::Keyword;
    case Role::Input: return TokenType::Parameter;
    case Role::Definition:
    case Role::Use: return TokenType::Variable;
    case Role::ModelName:
    case Role::Partition:
    case Role::Member:
    case Role::Place: return TokenType::Namespace;
    case Role::Operator: return TokenType::Class;
    case Role::Attribute: return TokenType::Property;
    case Role::DType: return TokenType::Type;
    case Role::Dimension: return TokenType::TypeParameter;
    case Role::None: break;
  }
  if (word.token.kind == WordKind::Number) return TokenType::Number;
  if (word.token.kind == WordKind::String) return TokenType::String;
  return std::nullopt;
}

/// What can be written at a place of a model.
class ModelCompleter {
 public:
  ModelCompleter(const ModelDocument& document, uint32_t offset) : document_(document), end_(offset) {
    const std::string_view text = document.text();
    begin_ = offset;
    while (begin_ > 0 && is_of_plain_name(text[begin_ - 1])) --begin_;
    prefix_ = text.substr(begin_, end_ - begin_);
    sigil_ = begin_ > 0 ? text[begin_ - 1] : '\0';
  }

  Json run() {
    if (is_in_comment()) return items();
    if (sigil_ == '%' || sigil_ == '@') {
      names();
    } else if (const ir::OpDef* op = attributes_of()) {
      for (const ir::AttrDef& attr : op->attrs) add(attr.name, kPropertyItem, attribute_kind(attr.kind));
    } else if (before_ != nullptr && before_->text == "=") {
      for (const ir::OpDef* each : ir::all_ops()) add(each->name, kClassItem, each->doc);
      for (std::string_view word : {"const", "convert", "partition"}) keyword(word);
    } else if (before_ != nullptr && before_->text == ":") {
      for (const std::string& dtype : runtime::dtype_names()) add(dtype, kTypeItem, "");
    } else if (!prefix_.empty()) {
      for (const syntax::ModelKeyword& row : syntax::model_keywords()) keyword(row.spelling);
    }
    return items();
  }

 private:
  struct Item {
    int kind = 0;
    std::string detail;
    std::string text;  ///< what is written
  };

  bool is_in_comment() const {
    return std::any_of(document_.comments().begin(), document_.comments().end(), [this](const support::Span& comment) {
      return comment.begin < begin_ && begin_ <= comment.end;
    });
  }

  void keyword(std::string_view spelling) {
    const syntax::ModelKeyword* row = syntax::find_model_keyword(spelling);
    add(spelling, kKeywordItem, row == nullptr ? "" : row->text);
  }

  void names() {
    for (const ModelWord& word : document_.words()) {
      const bool is_itself = word.token.span.begin < end_ && end_ <= word.token.span.end;
      if (word.token.name.empty() || is_itself) continue;
      const bool is_value = word.token.kind == WordKind::Value;
      if (is_value != (sigil_ == '%')) continue;
      const std::string* type = is_value ? document_.type_of(word.token.name) : nullptr;
      add(word.token.name, is_value ? kVariableItem : kModuleItem, type == nullptr ? "" : *type);
      if (auto item = found_.find(word.token.name); item != found_.end())
        item->second.text = support::written_name(word.token.name);
    }
  }

  /// The operator in whose braces the place is, where the name of an attribute can stand; null elsewhere. Finds the
  /// word before the place.
  const ir::OpDef* attributes_of() {
    std::string_view op;
    bool in_attributes = false;
    for (const ModelWord& word : document_.words()) {
      if (word.token.span.end > begin_) break;
      before_ = &word;
      if (word.role == Role::Operator) op = word.text;
      if (word.role == Role::Definition || word.text == "}") in_attributes = false;
      if (word.text == "{") in_attributes = !op.empty();
      if (word.text == "}" || word.role == Role::Definition) op = {};
    }
    const bool starts_name = before_ != nullptr && (before_->text == "{" || before_->text == ",");
    return in_attributes && starts_name ? ir::find_op(op) : nullptr;
  }

  void add(std::string_view label, int kind, std::string_view detail) {
    const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
    const bool fits =
        label.size() >= prefix_.size() &&
        std::equal(prefix_.begin(), prefix_.end(), label.begin(), [&](char a, char b) { return lower(a) == lower(b); });
    if (fits) found_.try_emplace(std::string(label), Item{kind, std::string(detail), std::string(label)});
  }

  Json items() const {
    const Json range = range_of(document_.text(), {{}, begin_, end_});
    Json all = Json::array();
    for (const auto& [label, item] : found_) {
      Json entry = {{"label", label}, {"kind", item.kind}, {"textEdit", {{"range", range}, {"newText", item.text}}}};
      if (!item.detail.empty()) entry["detail"] = item.detail;
      all.push_back(std::move(entry));
    }
    return all;
  }

  const ModelDocument& document_;
  uint32_t begin_ = 0;
  uint32_t end_;
  std::string_view prefix_;
  char sigil_ = '\0';
  const ModelWord* before_ = nullptr;
  std::map<std::string, Item> found_;  ///< by label
};

}  // namespace

ModelFile::ModelFile(const std::string& uri, std::string text, const ModelFile* before)
    : OpenFile(uri), document_(uri, std::move(text)) {
  if (before != nullptr) document_.keep_types_of(before->document_);
}

const ModelWord* ModelFile::word_at(uint32_t offset) const {
  const int index = document_.word_at(offset);
  return index < 0 ? nullptr : &document_.words()[static_cast<size_t>(index)];
}

std::string ModelFile::value_text(const ModelWord& word) const {
  const std::string* type = document_.type_of(word.token.name);
  std::string text = ir::sigil_name('%', word.token.name);
  text += type == nullptr ? "" : ": " + *type;
  const ModelWord* declared = document_.declaration_of(word);
  if (declared == nullptr) return code_block(text);
  if (declared->role == Role::Input) return code_block(text) + "\nan input of the model";
  if (declared->op == "const") return code_block(text) + "\na constant";
  if (declared->op == "convert") return code_block(text) + "\na value in one more format";
  if (declared->op == "partition") return code_block(text) + "\na result of a partition";
  if (declared->op.empty()) return code_block(text);
  return code_block(text) + fmt::format("\na result of `{}`", declared->op);
}

std::string ModelFile::word_text(const ModelWord& word) const {
  if (word.token.kind == WordKind::Value) return value_text(word);
  const ir::OpDef* op = ir::find_op(word.op);
  const ir::AttrDef* attr = op == nullptr ? nullptr : op->find_attr(word.text);
  const syntax::ModelKeyword* keyword = syntax::find_model_keyword(word.text);
  switch (word.role) {
    case Role::Operator: return op == nullptr ? "" : operator_text(*op);
    case Role::Attribute:
      if (attr == nullptr) return "";
      return fmt::format("`{}`: attribute of `{}`, {}{}", attr->name, op->name, attribute_kind(attr->kind),
                         attr->is_required() ? ", required" : "");
    case Role::Keyword: return keyword == nullptr ? "" : std::string(keyword->text);
    case Role::DType: return fmt::format("`{}`: element type", word.text);
    case Role::Dimension: return fmt::format("`{}`: an open dimension; `--shape {}=N` fixes it", word.text, word.text);
    case Role::Partition:
    case Role::Member: return fmt::format("`{}`: a partition", word.text);
    default: return "";
  }
}

Json ModelFile::hover(uint32_t offset) const {
  const ModelWord* word = word_at(offset);
  const std::string shown = word == nullptr ? "" : word_text(*word);
  if (shown.empty()) return nullptr;
  return {{"contents", {{"kind", "markdown"}, {"value", shown}}}, {"range", range_of(text(), word->token.span)}};
}

Json ModelFile::definition(uint32_t offset) const {
  const int index = document_.word_at(offset);
  if (index < 0) return nullptr;
  const ModelWord& word = document_.words()[static_cast<size_t>(index)];
  if (word.token.kind == WordKind::String) {
    const std::string named = file_named(document_.words(), static_cast<size_t>(index));
    if (named.empty()) return nullptr;
    return start_of_file(uri(), named);
  }
  const ModelWord* declared = document_.declaration_of(word);
  if (declared == nullptr) return nullptr;
  return {{"uri", uri()}, {"range", range_of(text(), declared->token.span)}};
}

Json ModelFile::completion(uint32_t offset) const {
  return ModelCompleter(document_, offset).run();
}

std::vector<support::Span> ModelFile::references(uint32_t offset, bool with_declaration) const {
  std::vector<support::Span> places;
  const ModelWord* word = word_at(offset);
  if (word == nullptr) return places;
  const ModelWord* declared = document_.declaration_of(*word);
  for (const ModelWord* other : document_.same_name(*word)) {
    if (other != declared || with_declaration) places.push_back(other->token.span);
  }
  return places;
}

std::optional<Renamable> ModelFile::renamable(uint32_t offset) const {
  const ModelWord* word = word_at(offset);
  if (word == nullptr || document_.same_name(*word).empty()) return std::nullopt;
  const bool has_sigil = word->role != Role::Dimension;
  support::Span span = word->token.span;
  if (has_sigil) ++span.begin;
  return Renamable{span, has_sigil ? word->token.name : std::string(word->text)};
}

Rename ModelFile::rename(uint32_t offset, const std::string& name) const {
  Rename made;
  const ModelWord* word = word_at(offset);
  const std::vector<const ModelWord*> places =
      word == nullptr ? std::vector<const ModelWord*>() : document_.same_name(*word);
  if (places.empty()) {
    made.refusal = "nothing that can have another name stands here";
    return made;
  }
  const bool is_dimension = word->role == Role::Dimension;
  const char sigil = word->text.front();
  // `%y` and `y` are the same answer.
  const std::string wanted = !is_dimension && name.starts_with(sigil) ? name.substr(1) : name;
  const bool is_text = !wanted.empty() && std::none_of(wanted.begin(), wanted.end(),
                                                       [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  const syntax::ModelKeyword* keyword = syntax::find_model_keyword(wanted);
  const bool is_word =
      is_text && std::isdigit(static_cast<unsigned char>(wanted[0])) == 0 &&
      std::all_of(wanted.begin(), wanted.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; }) &&
      wanted != "_" && wanted != "inf" && wanted != "nan" && (keyword == nullptr || keyword->may_be_name);
  if (!is_text || (is_dimension && !is_word)) {
    made.refusal = "`" + name + "` is no name";
    return made;
  }
  if (wanted == (is_dimension ? word->text : word->token.name)) return made;
  for (const ModelWord& other : document_.words()) {
    const bool is_of_kind = other.token.kind == word->token.kind && (other.role == Role::Dimension) == is_dimension;
    const bool is_taken = is_dimension ? other.text == wanted : other.token.name == wanted;
    if (!is_of_kind || !is_taken) continue;
    made.refusal = "`" + wanted + "` is a name already";
    return made;
  }
  for (const ModelWord* place : places)
    made.edits.push_back({place->token.span, is_dimension ? wanted : ir::sigil_name(sigil, wanted)});
  return made;
}

Json ModelFile::symbols() const {
  const Positions positions(text());
  Json children = Json::array();
  const ModelWord* model = nullptr;
  for (const ModelWord& word : document_.words()) {
    if (word.role == Role::ModelName && model == nullptr) model = &word;
    const bool is_value = word.role == Role::Input || word.role == Role::Definition;
    if (!is_value && word.role != Role::Partition) continue;
    const std::string* type = is_value ? document_.type_of(word.token.name) : nullptr;
    const int kind = !is_value ? kNamespaceSymbol : word.op == "const" ? kConstantSymbol : kVariableSymbol;
    std::string detail(word.op);
    if (type != nullptr) runtime::add_to_list(detail, *type, ": ");
    children.push_back({{"name", std::string(word.text)},
                        {"detail", detail},
                        {"kind", kind},
                        {"range", positions.range(word.token.span)},
                        {"selectionRange", positions.range(word.token.span)}});
  }
  if (model == nullptr) return children;
  const support::Span whole{model->token.span.file, 0, static_cast<uint32_t>(text().size())};
  return Json::array({{{"name", std::string(model->text)},
                       {"kind", kModuleSymbol},
                       {"range", positions.range(whole)},
                       {"selectionRange", positions.range(model->token.span)},
                       {"children", std::move(children)}}});
}

std::vector<SemanticToken> ModelFile::semantic_tokens() const {
  std::vector<SemanticToken> tokens;
  for (const support::Span& comment : document_.comments()) tokens.push_back({comment, TokenType::Comment});
  for (const ModelWord& word : document_.words()) {
    const std::optional<TokenType> type = type_of_word(word);
    if (!type) continue;
    SemanticToken token{word.token.span, *type};
    token.is_declaration = word.role == Role::Input || word.role == Role::Definition || word.role == Role::Partition;
    token.is_readonly = word.role == Role::Definition && word.op == "const";
    tokens.push_back(token);
  }
  std::sort(tokens.begin(), tokens.end(),
            [](const SemanticToken& a, const SemanticToken& b) { return a.span.begin < b.span.begin; });
  return tokens;
}

}  // namespace collage::rules_tool::lsp
