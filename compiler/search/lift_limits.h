// SPDX-License-Identifier: Apache-2.0
// A search as it would be without some of its limits: what a limit costs, and which one leaves no placement.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/search/search_input.h"

namespace collage::search {

enum class LimitKind { MaxPartitions, Conflicts, Memory };

struct Limit {
  LimitKind kind = LimitKind::MaxPartitions;
  std::string of{};  ///< backend; Memory: instance; empty: all of this kind
};

/// A problem of its own, that may be changed further, and the input that searches it.
struct LiftedSearch {
  std::unique_ptr<place::BuiltProblem> built;
  SearchInput input;
};

/// The search with the prices of its objective, without these limits, with no listener.
LiftedSearch without_limits(const SearchInput& asked, const std::vector<Limit>& limits);

}  // namespace collage::search
