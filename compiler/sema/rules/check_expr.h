// SPDX-License-Identifier: Apache-2.0
// Expressions of the rule language: resolves names, checks types and units.
//
// Units: a sum, a comparison, `min` and `max` want one unit; a product keeps the unit of its only factor that has one;
// size / rate is a time, rate * time a size, size / time a rate, and what is divided by its own unit is plain. Power *
// time is an energy, and divides back.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/ops/op_def.h"
#include "compiler/ir/rules/expr.h"
#include "compiler/ir/rules/rule_set.h"
#include "compiler/sema/rules/load_cost_table.h"
#include "compiler/sema/rules/named_parts.h"
#include "compiler/sema/rules/pattern_defs.h"
#include "compiler/syntax/rules_ast.h"
#include "runtime/support/diagnostic.h"

namespace collage::sema {

/// No name of an attribute.
inline constexpr const char* kScratchUse = "scratch of the device";
/// Before the name of a memory.
inline constexpr const char* kMemoryUse = "memory ";

struct ExprFrame;

/// What one expression may become where definitions are put in.
struct ExprBudget {
  size_t parts = 0;
  int depth = 0;
};

/// The names that an expression may use.
struct ExprScope {
  const ir::Backend* backend = nullptr;                                     ///< its attributes
  const std::vector<ir::Capture>* captures = nullptr;                       ///< null outside of rules
  const std::vector<std::vector<const ir::OpDef*>>* capture_ops = nullptr;  ///< operators that a Node may be
  std::string variable;  ///< of a rule family, with what it stands for
  std::string member;
  const std::vector<ir::Knob>* knobs = nullptr;
  const PatternDefs* defs = nullptr;        ///< classes of operators; null: operators only
  const NamedParts* named = nullptr;        ///< `let`s and `def where`s; may be null
  std::shared_ptr<const ExprFrame> inside;  ///< in the body of a definition: its arguments
  ExprBudget* budget = nullptr;             ///< null: of an expression of its own
  CostTableFiles* tables = nullptr;         ///< the files of `table(…)`; may be null: there are none
  bool allows_operands = false;             ///< what `..` and `each` take: in a lowering
  bool allows_rules = false;                ///< `sum(rules)`: in a partition's cost
  bool allows_launch = false;

  std::set<int>* used_captures = nullptr;       ///< filled where given
  std::set<std::string>* used_attrs = nullptr;  ///< and kScratchUse, kMemoryUse with a name
  std::set<std::string>* used_knobs = nullptr;
};

/// Nothing after an error.
std::optional<ir::Expr> check_expr(const syntax::ExprAst& ast, const ExprScope& scope, support::Diagnostics& diags);

/// The same for comparisons of lists, made element by element.
std::optional<ir::Expr> check_elementwise(const syntax::ExprAst& ast, const ExprScope& scope,
                                          support::Diagnostics& diags);

/// A value of `type` and `unit`, or an error that says `what` must be one.
std::optional<ir::Expr> check_expr_of(const syntax::ExprAst& ast, const ExprScope& scope, ir::ExprType type,
                                      ir::Unit unit, std::string_view what, support::Diagnostics& diags);

/// `EXPR`, `measured` or `exec "PROGRAM"`, each with any number of `else EXPR`. A formula is a Time.
struct CheckedCost {
  bool measured = false;  ///< by the program, if there is one
  std::string program;
  std::optional<ir::Expr> formula;
};

/// Nothing after an error.
std::optional<CheckedCost> check_cost(const syntax::CostAst& ast, const ExprScope& scope, support::Diagnostics& diags);

/// Units that a number may take along, as written.
std::vector<std::pair<std::string_view, ir::Unit>> unit_words();

/// The value of a literal of Kind::Number, with its unit: an integer where it has no unit and is one.
runtime::AttrValue literal_value(const syntax::ExprAst& ast, ir::Unit* unit);
/// The integer that a literal is, exact where it is written without point and exponent; nullopt if it is none of 64
/// bits.
std::optional<int64_t> whole_value(const syntax::ExprAst& ast);

/// Number and SI unit of a literal: `8 us` => 8e-6, Time; `2 KiB` => 2048, Bytes.
double si_value(double number, std::string_view unit_text, ir::Unit* unit);

}  // namespace collage::sema
