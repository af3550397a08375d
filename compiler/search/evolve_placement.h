// SPDX-License-Identifier: Apache-2.0
// `--strategy=evolve`: from the exact placement on by measuring whole plans (place/baselines/evolve.h), for what adding
// up costs cannot see. The best is measured again, in turn with the placement it came from; it must be faster by more
// than the noise, or that placement stays.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/plan/targets.h"
#include "compiler/request/requests.h"
#include "compiler/search/found_placement.h"
#include "runtime/runner/bind_inputs.h"

namespace collage::search {

struct EvolveReport {
  size_t genes = 0;
  int evaluations = 0;
  int failed = 0;  ///< of those: not found, not built or not run
  int generations = 0;
  double seed_seconds = 0;  ///< median, end to end
  double best_seconds = 0;  ///< the same of the best other placement; 0 if there is none
  double noise = 0;         ///< seconds: by how much more it has to be faster
  bool is_kept = true;      ///< the seed is the answer
  double seconds = 0;       ///< that it took
};

/// The seed, or a placement that is faster. Other strategies' placements join the first population. Returns nullopt
/// after an error: the seed does not run, or someone stopped measuring (WorkListener::stop_measuring).
std::optional<FoundPlacement> evolve_placement(const SearchInput& input, const FoundPlacement& seed,
                                               const plan::PlanTargets& targets, const request::Settings& settings,
                                               const std::vector<runner::BoundInput>& inputs, EvolveReport* report,
                                               support::Diagnostics& diags);

/// `24 plans measured in 12.3 s, …`
std::string to_string(const EvolveReport& report);

}  // namespace collage::search
