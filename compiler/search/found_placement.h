// SPDX-License-Identifier: Apache-2.0
// A placement that a search has found, priced by code that the searches do not share.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "compiler/place/costs/noise.h"
#include "compiler/place/problem/problem.h"
#include "compiler/plan/build_plan.h"
#include "compiler/search/search_input.h"

namespace collage::program {
struct Program;
}  // namespace collage::program

namespace collage::search {

struct FoundPlacement {
  ir::Placement placement;                 ///< after partitions were joined where their backend wants it
  std::vector<place::CandidateId> chosen;  ///< candidates of the problem, as the search chose them
  place::Solution solution;                ///< what it was made of, before partitions were joined
  /// The problem of these candidates; null: that of the input.
  std::shared_ptr<const place::Problem> problem = nullptr;
  /// Costs of chosen candidates that the search did without.
  std::vector<std::pair<place::CandidateId, Cost>> measured_later{};
  std::vector<place::MeasuredPart> measured;  ///< of those, the ones whose cost was measured
  Cost predicted;  ///< what the objective says of the placement, by code that the searches do not share
  Cost bound;
  bool optimal = false;
  uint64_t states = 0;
  bool is_known = false;  ///< by an earlier search of the same problem
  double seconds = 0;     ///< of the search
  /// Memories that its plan exceeds, of the partitions as the search chose them where not even these fit.
  std::vector<plan::DeviceMemory> exceeded{};
  /// The program of the placement, where the search compiled it without a warning; else null.
  std::shared_ptr<const program::Program> program = nullptr;
};

/// The objective's value of a placement.
Cost objective_value(const SearchInput& input, const ir::Placement& placement);

/// Whether partitions are joined after the search where their backend wants it.
enum class Joins { Yes, No };

/// A solution of the problem, or of the problem without some of its limits, as a placement that is priced anew.
FoundPlacement to_found_placement(const SearchInput& input, const place::Solution& solution, Joins joins = Joins::Yes);

/// The placement alone.
ir::Placement joined_placement(const SearchInput& input, const place::Solution& solution, Joins joins);

}  // namespace collage::search
