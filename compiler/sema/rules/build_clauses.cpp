// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/rules/build_clauses.h"

#include <algorithm>

#include "compiler/sema/rules/expand_named.h"

namespace collage::sema {
namespace {

using support::Code;
using support::Diagnostics;
using syntax::ExprAst;
using syntax::Word;

/// `a  ==\n b` => `a == b`
std::string squeeze(std::string_view text) {
  std::string result;
  for (char c : text) {
    bool is_space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!is_space) {
      result += c;
    } else if (!result.empty() && result.back() != ' ') {
      result += ' ';
    }
  }
  return result;
}

bool is_version(std::string_view text) {
  bool wants_digit = true;
  for (char c : text) {
    bool is_digit = c >= '0' && c <= '9';
    if (!is_digit && (c != '.' || wants_digit)) return false;
    wants_digit = c == '.';
  }
  return !wants_digit && text.size() <= 32;
}

/// Builds a value of a knob. It must have the knob's type and unit, which the first value sets.
bool build_knob_value(const ExprAst& ast, ir::Knob* knob, Diagnostics& diags) {
  using Kind = ExprAst::Kind;
  ir::ExprType type = ir::ExprType::String;
  ir::Unit unit = ir::Unit::None;
  runtime::AttrValue value = ast.text;
  bool is_bool = ast.kind == Kind::Name && (ast.text == "true" || ast.text == "false");
  if (ast.kind == Kind::Number) {
    type = ir::ExprType::Number;
    value = literal_value(ast, &unit);
  } else if (is_bool) {
    type = ir::ExprType::Bool;
    value = int64_t{ast.text == "true"};
  } else if (ast.kind != Kind::String && ast.kind != Kind::Name) {
    return diags.error(Code::BadKnob, ast.span, "a value of a knob must be a number, a bool or a string");
  }
  if (knob->values.empty()) {
    knob->type = type;
    knob->unit = unit;
  }
  if (type != knob->type || unit != knob->unit) {
    return diags.error(Code::BadKnob, ast.span, "the values of knob `{}` have several types", knob->name);
  }
  bool is_twice = std::any_of(knob->values.begin(), knob->values.end(), [&](const runtime::AttrValue& other) {
    return runtime::to_string(other) == runtime::to_string(value);
  });
  if (is_twice) return diags.error(Code::DuplicateName, ast.span, "knob `{}` has this value twice", knob->name);
  knob->values.push_back(std::move(value));
  return true;
}

}  // namespace

bool build_needs(const std::vector<syntax::NeedsAst>& asts, std::vector<ir::Need>* needs, Diagnostics& diags) {
  bool ok = true;
  for (const syntax::NeedsAst& ast : asts) {
    ir::Need need;
    need.is_library = diags.sources().text(ast.name.span).starts_with('"');
    need.name = ast.name.text;
    need.span = ast.span;
    if (ast.comparison) need.comparison = ast.comparison->text;
    if (ast.version) need.version = ast.version->text;
    if (ast.version && !is_version(ast.version->text)) {
      ok = diags.error(Code::BadVersion, ast.version->span, "\"{}\" is not a version", ast.version->text)
               .note("a version is numbers separated by dots: \"2.6\"");
      continue;
    }
    needs->push_back(std::move(need));
  }
  return ok;
}

bool build_message(const syntax::MessageAst& ast, const ExprScope& scope, MessagePieces* pieces, Diagnostics& diags) {
  bool ok = true;
  for (size_t i = 0; i < ast.texts.size(); ++i) {
    if (!ast.texts[i].empty()) pieces->emplace_back(ast.texts[i]);
    if (i >= ast.holes.size()) continue;
    auto hole = check_expr(ast.holes[i], scope, diags);
    ok = ok && hole;
    if (hole) pieces->emplace_back(std::move(*hole));
  }
  return ok;
}

namespace {

/// Builds the message of the `def where` that the condition is a use of; nothing if it is none, or has no message.
bool build_message_of_definition(const ExprAst& condition, const ExprScope& scope, MessagePieces* pieces,
                                 Diagnostics& diags) {
  bool may_be = condition.kind == ExprAst::Kind::Name || condition.kind == ExprAst::Kind::Call;
  if (!may_be || scope.named == nullptr) return true;
  NamedParts::FoundExpr found = scope.named->find_expr(condition.text);
  if (found.ast == nullptr || !found.ast->reason) return true;
  std::optional<ExprScope> inner = enter_expression(found, condition, scope, diags);
  if (!inner) return false;
  Diagnostics::NoteOnErrors note(diags, condition.span, fmt::format("in `{}`, used here", condition.text));
  return build_message(*found.ast->reason, *inner, pieces, diags);
}

}  // namespace

