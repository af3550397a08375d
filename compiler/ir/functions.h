// SPDX-License-Identifier: Apache-2.0
// The rows of functions.def as data: what the rule language can call.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/expr.h"

namespace collage::ir {

struct FunctionDef {
  std::string_view name;
  ExprType result = ExprType::Number;
  std::optional<Unit> unit;  ///< nothing: that of the arguments, which must agree
  std::vector<ExprType> args;
  bool variadic = false;  ///< the last argument may come any number of times, at least once
  std::string_view doc;   ///< `abs(a): magnitude`
};

/// The first form; null if there is no such function.
const FunctionDef* find_function(std::string_view name);
/// All forms: functions that take numbers and lists have two.
std::vector<const FunctionDef*> function_forms(std::string_view name);
/// Each once.
std::vector<std::string> function_names();

/// `number`, `truth value`, `dtype`, … for messages.
std::string_view name_of(ExprType type);
/// `plain number`, `time`, `size`, `rate`
std::string_view name_of(Unit unit);

}  // namespace collage::ir
