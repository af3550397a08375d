// SPDX-License-Identifier: Apache-2.0
#include "compiler/syntax/parse_rules.h"

#include "compiler/syntax/rules_lexer.h"

namespace collage::syntax {
namespace {

using grammar::rules::Parsed;
using grammar::rules::ScanState;
using support::Code;

bool run(ScanState& state, Parsed& result) {
  RulesLexer lexer(state);
  bool accepted = grammar::rules::parser(lexer.handle(), state, result).parse() == 0;
  return accepted && state.errors == 0;
}

std::string unescape(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    result += text[i];
  }
  return result;
}

/// `"{dim(x, 1)} channels"` => texts "", " channels" and one hole. `\{` is a brace.
bool parse_message(const support::SourceManager& sources, MessageAst& message, support::Diagnostics& diags) {
  const Span span = message.source.span;
  std::string_view raw = sources.text(span);
  size_t quotes = raw.starts_with("\"\"\"") ? 3 : 1;
  if (raw.size() < 2 * quotes) return true;  // not closed: reported
  size_t at = quotes;
  size_t end = raw.size() - quotes;
  size_t text_begin = at;
  bool ok = true;
  while (at < end) {
    if (raw[at] == '\\') {
      at += 2;
      continue;
    }
    if (raw[at] != '{') {
      ++at;
      continue;
    }
    size_t close = std::min(raw.find('}', at), end);
    auto begin = span.begin + static_cast<uint32_t>(at);
    if (close == end) {
      return diags.error(Code::SyntaxError, {span.file, begin, begin + 1}, "`{{` in a message is not closed")
          .note("it opens an expression; a brace itself is written `\\{{`");
    }
    message.texts.push_back(unescape(raw.substr(text_begin, at - text_begin)));
    ScanState state;
    state.file = span.file;
    state.text = sources.text(span.file).substr(0, span.begin + close);
    state.begin = state.end = begin + 1;
    state.diags = &diags;
    state.is_expression = true;
    Parsed result;
    ok = run(state, result) && ok;
    message.holes.push_back(std::move(result.expression));
    at = text_begin = close + 1;
  }
  message.texts.push_back(unescape(raw.substr(text_begin, end - text_begin)));
  return ok;
}

bool parse_reasons(const support::SourceManager& sources, std::vector<WhereAst>& clauses, support::Diagnostics& diags) {
  bool ok = true;
  for (WhereAst& where : clauses) {
    if (where.reason) ok = parse_message(sources, *where.reason, diags) && ok;
  }
  return ok;
}

bool parse_reasons(const support::SourceManager& sources, DefinitionsAst& defs, support::Diagnostics& diags) {
  bool ok = true;
  for (NamedExprAst& expr : defs.expressions) {
    if (expr.reason) ok = parse_message(sources, *expr.reason, diags) && ok;
  }
  for (KernelDefAst& kernel : defs.kernels) ok = parse_reasons(sources, kernel.body.clauses, diags) && ok;
  return ok;
}

}  // namespace

std::optional<RulesAst> parse_rules(const support::SourceManager& sources, support::FileId file,
                                    support::Diagnostics& diags) {
  ScanState state;
  state.file = file;
  state.text = sources.text(file);
  state.diags = &diags;
  if (state.text.size() > kMaxRulesBytes) {
    return diags.error(Code::SyntaxError, {file, 0, 0}, "the file has {} bytes, more than 64 MiB", state.text.size());
  }
  Parsed result;
  bool ok = run(state, result);
  ok = parse_reasons(sources, result.file.defs, diags) && ok;
  for (BackendAst& backend : result.file.backends) {
    ok = parse_reasons(sources, backend.defs, diags) && ok;
    for (RuleAst& rule : backend.rules) {
      ok = parse_reasons(sources, rule.clauses, diags) && ok;
      for (KernelAst& kernel : rule.kernels) ok = parse_reasons(sources, kernel.clauses, diags) && ok;
    }
    for (DenyAst& deny : backend.denies) ok = parse_message(sources, deny.reason, diags) && ok;
  }
  if (!ok) return std::nullopt;
  return std::move(result.file);
}

}  // namespace collage::syntax