bool build_clause(const ExprAst& condition, const std::optional<syntax::MessageAst>& reason, const ExprScope& scope,
                  std::vector<ir::Clause>* clauses, Diagnostics& diags) {
  auto checked = check_expr_of(condition, scope, ir::ExprType::Bool, ir::Unit::None, "a condition", diags);
  bool ok = checked.has_value();
  ir::Clause clause;
  clause.source = squeeze(diags.sources().text(condition.span));
  clause.span = condition.span;
  if (reason) {
    ok = build_message(*reason, scope, &clause.reason, diags) && ok;
  } else if (ok) {
    ok = build_message_of_definition(condition, scope, &clause.reason, diags);
  }
  if (!ok) return false;
  clause.condition = std::move(*checked);
  clauses->push_back(std::move(clause));
  return true;
}

namespace {

/// The size of a memory of the backend's devices, or an error.
std::optional<double> size_of_memory(const Word& name, const ExprScope& scope, Diagnostics& diags) {
  const ir::Backend& backend = *scope.backend;
  const bool is_scratch = name.text == "scratch" && backend.scratch_bytes();
  const ir::NamedMemory* memory = backend.find_memory(name.text);
  if (is_scratch || memory != nullptr) {
    if (scope.used_attrs != nullptr) scope.used_attrs->insert(is_scratch ? kScratchUse : kMemoryUse + name.text);
    return is_scratch ? *backend.scratch_bytes() : memory->bytes;
  }
  std::vector<std::string> known;
  if (backend.scratch_bytes()) known.emplace_back("scratch");
  if (!backend.devices.empty()) {
    for (const ir::NamedMemory& other : backend.devices.front().memories) known.push_back(other.name);
  }
  diags.error(Code::UnknownName, name.span, "no device of this backend has a memory `{}`", name.text)
      .did_you_mean(support::closest(name.text, known))
      .note("`memory {} 512 KiB` in the device", name.text == "scratch" ? "sram" : name.text);
  return std::nullopt;
}

}  // namespace

bool build_workspaces(const std::vector<syntax::WorkspaceAst>& asts, const ExprScope& scope,
                      std::vector<ir::Clause>* clauses, Diagnostics& diags) {
  bool ok = true;
  for (const syntax::WorkspaceAst& ast : asts) {
    auto first = std::find_if(asts.begin(), asts.end(),
                              [&](const syntax::WorkspaceAst& other) { return other.memory.text == ast.memory.text; });
    if (&*first != &ast) {
      ok = diags.error(Code::DuplicateName, ast.memory.span, "the workspace in `{}` is stated twice", ast.memory.text)
               .note(first->memory.span, "the first is here");
      continue;
    }
    const std::optional<double> size = size_of_memory(ast.memory, scope, diags);
    auto bytes = check_expr_of(ast.bytes, scope, ir::ExprType::Number, ir::Unit::Bytes, "a workspace", diags);
    ok = ok && size && bytes;
    if (!size || !bytes) continue;
    if (bytes->kind == ir::Expr::Kind::Number && bytes->number > *size) {
      ok = diags.error(Code::IncompleteRule, ast.bytes.span, "the workspace never fits: `{}` has {:.0f} B",
                       ast.memory.text, *size);
      continue;
    }
    ir::Expr limit;
    limit.unit = ir::Unit::Bytes;
    limit.number = *size;
    limit.span = ast.memory.span;
    ir::Clause clause;
    clause.is_workspace = true;
    clause.span = ast.span;
    clause.source = squeeze(diags.sources().text(ast.span));
    clause.reason = {"needs ", *bytes, fmt::format(" in `{}`, which has {:.0f} B", ast.memory.text, *size)};
    clause.condition.kind = ir::Expr::Kind::Binary;
    clause.condition.type = ir::ExprType::Bool;
    clause.condition.op = ir::ExprOp::LessEqual;
    clause.condition.span = ast.span;
    clause.condition.args = {std::move(*bytes), std::move(limit)};
    clauses->push_back(std::move(clause));
  }
  return ok;
}

bool build_knobs(const std::vector<syntax::KnobAst>& asts, const ir::Rule& rule, std::vector<ir::Knob>* knobs,
                 Diagnostics& diags) {
  bool ok = true;
  for (const syntax::KnobAst& ast : asts) {
    const std::string& name = ast.name.text;
    auto same = std::find_if(knobs->begin(), knobs->end(), [&](const ir::Knob& knob) { return knob.name == name; });
    int capture = rule.find_capture(name);
    if (same != knobs->end() || capture >= 0) {
      ok = diags.error(Code::DuplicateName, ast.name.span, "`{}` is declared twice", name)
               .note(capture >= 0 ? rule.captures[static_cast<size_t>(capture)].span : same->span, "the first is here");
      continue;
    }
    ir::Knob knob;
    knob.name = name;
    knob.span = ast.name.span;
    for (const ExprAst& value : ast.values) ok = build_knob_value(value, &knob, diags) && ok;
    knobs->push_back(std::move(knob));
  }
  return ok;
}

}  // namespace collage::sema
