// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/lsp/words.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/functions.h"
#include "runtime/core/text.h"

namespace collage::rules_tool::lsp {
namespace {

struct WordRow {
  std::string_view word;
  std::string_view blocks;
  std::string_view text;
};

constexpr WordRow kWords[] = {
#define WORD(word, blocks, text) {#word, blocks, text},
#include "compiler/rules_tool/lsp/words.def"
#undef WORD
};

/// `2 to 3 operands`, `1 result`
std::string range(int least, int most, std::string_view noun) {
  std::string_view plural = most == 1 ? "" : "s";
  if (most == ir::OpDef::kVariadic) return fmt::format("{} or more {}s", least, noun);
  if (least == most) return fmt::format("{} {}{}", least, noun, plural);
  return fmt::format("{} to {} {}{}", least, most, noun, plural);
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
    text += fmt::format("\n- `{}`: {}{}", attr.name, attribute_kind(attr.kind), attr.required ? ", required" : "");
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
    text += fmt::format("{}`{}({})`: {}\n\n{}", text.empty() ? "" : "\n\n", name, fmt::join(args, ", "),
                        ir::name_of(def->result), def->doc);
  }
  return text;
}

std::string word_text(std::string_view word) {
  auto row = std::find_if(std::begin(kWords), std::end(kWords), [word](const WordRow& r) { return r.word == word; });
  return row == std::end(kWords) ? "" : std::string(row->text);
}

std::vector<std::string> statement_words(std::string_view block) {
  if (block.empty()) block = "file";
  std::vector<std::string> words;
  for (const WordRow& row : kWords) {
    std::vector<std::string> blocks = runtime::split(row.blocks, ' ');
    if (std::find(blocks.begin(), blocks.end(), block) != blocks.end()) words.emplace_back(row.word);
  }
  return words;
}

std::vector<std::string> words_inside(std::string_view head) {
  if (head == "match" || head == "def") return {"const", "each", "none", "via"};
  if (head == "where") return {"and", "else", "in", "not", "or"};
  if (head == "cost") return {"else", "measured"};
  if (head == "test") return {"because", "no", "ok", "with"};
  if (head == "runtime") return {"host_jit", "library", "plugin", "sim"};
  if (head == "join") return {"any", "chain", "kinds", "none"};
  if (head == "limit") return {"depth", "exits", "ops", "taps", "yes", "no", "any"};
  if (head == "coalesce") return {"no", "yes"};
  if (head == "never") return {"starts", "with"};
  if (head == "link") return {"bandwidth", "duplex", "host", "latency"};
  if (head == "device") return {"count"};
  if (head == "backend") return {"version"};
  if (head == "attr") return {"bool", "float", "in", "int", "rate", "size", "string", "time"};
  if (head == "deny") return {"because", "where"};
  if (head == "rewrite") return {"when"};
  if (head == "rule") return {"for", "in"};
  if (head == "lower") return {"c", "host_jit", "inline", "library", "plugin", "sim"};
  if (head == "conflicts") return {"with"};
  if (head == "max") return {"partitions"};
  return {};
}

}  // namespace collage::rules_tool::lsp
