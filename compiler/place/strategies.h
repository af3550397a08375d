// SPDX-License-Identifier: Apache-2.0
// The ways of placing that a user can ask for by name.
//
//   optimal         the exact search
//   greedy          the candidate of most nodes first, the cheaper of equal ones
//   priority:a,b    as greedy over the candidates of `a`, then over those of `b`; the host takes the rest
//   eager           as priority, over all backends in the order of registration: what BYOC and UMA do
//   merge           each node to the first backend that has it, neighbours merged: what BYOC does (merge_search.h)
//   tvm             the search of TVM's Collage, which knows no transfers (tvm_search.h)
//   single:x        the best that `x` and the host can do together
//   evolve          starts at `optimal`; what measuring whole plans then finds is the driver's (evolve.h)
//
// Greedy ones pass over a candidate that overlaps, breaks a limit, would close a cycle or could not be fed. Where what
// they took leaves no way to finish (a pin, say), they give up their last choice until there is one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/place/exact/optimal_search.h"
#include "compiler/support/diagnostic.h"

namespace collage::place {

struct Strategy {
  enum class Kind { Optimal, Greedy, Priority, Eager, Merge, Tvm, Single, Evolve };
  Kind kind = Kind::Optimal;
  std::vector<std::string> backends;  ///< Priority: in order; Single: the one

  friend bool operator==(const Strategy&, const Strategy&) = default;
};

/// As it is written: `priority:npu,dsp`.
std::string to_string(const Strategy& strategy);

/// Reads a strategy; `backends` are the names that exist, `where` is the option for messages.
std::optional<Strategy> parse_strategy(std::string_view text, const std::vector<std::string>& backends,
                                       const std::string& where, support::Diagnostics& diags);

/// Whether the strategy may choose candidates of this backend at all: `single` has but one and the host.
bool takes_part(const Strategy& strategy, std::string_view backend);

/// Nothing if no solution was found; `why` then says why where the strategy itself knows. Only `optimal` proves a
/// bound; for the others it is zero.
std::optional<Solution> solve(const Problem& problem, const Strategy& strategy, const SearchOptions& options = {},
                              std::string* why = nullptr);

}  // namespace collage::place
