// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/lsp/words.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/rules/functions.h"
#include "compiler/ir/rules/runtimes.h"
#include "compiler/syntax/rules_keywords.h"
#include "runtime/core/joined.h"
#include "runtime/core/text.h"

namespace collage::rules_tool::lsp {
namespace {

struct WordRow {
  std::string_view word;
  std::string_view text;
};

constexpr WordRow kWords[] = {
#define WORD(word, text) {#word, text},
#include "compiler/rules_tool/lsp/words.def"
#undef WORD
};

/// `2 to 3 operands`, `1 result`
std::string range(int least, int most, std::string_view noun) {
  if (most == ir::OpDef::kVariadic) return fmt::format("{} or more {}s", least, noun);
  const std::string upper = runtime::counted(most, noun);
  return least == most ? upper : fmt::format("{} to {}", least, upper);
}

std::vector<std::string> sorted(const std::vector<std::string_view>& words) {
  std::vector<std::string> result(words.begin(), words.end());
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<std::string> runtime_words() {
  std::vector<std::string_view> words;
  for (const ir::RuntimeWord& row : ir::runtimes()) words.push_back(row.word);
  return sorted(words);
}

}  // namespace

std::string_view attribute_kind(ir::AttrKind kind) {
  switch (kind) {
    case ir::AttrKind::Int: return "int";
    case ir::AttrKind::Float: return "float";
    case ir::AttrKind::String: return "string";
    case ir::AttrKind::Ints: return "ints";
    case ir::AttrKind::Floats: return "floats";
    case ir::AttrKind::Strings: return "strings";
    case ir::AttrKind::Tensor: return "tensor";
  }
  return "";
}

std::string operator_text(const ir::OpDef& op) {
  std::string text = fmt::format("**{}**: {}, {}; {}{}", op.name, range(op.min_inputs, op.max_inputs, "operand"),
                                 range(op.min_outputs, op.max_outputs, "result"), ir::name_of(op.kind),
                                 op.commutative ? ", commutative" : "");
  for (const ir::AttrDef& attr : op.attrs) {
    text += fmt::format("\n- `{}`: {}{}", attr.name, attribute_kind(attr.kind), attr.is_required() ? ", required" : "");
  }
  if (!op.doc.empty()) text += fmt::format("\n\n{}", op.doc);
  return text;
}

std::string function_text(std::string_view name) {
  std::string text;
  for (const ir::FunctionDef* def : ir::function_forms(name)) {
    std::vector<std::string> args;
    for (ir::ExprType type : def->args) args.emplace_back(ir::name_of(type));
    if (def->variadic) args.emplace_back("…");
    const std::string form =
        fmt::format("`{}({})`: {}\n\n{}", name, fmt::join(args, ", "), ir::name_of(def->result), def->doc);
    runtime::add_to_list(text, form, "\n\n");
  }
  return text;
}

std::string word_text(std::string_view word) {
  if (const syntax::Keyword* keyword = syntax::find_keyword(word)) return std::string(keyword->text);
  if (const ir::QuantityDef* quantity = ir::find_quantity(word)) return std::string(quantity->doc);
  auto row = std::find_if(std::begin(kWords), std::end(kWords), [word](const WordRow& r) { return r.word == word; });
  return row == std::end(kWords) ? "" : std::string(row->text);
}

std::vector<std::string> statement_words(std::string_view block) {
  const syntax::Keyword* head = syntax::find_keyword(block);
  unsigned opens = block.empty() ? syntax::InFile : head == nullptr ? syntax::Nowhere : head->opens;
  std::vector<std::string> words;
  for (const syntax::Keyword& keyword : syntax::kKeywords) {
    if ((keyword.starts & opens) != 0) words.emplace_back(keyword.spelling);
  }
  return words;
}

std::vector<std::string> words_inside(std::string_view head) {
  // The words of these two come from the table of runtimes.
  if (head == "runtime") return runtime_words();
  if (head == "lower") return sorted(ir::lowering_words());
  const syntax::Keyword* keyword = syntax::find_keyword(head);
  return keyword == nullptr || keyword->inside.empty() ? std::vector<std::string>()
                                                       : runtime::split(keyword->inside, ' ');
}

}  // namespace collage::rules_tool::lsp
