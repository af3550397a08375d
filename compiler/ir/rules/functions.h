// SPDX-License-Identifier: Apache-2.0
// Rows of functions.def, quantities.def and operators.def as data: the vocabulary of expressions of the rule language.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/rules/expr.h"

namespace collage::ir {

/// Facts about the result of a function, as bits of a set.
enum FunctionFacts : unsigned {
  NoFacts = 0,
  Natural = 1,              ///< a whole number from 0, never NaN
  WholeIfArgumentsAre = 2,  ///< whole where all arguments are
  Total = 4,                ///< it has a value wherever its arguments have one
  OfMachine = 8             ///< it depends on the machine: always true in tests of rule files
};

struct FunctionDef {
  std::string_view name;
  FunctionId id{};
  ExprType result = ExprType::Number;
  std::optional<Unit> unit;  ///< absent: that of the arguments, which must agree
  unsigned facts = NoFacts;
  std::vector<ExprType> args;
  bool variadic = false;  ///< the last argument may come any number of times, at least once
  std::string_view doc;   ///< `abs(a): magnitude`

  bool has(FunctionFacts fact) const { return (facts & fact) != 0; }
};

struct QuantityDef {
  enum class Scope { Everywhere, InPolicy, AsSum, WithScratch };
  std::string_view name;
  QuantityId id{};
  Unit unit = Unit::None;
  Scope scope = Scope::Everywhere;
  std::string_view doc;
};

const FunctionDef& function_def(FunctionId id);
/// Returns whether the value depends on the machine, so that no test of a rule file can show what it is for.
bool asks_machine(const Expr& expr);
/// Returns the first form; null if there is no such function.
const FunctionDef* find_function(std::string_view name);
/// Returns all forms: functions that take numbers and lists have two.
std::vector<const FunctionDef*> function_forms(std::string_view name);
/// Names of all functions, each once.
std::vector<std::string> function_names();

/// In the order of the rows.
std::span<const QuantityDef> all_quantities();
/// Returns null if there is no such quantity.
const QuantityDef* find_quantity(std::string_view name);

/// Returns nullopt if the binary operator does not exist.
std::optional<ExprOp> find_binary(std::string_view spelling);
std::string_view spelling_of(ExprOp op);

/// `number`, `truth value`, `dtype`, … for messages.
std::string_view name_of(ExprType type);
/// `plain number`, `time`, `size`, `rate`
std::string_view name_of(Unit unit);

}  // namespace collage::ir
