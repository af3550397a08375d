// SPDX-License-Identifier: Apache-2.0
// A refusal that says "at most 1024" or "at least 8" where its condition, of whole numbers, has its bound one beside
// that: one of the two is wrong.
//
//     where dim(x, -1) <= 1023 else "rows of {dim(x, -1)}, at most 1024"
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/ir/rules/functions.h"
#include "compiler/lint/checks/checks.h"
#include "compiler/lint/checks/families.h"
#include "compiler/lint/logic/comparison.h"
#include "compiler/lint/logic/expr_text.h"

namespace collage::lint {
namespace {

using ir::Expr;
using ir::ExprOp;

/// What a term may be: at most, or at least, this whole number.
struct Bound {
  bool is_most = true;
  int64_t number = 0;
};

/// Numbers that surely are whole: dimensions, attributes and what sums and products make of them.
bool is_of_whole_numbers(const Expr& expr) {
  if (expr.kind == Expr::Kind::Binary && expr.op == ExprOp::Divide) return false;
  if (expr.kind == Expr::Kind::Number) return expr.whole.has_value();
  const bool is_real = is_call(expr, ir::FunctionId::value) || is_call(expr, ir::FunctionId::values) ||
                       is_call(expr, ir::FunctionId::sqrt) || is_call(expr, ir::FunctionId::log2) ||
                       is_call(expr, ir::FunctionId::pow) || is_call(expr, ir::FunctionId::table);
  return !is_real && std::all_of(expr.args.begin(), expr.args.end(), is_of_whole_numbers);
}

/// `x < 4` => x is at most 3
void add_bound(const Expr& term, ExprOp op, double number, bool holds, std::vector<Bound>* bounds) {
  if (number != static_cast<double>(static_cast<int64_t>(number)) || !is_of_whole_numbers(term)) return;
  const auto whole = static_cast<int64_t>(number);
  const bool is_less = op == ExprOp::Less || op == ExprOp::LessEqual;
  const bool is_strict = op == ExprOp::Less || op == ExprOp::Greater;
  const bool is_most = is_less == holds;
  // Not `x < 4` is `x >= 4`.
  const bool is_beside = is_strict == holds;
  bounds->push_back({is_most, !is_beside ? whole : is_most ? whole - 1 : whole + 1});
}

/// Bounds that hold where `expr` does, or where it does not.
void collect_bounds(const Expr& expr, bool holds, std::vector<Bound>* bounds) {
  if (expr.kind == Expr::Kind::If) return;
  if (is_operation(expr, ExprOp::Not)) return collect_bounds(expr.args.at(0), !holds, bounds);
  const bool is_order = is_comparison(expr) && expr.op != ExprOp::Equal && expr.op != ExprOp::NotEqual;
  if (!is_order) {
    for (const Expr& arg : expr.args) collect_bounds(arg, holds, bounds);
    return;
  }
  if (expr.args[0].unit != ir::Unit::None) return;
  const std::optional<double> left = constant_of(expr.args[0], {});
  const std::optional<double> right = constant_of(expr.args[1], {});
  if (right && !left) add_bound(expr.args[0], expr.op, *right, holds, bounds);
  if (left && !right) add_bound(expr.args[1], mirrored(expr.op), *left, holds, bounds);
}

/// A number behind one of some phrases, in a message.
struct Said {
  Bound bound;
  std::string text;  ///< `at most 1024`
};

std::vector<Said> bounds_said(const std::string& message) {
  static constexpr std::pair<std::string_view, bool> kPhrases[] = {
      {"at most ", true}, {"up to ", true}, {"no more than ", true}, {"at least ", false}, {"no less than ", false}};
  std::vector<Said> said;
  for (const auto& [phrase, is_most] : kPhrases) {
    for (size_t at = message.find(phrase); at != std::string::npos; at = message.find(phrase, at + 1)) {
      const char* first = message.data() + at + phrase.size();
      const char* end = message.data() + message.size();
      Said one{{is_most, 0}, ""};
      const auto [after, error] = std::from_chars(first, end, one.bound.number);
      // `1.5`, `4x`, `{…}`
      const bool is_part = after != end && (std::isalpha(static_cast<unsigned char>(*after)) != 0 ||
                                            (*after == '.' && after + 1 != end && after[1] != ' '));
      if (error != std::errc() || is_part) continue;
      one.text.assign(message.data() + at, after);
      said.push_back(std::move(one));
    }
  }
  return said;
}

using Pieces = std::vector<std::variant<std::string, Expr>>;

void check_message(const Expr& condition, bool holds, const Pieces& reason, support::Span span,
                   support::Diagnostics& diags) {
  std::string message;
  for (const auto& piece : reason) {
    const std::string* text = std::get_if<std::string>(&piece);
    message += text != nullptr ? *text : "{}";
  }
  std::vector<Bound> bounds;
  for (const Said& said : bounds_said(message)) {
    if (bounds.empty()) collect_bounds(condition, holds, &bounds);
    std::optional<Bound> beside;
    bool is_there = false;
    for (const Bound& bound : bounds) {
      if (bound.is_most != said.bound.is_most) continue;
      is_there = is_there || bound.number == said.bound.number;
      // In doubles: a message may say any number of 64 bits.
      const double away = static_cast<double>(bound.number) - static_cast<double>(said.bound.number);
      if (std::abs(away) == 1) beside = bound;
    }
    if (is_there || !beside) continue;
    diags.warning(support::Code::BoundInMessage, span, "the message says `{}`, and this admits {} {}", said.text,
                  beside->is_most ? "at most" : "at least", beside->number);
  }
}

}  // namespace

void check_messages(const ir::RuleSet& rules, support::Diagnostics& diags) {
  for (const ir::Backend& backend : rules.backends) {
    for (const std::vector<int>& family : families_of(backend)) {
      const ir::Rule& rule = backend.rules[static_cast<size_t>(family[0])];
      std::vector<const ir::Clause*> clauses;
      for (const ir::Clause& clause : rule.clauses) clauses.push_back(&clause);
      for (const ir::Kernel& kernel : rule.kernels) {
        for (const ir::Clause& clause : kernel.clauses) clauses.push_back(&clause);
      }
      for (const ir::Clause* clause : clauses) {
        if (!clause->is_workspace) check_message(clause->condition, true, clause->reason, clause->span, diags);
      }
    }
    for (const ir::Deny& deny : backend.denies) {
      for (const ir::Clause& clause : deny.pattern.clauses) {
        check_message(clause.condition, false, deny.reason, clause.span, diags);
      }
    }
  }
}

}  // namespace collage::lint
