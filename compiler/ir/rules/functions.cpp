// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/rules/functions.h"

#include <algorithm>

namespace collage::ir {
namespace {

/// An argument of a row: a type, or `Rest`.
struct Arg {
  std::optional<ExprType> type;
};

FunctionDef row(std::string_view name, FunctionId id, ExprType result, std::optional<Unit> unit, unsigned facts,
                std::string_view doc, std::initializer_list<Arg> args) {
  FunctionDef def{name, id, result, unit, facts, {}, false, doc};
  for (const Arg& arg : args) {
    if (arg.type) {
      def.args.push_back(*arg.type);
    } else {
      def.variadic = true;
    }
  }
  return def;
}

const std::vector<FunctionDef>& table() {
  constexpr std::optional<Unit> None = Unit::None, Bytes = Unit::Bytes, Same = std::nullopt;
  const Arg Number{ExprType::Number}, Numbers{ExprType::Numbers}, Value{ExprType::Value}, Node{ExprType::Node},
      String{ExprType::String}, Condition{ExprType::Bools}, Rest{};
  static const std::vector<FunctionDef> rows = {
#define FUNCTION(name, evaluator, result, unit, facts, doc, ...) \
  row(#name, FunctionId::evaluator, ExprType::result, unit, facts, doc, {__VA_ARGS__}),
#include "compiler/ir/rules/functions.def"
#undef FUNCTION
  };
  return rows;
}

constexpr QuantityDef kQuantities[] = {
#define QUANTITY(name, unit, scope, doc) {#name, QuantityId::name, Unit::unit, QuantityDef::Scope::scope, doc},
#include "compiler/ir/rules/quantities.def"
#undef QUANTITY
};

struct BinaryRow {
  std::string_view spelling;
  ExprOp op;
};

constexpr BinaryRow kBinaries[] = {
#define UNARY(id, spelling)
#define BINARY(id, spelling) {spelling, ExprOp::id},
#include "compiler/ir/rules/operators.def"
#undef UNARY
#undef BINARY
};

}  // namespace

const FunctionDef& function_def(FunctionId id) {
  return table()[static_cast<size_t>(id)];
}

bool asks_machine(const Expr& expr) {
  const bool asks = expr.kind == Expr::Kind::LibraryVersion ||
                    (expr.kind == Expr::Kind::Call && function_def(expr.function).has(OfMachine));
  return asks || std::any_of(expr.args.begin(), expr.args.end(), asks_machine);
}

std::span<const QuantityDef> all_quantities() {
  return kQuantities;
}

const QuantityDef* find_quantity(std::string_view name) {
  auto it = std::find_if(std::begin(kQuantities), std::end(kQuantities),
                         [&](const QuantityDef& def) { return def.name == name; });
  return it == std::end(kQuantities) ? nullptr : it;
}

std::optional<ExprOp> find_binary(std::string_view spelling) {
  for (const BinaryRow& row : kBinaries) {
    if (row.spelling == spelling) return row.op;
  }
  return std::nullopt;
}

const FunctionDef* find_function(std::string_view name) {
  const std::vector<FunctionDef>& rows = table();
  auto it = std::find_if(rows.begin(), rows.end(), [&](const FunctionDef& def) { return def.name == name; });
  return it == rows.end() ? nullptr : &*it;
}

std::vector<const FunctionDef*> function_forms(std::string_view name) {
  std::vector<const FunctionDef*> forms;
  for (const FunctionDef& def : table()) {
    if (def.name == name) forms.push_back(&def);
  }
  return forms;
}

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  for (const FunctionDef& def : table()) {
    if (names.empty() || names.back() != def.name) names.emplace_back(def.name);
  }
  return names;
}

std::string_view spelling_of(ExprOp op) {
  static constexpr std::string_view spellings[] = {
#define UNARY(id, spelling) spelling,
#define BINARY(id, spelling) spelling,
#include "compiler/ir/rules/operators.def"
#undef UNARY
#undef BINARY
  };
  return spellings[static_cast<size_t>(op)];
}

std::string_view name_of(ExprType type) {
  switch (type) {
    case ExprType::Number: return "number";
    case ExprType::Bool: return "truth value";
    case ExprType::String: return "string";
    case ExprType::DType: return "dtype";
    case ExprType::Numbers: return "list of numbers";
    case ExprType::Bools: return "comparison of lists";
    case ExprType::Value: return "value";
    case ExprType::Node: return "node";
    case ExprType::Values: return "list of operands";
  }
  return "";
}

std::string_view name_of(Unit unit) {
  switch (unit) {
    case Unit::None: return "plain number";
    case Unit::Time: return "time";
    case Unit::Bytes: return "size";
    case Unit::Rate: return "rate";
    case Unit::Energy: return "energy";
    case Unit::Power: return "power";
  }
  return "";
}

}  // namespace collage::ir
