// SPDX-License-Identifier: Apache-2.0
// Every way in which the backends run a shape, compiled and ready to be timed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/kernels/shapes.h"
#include "compiler/ir/rules/rule_set.h"
#include "compiler/measure/time_candidate.h"
#include "compiler/place/candidates/candidates.h"

namespace collage::bench {

struct Contender {
  std::string backend;
  std::string layout;  ///< of its first operand and its result: `plain`, `NHWC`, `plain > NHWC`
  std::string rules;   ///< that make it up: those of one backend may ask for different generators
  std::unique_ptr<measure::LoadedCandidate> loaded;
  std::string why;              ///< it cannot run
  std::vector<double> seconds;  ///< of each round: the median of its runs, without conversions at its edges
};

/// The candidates of all active backends on this machine's processor, one for each backend, choice of formats and
/// rules: what the placement search would choose from.
std::vector<Contender> find_contenders(const Shape& shape, const ir::RuleSet& rules,
                                       const place::ActiveBackends& active, const plan::PlanTargets& targets,
                                       int threads);

}  // namespace collage::bench
