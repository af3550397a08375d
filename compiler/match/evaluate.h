// SPDX-License-Identifier: Apache-2.0
// Evaluates expressions of the rule language on a match: predicates, messages and costs.
//
// Evaluation is total. What has no value (a dimension that does not exist, an attribute that the node lacks) fails with
// a reason; arithmetic follows IEEE, so that a division by zero ends as infinity or NaN, which `evaluate_cost` refuses.
// A capture that is absent in this match costs 0, and a `where` that mentions it holds (section 5 of the design).
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "compiler/ir/chosen_match.h"
#include "compiler/ir/rule_set.h"
#include "compiler/match/environment.h"
#include "compiler/match/number_list.h"

namespace collage::match {

using ir::DType;
using ir::Graph;
using ir::NodeId;
using ir::ValueId;

using ir::Binding;

/// Attributes of a backend instance, as set by `-t`. Those not set have their declared default.
using AttrValues = std::map<std::string, runtime::AttrValue, std::less<>>;

/// What a cost may count, of one match or of one candidate.
struct Quantities {
  double ops = 0;
  double macs = 0;
  double flops = 0;
  double bytes = 0;   ///< distinct values read from outside and constants, and values that are read outside
  double launch = 0;  ///< seconds
  double rules = 0;   ///< seconds: sum of the members' costs
};

/// `nodes` ascending; `launch` and `rules` stay 0.
Quantities quantities_of(const Graph& graph, const std::vector<NodeId>& nodes);

struct EvalContext {
  const Graph& graph;
  const ir::Backend& backend;
  const AttrValues& attrs;
  std::span<const Binding> bindings;       ///< one per capture of the rule; none for a candidate's cost
  const Quantities* quantities = nullptr;  ///< null: not known (in a predicate)
  const AttrValues* knobs = nullptr;       ///< of the kernel, as they are tried
  const Environment* environment = nullptr;
};

using EvalValue = std::variant<double, bool, std::string, DType, NumberList, Binding>;

struct Evaluated {
  std::optional<EvalValue> value;
  std::string why;  ///< where there is no value

  explicit operator bool() const { return value.has_value(); }
};

Evaluated evaluate(const ir::Expr& expr, const EvalContext& context);

/// As messages show it: `f32`, `12`, `[1, 1]`, `4 us`, `%x`.
std::string to_text(const EvalValue& value, ir::Unit unit);

/// True if the clause holds. Else `*message` is its reason, rendered with the values found.
bool clause_holds(const ir::Clause& clause, const EvalContext& context, std::string* message);

/// `else "text {expr}"` with the values found; `?` where there is none.
std::string render(const std::vector<std::variant<std::string, ir::Expr>>& pieces, const EvalContext& context);

/// Seconds, finite and not negative. Nothing otherwise, and `*why` says why.
std::optional<double> evaluate_cost(const ir::Expr& expr, const EvalContext& context, std::string* why);

}  // namespace collage::match
