// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/rules/read_numbers.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>

#include "compiler/sema/rules/check_expr.h"
#include "runtime/core/joined.h"

namespace collage::sema {
namespace {

using ir::Unit;
using support::Code;
using support::Diagnostics;
using syntax::NumberAst;

// A Diagnostic converts to false, and false to a number: functions that return numbers say std::nullopt explicitly.

/// The word that follows on the same line; empty if something else does.
std::string_view word_after(const support::Span& span, Diagnostics& diags) {
  std::string_view text = diags.sources().text(span.file).substr(span.end);
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '/'; };
  size_t length = 0;
  while (length < text.size() && is_letter(text[length])) ++length;
  return text.substr(0, length);
}

/// `s, ms, us`
std::string units_of(Unit unit) {
  std::string text;
  for (const auto& [spelling, what] : unit_words()) {
    if (what != (unit == Unit::Rate ? Unit::Bytes : unit)) continue;
    runtime::add_to_list(text, std::string(spelling) + (unit == Unit::Rate ? "/s" : ""));
  }
  return text;
}

}  // namespace

std::optional<int> whole(const NumberAst& ast, int least, int most, std::string_view what, Code code,
                         Diagnostics& diags) {
  if (!ast.unit.empty()) {
    diags.error(Code::UnitMismatch, ast.span, "{} is a plain number, found `{}`", what, ast.unit);
    return std::nullopt;
  }
  if (ast.value != std::floor(ast.value) || ast.value < least || ast.value > most) {
    diags.error(code, ast.span, "{} must be a whole number from {} to {}", what, least, most);
    return std::nullopt;
  }
  return static_cast<int>(ast.value);
}

std::optional<double> quantity(const NumberAst& ast, const QuantityRow& row, Diagnostics& diags) {
  Unit found;
  double value = si_value(ast.value, ast.unit, &found);
  if (found != row.unit) {
    auto error = diags.error(Code::UnitMismatch, ast.span, "{} needs a unit: `{}`", row.what, row.example);
    std::string_view word = word_after(ast.span, diags);
    if (ast.unit.empty() && !word.empty()) error.note("`{}` is no unit; units are {}", word, units_of(row.unit));
    return std::nullopt;
  }
  if (!(value > 0) && !(row.allows_zero && value == 0)) {
    diags.error(Code::BadDevice, ast.span, "{} must be positive", row.what);
    return std::nullopt;
  }
  if (value < row.least || value > row.most) {
    diags.error(Code::BadDevice, ast.span, "{} must be {}", row.what, row.limits);
    return std::nullopt;
  }
  return value;
}

bool once(const std::vector<support::Span>& spans, std::string_view what, Diagnostics& diags) {
  if (spans.size() < 2) return true;
  return diags.error(Code::DuplicateName, spans[1], "{} is stated twice", what).note(spans[0], "the first is here");
}

}  // namespace collage::sema
