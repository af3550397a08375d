// SPDX-License-Identifier: Apache-2.0
// Expressions of the rule language after sema: names resolved, types and units checked. Plain data; `match/` evaluates.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/support/span.h"
#include "runtime/core/dtype.h"

namespace collage::ir {

struct CostTable;

/// What an expression yields. A Value or Node only serves as an argument: `dim(x, 1)`, `c.group`; so does an Operator,
/// which is the name of one or of a class. A list of truth values is what a comparison inside `all(…)` gives.
enum class ExprType { Number, Bool, String, DType, Numbers, Bools, Value, Node, Operator };

/// Units are typed: they add only to themselves. Products with plain numbers keep the unit; bytes / rate is a time;
/// power * time is an energy; number of a unit over the same unit is plain. In SI: seconds, bytes, bytes per second,
/// joules, watts.
enum class Unit { None, Time, Bytes, Rate, Energy, Power };

struct Expr {
  enum class Kind {
    Number,       ///< `number`, in SI of `unit`
    String,       ///< `text`
    DType,        ///< `dtype`
    Bool,         ///< `number` 0 or 1
    Capture,      ///< `capture`: index into Rule::captures
    Attribute,    ///< attribute `text` of the node captured by args[0]; the operator's default where it is not written
    BackendAttr,  ///< attribute `text` of the backend instance
    Quantity,     ///< `text`: ops, macs, flops, bytes, launch, rules (the sum of the members' costs)
    Version,      ///< `text`: backend_version, library_version
    Knob,         ///< knob `text` of the kernel
    Unary,        ///< `text`: - or `not`
    Binary,       ///< `text`: + - * / % == != < <= > >= and or in
    List,         ///< args
    Call          ///< function `text` of args; the functions are `functions.def`
  };
  Kind kind = Kind::Number;
  ExprType type = ExprType::Number;
  Unit unit = Unit::None;
  double number = 0;
  std::string text;
  runtime::DType dtype = runtime::DType::F32;
  int capture = -1;
  std::vector<Expr> args;
  std::shared_ptr<const CostTable> table;  ///< of the function `table`
  support::Span span;
};

/// Does `sum(rules)` occur in it?
bool refers_to_rules(const Expr& expr);
/// Does `ops`, `macs` or another quantity?
bool refers_to_quantities(const Expr& expr);

/// Does a knob occur in it?
bool refers_to_knobs(const Expr& expr);

}  // namespace collage::ir
