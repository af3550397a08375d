// SPDX-License-Identifier: Apache-2.0
// Evaluates expressions of the rule language on a match: predicates, messages and costs.
//
// Evaluation never crashes. An expression without a value (a dimension that does not exist, an attribute that the node
// lacks, a division by zero, an integer that does not fit 64 bits) fails with a reason.
// A capture that is absent in this match costs 0, and a `where` whose truth depends on it holds: `false and unknown` is
// false, `true or unknown` is true, `true and unknown` is unknown.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "compiler/ir/placement/chosen_match.h"
#include "compiler/ir/rules/rule_set.h"
#include "compiler/match/environment.h"
#include "compiler/match/number_list.h"
#include "runtime/core/status.h"

namespace collage::match {

using ir::DType;
using ir::Graph;
using ir::NodeId;
using ir::ValueId;

using ir::Binding;

/// Attributes of a backend instance that `-t` sets; the others have their declared default.
using AttrValues = std::map<std::string, runtime::AttrValue, std::less<>>;

/// What a cost may count, of one match or of one candidate: the rows of ir/rules/quantities.def, in SI. `bytes` are
/// those of the distinct values read from outside, constants among them, and of the values that are read outside.
struct Quantities {
#define QUANTITY(name, ...) double name = 0;
#include "compiler/ir/rules/quantities.def"
#undef QUANTITY
};

/// `nodes` ascending; `launch` and `rules` stay 0. Without a backend, so do the quantities of its scratch.
Quantities quantities_of(const Graph& graph, const std::vector<NodeId>& nodes, const ir::Backend* backend = nullptr);

struct EvalContext {
  const Graph& graph;
  const ir::Backend& backend;
  const AttrValues& attrs;
  std::span<const Binding> bindings;       ///< one per capture of the rule; none for a candidate's cost
  const Quantities* quantities = nullptr;  ///< null if the expression has none, or they are not known
  const AttrValues* knobs = nullptr;       ///< of the kernel, as they are tried
  const Environment* environment = nullptr;
};

using EvalValue = std::variant<Number, bool, std::string, DType, NumberList, Binding>;

struct Evaluated {
  std::optional<EvalValue> value;
  std::string why;  ///< reason if there is no value

  explicit operator bool() const { return value.has_value(); }
};

/// The values that a capture stands for in a match: one, or the operands that `rest = ..` names. None if it is absent.
std::vector<ValueId> values_of(const Graph& graph, const ir::Capture& capture, const Binding& binding);

Evaluated failed(std::string why);
Evaluated number(Number n);
Evaluated boolean(bool b);

/// A truth value is 0 or 1; NaN for values that are not numbers.
Number as_number(const EvalValue& value);
bool as_bool(const EvalValue& value);
std::vector<Number> elements_of(const ir::Tensor& tensor);

Evaluated evaluate(const ir::Expr& expr, const EvalContext& context);

/// Text of a value in messages: `f32`, `12`, `[1, 1]`, `4 us`, `%x`.
std::string to_text(const EvalValue& value, ir::Unit unit);

/// Whether the expression mentions a capture that is absent in this match, or a library where none is known.
/// `present(b)` asks whether a capture is there, so it does not count as a mention.
bool mentions_absent(const ir::Expr& expr, const EvalContext& context);

/// Fails if the clause does not hold; the message is its reason, rendered with the values found.
runtime::Status clause_holds(const ir::Clause& clause, const EvalContext& context);

/// Renders `else "text {expr}"` with the values found; `?` where there is no value.
std::string render(const std::vector<std::variant<std::string, ir::Expr>>& pieces, const EvalContext& context);

/// Returns seconds, finite and not negative, or why there are none.
runtime::Result<double> evaluate_cost(const ir::Expr& expr, const EvalContext& context);

}  // namespace collage::match
