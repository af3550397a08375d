// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/lsp/model_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "compiler/rules_tool/lsp/diagnostics.h"
#include "compiler/sema/model/build_graph.h"
#include "compiler/sema/model/open_dims.h"
#include "compiler/syntax/parse_model.h"
#include "runtime/core/dtype.h"

namespace collage::rules_tool::lsp {
namespace {

using WordKind = syntax::ModelToken::Kind;
using Role = ModelWord::Role;

using Sizes = std::map<std::string, int64_t>;

/// Sizes that stand for those of open dimensions: a type that is inferred with both shows which of its dimensions
/// follow from which name.
struct AssumedSizes {
  Sizes first;
  Sizes second;
};

/// The same size for all open dimensions: 1, and those that the types of ports have.
std::vector<Sizes> equal_sizes(const syntax::ModelAst& ast, const Sizes& names) {
  constexpr size_t kMost = 8;
  std::set<int64_t> values = {1};
  for (const syntax::PortAst& port : ast.inputs) {
    for (const syntax::DimAst& dim : port.type.dims) {
      if (!dim.is_open() && dim.size > 0 && values.size() < kMost) values.insert(dim.size);
    }
  }
  std::vector<Sizes> all;
  for (int64_t value : values) {
    Sizes& sizes = all.emplace_back();
    for (const auto& [name, size] : names) sizes[name] = value;
  }
  return all;
}

AssumedSizes assume_sizes(const syntax::ModelAst& ast) {
  AssumedSizes sizes;
  int64_t count = 0;
  for (const syntax::PortAst& port : ast.inputs) {
    for (const syntax::DimAst& dim : port.type.dims) {
      if (!dim.is_open() || sizes.first.count(dim.symbol.text) != 0) continue;
      ++count;
      sizes.first[dim.symbol.text] = 32 * (count + 1);
      sizes.second[dim.symbol.text] = 48 * (count + 2);
    }
  }
  return sizes;
}

/// `64`, `batch`, `12 * batch`, or `?` where several names are in it.
std::string dimension_text(int64_t first, int64_t second, const AssumedSizes& sizes) {
  if (first == second) return std::to_string(first);
  for (const auto& [name, size] : sizes.first) {
    const int64_t times = first / size;
    if (first % size != 0 || second != times * sizes.second.at(name)) continue;
    return times == 1 ? name : fmt::format("{} * {}", times, name);
  }
  return "?";
}

std::string type_text(const ir::TensorType& first, const ir::TensorType& second, const AssumedSizes& sizes) {
  if (first.shape.size() != second.shape.size()) return std::string(name_of(first.dtype));
  std::vector<std::string> dims;
  for (size_t i = 0; i < first.shape.size(); ++i)
    dims.push_back(dimension_text(first.shape[i], second.shape[i], sizes));
  return fmt::format("{}[{}]", name_of(first.dtype), fmt::join(dims, ", "));
}

bool is_reported(const support::Diagnostics& diags, const support::DiagnosticRecord& record) {
  return std::any_of(diags.records().begin(), diags.records().end(), [&](const support::DiagnosticRecord& other) {
    return other.code == record.code && other.span == record.span;
  });
}

/// Where a word can be what a name stands for.
bool is_name(WordKind kind) {
  return kind == WordKind::Name || kind == WordKind::Keyword;
}

}  // namespace

ModelDocument::ModelDocument(const std::string& uri, std::string text)
    : sources_(std::make_unique<support::SourceManager>()), file_(sources_->add(path_of(uri), std::move(text))) {
  find_words();
  find_roles();
  analyse(uri);
}

void ModelDocument::find_words() {
  for (syntax::ModelToken& token : syntax::scan_model(*sources_, file_)) {
    if (token.kind == WordKind::Comment) {
      comments_.push_back(token.span);
      continue;
    }
    const std::string_view text = sources_->text(token.span);
    words_.push_back({std::move(token), text});
  }
}

void ModelDocument::find_roles() {
  // From the end: names before a `=`, with commas between, are what the statement defines.
  bool before_equals = false;
  bool before_comma = false;
  for (auto word = words_.rbegin(); word != words_.rend(); ++word) {
    const bool is_result = before_equals && (word->token.kind == WordKind::Value || word->text == "_");
    if (is_result && word->token.kind == WordKind::Value) word->role = Role::Definition;
    const bool is_comma_of_results = before_comma && word->text == ",";
    before_comma = is_result;
    before_equals = word->text == "=" || is_comma_of_results;
  }
  const ModelWord none;
  std::string_view op;
  bool in_header = false;
  bool in_dims = false;
  for (size_t i = 0; i < words_.size(); ++i) {
    ModelWord& word = words_[i];
    const ModelWord& before = i > 0 ? words_[i - 1] : none;
    const ModelWord& after = i + 1 < words_.size() ? words_[i + 1] : none;
    if (word.text == "->" || word.text == "{") in_header = false;
    if (word.text == "[") in_dims = before.role == Role::DType;
    if (word.text == "]") in_dims = false;
    if (word.token.kind == WordKind::Symbol) {
      word.role = before.text == "partition" ? Role::Partition
                  : before.text == "model"   ? Role::ModelName
                                             : Role::Member;
      in_header = in_header || word.role == Role::ModelName;
    } else if (word.token.kind == WordKind::Value) {
      if (word.role == Role::None) word.role = in_header && after.text == ":" ? Role::Input : Role::Use;
    } else if (is_name(word.token.kind)) {
      const bool is_statement = word.text == "const" || word.text == "convert" || word.text == "partition";
      if (in_dims) {
        word.role = Role::Dimension;
      } else if (before.text == "=" && is_statement) {
        word.role = Role::Keyword;
        op = word.text;
      } else if (before.text == "=" && after.text == "(") {
        word.role = Role::Operator;
        op = word.text;
      } else if (after.text == "=") {
        word.role = Role::Attribute;
      } else if (before.text == "on" || before.text == "to" || before.text == "+") {
        word.role = Role::Place;
      } else if (runtime::parse_dtype(word.text)) {
        word.role = Role::DType;
      } else if (before.text == "=" && ir::find_op(word.text) != nullptr) {
        word.role = Role::Operator;
        op = word.text;
      } else if (syntax::find_model_keyword(word.text) != nullptr) {
        word.role = Role::Keyword;
      }
    }
    if (word.role == Role::Attribute || word.role == Role::Operator) word.op = op;
  }
  // What defines a value stands after it: of all words after a `=`, the last one seen on the way back.
  std::string_view defined_by;
  for (size_t i = words_.size(); i-- > 0;) {
    ModelWord& word = words_[i];
    const bool follows_equals = i > 0 && words_[i - 1].text == "=";
    if (follows_equals && (word.role == Role::Operator || word.role == Role::Keyword)) defined_by = word.text;
    if (word.role == Role::Definition) word.op = defined_by;
  }
}

int ModelDocument::word_at(uint32_t offset) const {
  auto after = std::upper_bound(words_.begin(), words_.end(), offset,
                                [](uint32_t at, const ModelWord& word) { return at < word.token.span.begin; });
  auto index = static_cast<int>(after - words_.begin()) - 1;
  if (index < 0) return -1;
  const auto ends_here = [&](const ModelWord& word) {
    return word.token.kind != WordKind::Sign && word.token.span.end == offset;
  };
  const ModelWord& word = words_[static_cast<size_t>(index)];
  // A sign may begin where the word before it ends.
  const bool is_sign = word.token.kind == WordKind::Sign;
  if (is_sign && word.token.span.begin == offset && index > 0 && ends_here(words_[static_cast<size_t>(index) - 1]))
    return index - 1;
  return offset < word.token.span.end || ends_here(word) ? index : -1;
}

std::vector<const ModelWord*> ModelDocument::same_name(const ModelWord& word) const {
  const auto is_same = [&](const ModelWord& other) {
    if (word.token.kind == WordKind::Value)
      return other.token.kind == WordKind::Value && other.token.name == word.token.name;
    if (word.role == Role::Dimension) return other.role == Role::Dimension && other.text == word.text;
    if (word.role == Role::ModelName) return other.role == Role::ModelName && other.token.name == word.token.name;
    const bool is_partition = word.role == Role::Partition || word.role == Role::Member;
    const bool other_is = other.role == Role::Partition || other.role == Role::Member;
    return is_partition && other_is && other.token.name == word.token.name;
  };
  std::vector<const ModelWord*> same;
  for (const ModelWord& other : words_) {
    if (is_same(other)) same.push_back(&other);
  }
  return same;
}

const ModelWord* ModelDocument::declaration_of(const ModelWord& word) const {
  for (const ModelWord* other : same_name(word)) {
    const bool declares = other->role != Role::Use && other->role != Role::Member;
    if (declares) return other;
  }
  return nullptr;
}

const std::string* ModelDocument::type_of(const std::string& value) const {
  auto type = types_.find(value);
  return type == types_.end() ? nullptr : &type->second;
}

void ModelDocument::keep_types_of(const ModelDocument& before) {
  if (!is_understood_) types_ = before.types_;
}

/// The text up to the end of the model, or with what closes its blocks: `model @m() -> () { %y = Gelu(%x) {` gets two
/// `}`.
/// What the scanner refuses is blank, since it would take the statement before it along: `%a = Relu(%x) %` => `%a =
/// Relu(%x)  `. Offsets stay.
std::string ModelDocument::closed_text() const {
  std::string closed(text());
  const auto blank = [&closed](uint32_t begin, uint32_t end) {
    std::replace_if(
        closed.begin() + begin, closed.begin() + end, [](char c) { return c != '\n'; }, ' ');
  };
  int open = 0;
  uint32_t last_end = 0;
  for (const ModelWord& word : words_) {
    const support::Span& span = word.token.span;
    const bool is_open_string =
        word.token.kind == WordKind::String && (word.text.size() < 2 || !word.text.ends_with('"'));
    blank(last_end, is_open_string ? span.end : span.begin);
    last_end = span.end;
    if (word.text == "{") ++open;
    if (word.text == "}" && --open <= 0) return closed.substr(0, span.end);
  }
  blank(last_end, static_cast<uint32_t>(closed.size()));
  return closed + "\n" + std::string(static_cast<size_t>(open), '}');
}

void ModelDocument::analyse(const std::string& uri) {
  const std::string folder = std::filesystem::path(path_of(uri)).parent_path().string();
  support::Diagnostics diags(*sources_);
  std::optional<syntax::ModelAst> ast = syntax::parse_model(*sources_, file_, diags);
  if (ast) {
    is_understood_ = true;
    infer(*ast, folder, diags);
  } else {
    support::Diagnostics unheard(*sources_);
    const support::FileId closed = sources_->add(std::string(sources_->name(file_)), closed_text());
    ast = syntax::parse_model(*sources_, closed, unheard, syntax::OnErrors::LeaveOut);
    is_understood_ = ast && !ast->name.is_absent();
    if (is_understood_) infer(*ast, folder, unheard);
  }
  diagnostics_ = protocol_diagnostics(diags, file_, uri);
}

void ModelDocument::infer(const syntax::ModelAst& ast, const std::string& folder, support::Diagnostics& diags) {
  const AssumedSizes sizes = assume_sizes(ast);
  const auto types_with = [&](const Sizes& assumed, support::Diagnostics& found) {
    syntax::ModelAst sized = ast;
    sema::set_sizes(assumed, sized);
    std::map<uint32_t, ir::TensorType> types;  // by where the name stands
    for (sema::NamedType& named : sema::infer_types(sized, folder, found))
      types.insert_or_assign(named.name.begin, std::move(named.type));
    return types;
  };
  support::Diagnostics found(*sources_);
  const std::map<uint32_t, ir::TensorType> first = types_with(sizes.first, found);
  if (sizes.first.empty()) {
    diags.add_errors(found);
    for (const ModelWord& word : words_) {
      if (auto type = first.find(word.token.span.begin); type != first.end())
        types_[word.token.name] = to_string(type->second);
    }
    return;
  }
  support::Diagnostics with_second(*sources_);
  const std::map<uint32_t, ir::TensorType> second = types_with(sizes.second, with_second);
  // A problem that some sizes solve is no error.
  std::vector<support::Diagnostics> others;
  if (found.has_errors() && with_second.has_errors()) {
    for (const Sizes& assumed : equal_sizes(ast, sizes.first)) types_with(assumed, others.emplace_back(*sources_));
  }
  diags.add_errors(found, [&](const support::DiagnosticRecord& record) {
    return is_reported(with_second, record) &&
           std::all_of(others.begin(), others.end(),
                       [&](const support::Diagnostics& other) { return is_reported(other, record); });
  });
  for (const ModelWord& word : words_) {
    auto one = first.find(word.token.span.begin);
    auto other = second.find(word.token.span.begin);
    if (one == first.end() || other == second.end()) continue;
    types_[word.token.name] = type_text(one->second, other->second, sizes);
  }
}

}  // namespace collage::rules_tool::lsp
