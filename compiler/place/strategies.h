// SPDX-License-Identifier: Apache-2.0
// The ways of placing that a user can ask for by name: the rows of strategies.def.
//
// Greedy ones pass over a candidate that overlaps, breaks a limit, would close a cycle or could not be fed. Where what
// they took leaves no way to finish (a pin, say), they give up their last choices, twice as many each time, until there
// is one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/place/problem/problem.h"
#include "compiler/place/problem/search_options.h"
#include "runtime/core/status.h"
#include "runtime/support/diagnostic.h"

namespace collage::place {

struct Strategy {
  enum class Kind {
#define STRATEGY(kind, ...) kind,
#include "compiler/place/strategies.def"
#undef STRATEGY
  };
  Kind kind = Kind::Optimal;
  std::vector<std::string> backends;  ///< Priority: in order; Single: the one
  std::vector<size_t> numbers{};      ///< after the colon, of those that take numbers

  /// The number at a place, or what it is where it was not given.
  size_t number(size_t place, size_t initial) const {
    return place < numbers.size() ? numbers[place] : initial;
  }

  friend bool operator==(const Strategy&, const Strategy&) = default;
};

/// Sets of simpler strategies, each of which holds the one before: what a search starts from, falls back on and is
/// compared with. `Never`: in none.
enum class Simpler { Never, Shown, Quick, Each, All };

/// One row of strategies.def, which explains the columns.
struct StrategyRow {
  enum class Takes { Nothing, OneBackend, Backends, OneNumber, TwoNumbers };
  enum class Role { Exact, Partial, Baseline, Policy, Measured };
  Strategy::Kind kind;
  std::string_view name;
  Takes takes;
  Role role;
  Simpler simpler;
  std::string_view description;
  runtime::Result<Solution> (*solve)(const Problem& problem, const Strategy& strategy, const SearchOptions& options);
};

std::span<const StrategyRow> strategy_rows();
const StrategyRow& row_of(const Strategy& strategy);

/// The row that a text such as `priority:npu` starts with; null if there is none.
const StrategyRow* find_strategy(std::string_view text);

/// How a user writes the row's strategy: `greedy`, `single:a`, `priority:a,b`, `litert[:n,m]`.
std::string usage_of(const StrategyRow& row);
/// All of them, or all but what other systems do: `optimal | greedy | …`.
std::string strategies_usage(bool with_policies);

/// As it is written: `priority:npu,dsp`, `litert:2`.
std::string to_string(const Strategy& strategy);

/// Reads a strategy; `backends` are the names that exist, `where` is the option for messages.
std::optional<Strategy> parse_strategy(std::string_view text, const std::vector<std::string>& backends,
                                       const std::string& where, support::Diagnostics& diags);

/// Whether the strategy searches for the best placement and proves a bound.
bool is_exact(const Strategy& strategy);

/// Whether the strategy searches, and so keeps the limits on memory itself; others decide without looking at memory.
bool searches(const Strategy& strategy);

/// Whether the strategy compares whole plans by measuring them. `solve` gives the placement from which it starts.
bool is_measured(const Strategy& strategy);

/// The strategies that a comparison lists: those that predict, the exact one first. One that takes a backend is listed
/// with each of them, the host last.
std::vector<Strategy> compared_strategies(const std::vector<std::string>& backends);

/// What other systems would do: those of the role `Policy`, with the numbers that they have by themselves.
std::vector<Strategy> policy_strategies();

/// The strategies of a set over these backends, those of one backend first.
std::vector<Strategy> simpler_strategies(Simpler upto, const std::vector<std::string>& backends);

/// Whether the strategy may choose candidates of this backend at all: `single` has but one and the host.
bool takes_part(const Strategy& strategy, std::string_view backend);

/// The result of a strategy that cannot say why it finds no solution: the message of the failure is empty.
runtime::Result<Solution> without_reason(std::optional<Solution> found);

// `solve_NAME` of each row. Fails if it finds no solution, with a message where it knows the reason. What a solution
// claims to be proven may hold among the candidates that the strategy examined alone: `solve` (solve.h) believes it of
// the role `Exact` only.
#define STRATEGY(kind, name, ...)                                                          \
  runtime::Result<Solution> solve_##name(const Problem& problem, const Strategy& strategy, \
                                         const SearchOptions& options);
#include "compiler/place/strategies.def"
#undef STRATEGY

}  // namespace collage::place
