// SPDX-License-Identifier: Apache-2.0
#include "compiler/lint/logic/expr_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compiler/ir/rules/functions.h"

namespace collage::lint {

using ir::ExprOp;
using Kind = ir::Expr::Kind;

namespace {

/// Nothing for results without a value, and where a double may stand for several integers.
std::optional<double> exact(double number) {
  constexpr double kLargest = 0x1p52;
  bool may_be_inexact = number == std::floor(number) && std::abs(number) > kLargest;
  return std::isfinite(number) && !may_be_inexact ? std::optional(number) : std::nullopt;
}

}  // namespace

CaptureNames names_of(const ir::Rule& rule) {
  CaptureNames names;
  for (const ir::Capture& capture : rule.captures) names.push_back(capture.name);
  return names;
}

std::string text_of(const ir::Expr& expr, const CaptureNames& names, const Settings& settings) {
  auto arg = [&](size_t i) { return text_of(expr.args.at(i), names, settings); };
  auto all = [&] {
    std::string text;
    for (size_t i = 0; i < expr.args.size(); ++i) text += (i == 0 ? "" : ",") + arg(i);
    return text;
  };
  if (auto number = constant_of(expr, settings)) return fmt::format("{}", *number);
  switch (expr.kind) {
    case Kind::Number: return expr.whole ? fmt::format("{}", *expr.whole) : fmt::format("{}", expr.number);
    case Kind::String: return "\"" + expr.text + "\"";
    case Kind::DType: return std::string(runtime::name_of(expr.dtype));
    case Kind::Capture: {
      auto at = static_cast<size_t>(expr.capture);
      return at < names.size() ? "%" + names[at] : "%?";
    }
    case Kind::Attribute: return arg(0) + "." + expr.text;
    case Kind::BackendAttr: {
      auto set = settings.find(expr.text);
      return set == settings.end() ? "$" + expr.text : runtime::to_string(set->second);
    }
    case Kind::Unary: return fmt::format("{}({})", ir::spelling_of(expr.op), arg(0));
    case Kind::Binary: return fmt::format("({} {} {})", arg(0), ir::spelling_of(expr.op), arg(1));
    case Kind::List: return "[" + all() + "]";
    case Kind::Call: {
      // Two tables are equal if they were read from the same place.
      std::string table = expr.table ? fmt::format("{}:", static_cast<const void*>(expr.table.get())) : "";
      return fmt::format("{}({}{})", ir::function_def(expr.function).name, table, all());
    }
    case Kind::If: return fmt::format("if {} then {} else {}", arg(0), arg(1), arg(2));
    default: break;
  }
  return "#" + std::to_string(static_cast<int>(expr.kind)) + expr.text + "(" + all() + ")";
}

std::optional<double> constant_of(const ir::Expr& expr, const Settings& settings) {
  switch (expr.kind) {
    case Kind::Number:
    case Kind::Bool: return exact(expr.number);
    case Kind::BackendAttr: {
      auto set = settings.find(expr.text);
      if (set == settings.end()) return std::nullopt;
      if (const int64_t* i = std::get_if<int64_t>(&set->second)) return exact(static_cast<double>(*i));
      if (const double* d = std::get_if<double>(&set->second)) return *d;
      return std::nullopt;
    }
    case Kind::Unary: {
      if (expr.op != ExprOp::Negate) return std::nullopt;
      auto number = constant_of(expr.args.at(0), settings);
      return number ? std::optional(-*number) : std::nullopt;
    }
    case Kind::Binary: {
      if (expr.type != ir::ExprType::Number) return std::nullopt;
      auto a = constant_of(expr.args.at(0), settings);
      auto b = constant_of(expr.args.at(1), settings);
      if (!a || !b) return std::nullopt;
      switch (expr.op) {
        case ExprOp::Add: return exact(*a + *b);
        case ExprOp::Subtract: return exact(*a - *b);
        case ExprOp::Multiply: return exact(*a * *b);
        case ExprOp::Divide: return exact(*a / *b);
        case ExprOp::Remainder: return exact(std::fmod(*a, *b));
        default: return std::nullopt;
      }
    }
    default: return std::nullopt;
  }
}

bool asks_outside(const ir::Expr& expr) {
  return expr.kind == Kind::BackendVersion || ir::asks_machine(expr) ||
         std::any_of(expr.args.begin(), expr.args.end(), asks_outside);
}

void collect_captures(const ir::Expr& expr, std::vector<int>* captures) {
  if (is_call(expr, ir::FunctionId::present)) return;
  if (expr.kind == Kind::Capture) captures->push_back(expr.capture);
  for (const ir::Expr& arg : expr.args) collect_captures(arg, captures);
}

}  // namespace collage::lint
