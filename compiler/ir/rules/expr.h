// SPDX-License-Identifier: Apache-2.0
// Expressions of the rule language after sema: names resolved, types and units checked. Plain data; `match/` evaluates.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/core/dtype.h"
#include "runtime/support/span.h"

namespace collage::ir {

struct CostTable;

/// Type of an expression's value. A Value or Node only serves as an argument: `dim(x, 1)`, `c.group`; so do
/// Values, the operands that `..` or `each` takes. Bools is a list of truth values: a comparison inside `all(…)` gives
/// one.
enum class ExprType { Number, Bool, String, DType, Numbers, Bools, Value, Node, Values };

/// Units are typed: they add only to themselves. Products with plain numbers keep the unit; bytes / rate is a time;
/// power * time is an energy; number of a unit over the same unit is plain. In SI: seconds, bytes, bytes per second,
/// joules, watts.
enum class Unit { None, Time, Bytes, Rate, Energy, Power };

/// Functions that expressions can call, by evaluator: a function that takes numbers and lists has two.
enum class FunctionId {
#define FUNCTION(name, evaluator, ...) evaluator,
#include "compiler/ir/rules/functions.def"
#undef FUNCTION
};

enum class QuantityId {
#define QUANTITY(name, ...) name,
#include "compiler/ir/rules/quantities.def"
#undef QUANTITY
};

enum class ExprOp {
#define UNARY(id, spelling) id,
#define BINARY(id, spelling) id,
#include "compiler/ir/rules/operators.def"
#undef UNARY
#undef BINARY
};

struct Expr {
  enum class Kind {
    Number,       ///< `number`, in SI of `unit`
    String,       ///< `text`
    DType,        ///< `dtype`
    Bool,         ///< `number` 0 or 1
    Capture,      ///< `capture`: index into Rule::captures
    Attribute,    ///< attribute `text` of the node captured by args[0]; the operator's default where it is not written
    BackendAttr,  ///< attribute `text` of the backend instance
    Quantity,     ///< `quantity`
    BackendVersion,
    LibraryVersion,  ///< of the library that the backend runs on, a string
    Knob,            ///< knob `text` of the kernel
    Unary,           ///< `op` of args
    Binary,          ///< `op` of args
    List,            ///< args
    Call,            ///< `function` of args
    If,              ///< args[1] where args[0] holds, else args[2]
    OrElse           ///< args[0], or args[1] where that has no value
  };
  Kind kind = Kind::Number;
  ExprType type = ExprType::Number;
  Unit unit = Unit::None;
  double number = 0;
  std::optional<int64_t> whole;  ///< the exact value of a Number that is an integer
  std::string text;              ///< of names and strings; functions and operators have an id alone
  FunctionId function{};
  QuantityId quantity{};
  ExprOp op{};
  runtime::DType dtype = runtime::DType::F32;
  int capture = -1;
  std::vector<Expr> args;
  std::shared_ptr<const CostTable> table;  ///< of the function `table`
  support::Span span;
};

/// True if it calls this function.
bool is_call(const Expr& expr, FunctionId function);
/// True if it is this operator, unary or binary, of its arguments.
bool is_operation(const Expr& expr, ExprOp op);
/// True if it compares two arguments by `==`, `!=`, `<`, `<=`, `>` or `>=`.
bool is_comparison(const Expr& expr);

/// True if `sum(rules)` occurs in it.
bool refers_to_rules(const Expr& expr);
/// True if `ops`, `macs` or another quantity occurs in it.
bool refers_to_quantities(const Expr& expr);
/// True if a knob occurs in it.
bool refers_to_knobs(const Expr& expr);

}  // namespace collage::ir
