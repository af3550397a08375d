// SPDX-License-Identifier: Apache-2.0
// One strategy, from the placement problem to a placement that has been priced independently. The pipeline, `--compare`
// and `--diff-plans` all come here.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/rule_set.h"
#include "compiler/place/fit_memory.h"
#include "compiler/place/strategies.h"
#include "compiler/support/diagnostic.h"

namespace collage::driver {

using runtime::Duration;

/// What all searches of one compilation share.
struct SearchInput {
  const ir::Graph& graph;
  const place::BuiltProblem& built;
  const ir::RuleSet& rules;
  const ir::Placement& written;  ///< partitions of the model or a plan: never joined with others, they keep their names
  std::vector<place::MemoryLimit> limits;
  place::SearchOptions options;
};

struct FoundPlan {
  ir::Placement placement;   ///< after partitions were joined where their backend wants it
  std::vector<int> chosen;   ///< candidates of the problem, as the search chose them
  place::Solution solution;  ///< what it was made of, before partitions were joined
  Duration predicted;        ///< by the evaluator, which shares nothing with the search
  Duration bound;
  bool optimal = false;
  uint64_t states = 0;
  double seconds = 0;  ///< of the search
};

/// Nothing if the strategy finds no placement; `why` then says so in one sentence.
std::optional<FoundPlan> find_plan(const SearchInput& input, const place::Strategy& strategy, std::string* why);

/// A solution of the problem as a placement: partitions joined where their backend wants it, and priced anew.
FoundPlan to_found_plan(const SearchInput& input, const place::Solution& solution);

/// The names that `--strategy` may use.
std::vector<std::string> backend_names(const place::Problem& problem);

/// What simpler strategies would have cost, as label and prediction: the price of not searching.
std::vector<std::pair<std::string, Duration>> simpler_plans(const SearchInput& input);

}  // namespace collage::driver
