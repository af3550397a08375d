// SPDX-License-Identifier: Apache-2.0
// `compare` of a model that runs in stages: a comparison for each stage that is placed, and what each strategy takes
// for all runs of all of them.
//
//     total       strategy      predicted    ratio    measured    ratio
//                 optimal        74.67 us     1.00      336 us     1.00
//                 greedy         125.9 us     1.69           …
//
// Stages run one after the other, so that what they take adds up. A strategy that finds no placement for one of them
// has no sum.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "compiler/report/compare/comparison.h"

namespace collage::report {

struct StageComparison {
  size_t number = 1;  ///< of the stage
  std::string where;  ///< `main`
  std::string inputs;
  size_t runs = 1;
  Comparison comparison;
};

/// What one strategy takes for all stages.
struct StrategyTotal {
  std::string strategy;
  std::optional<place::Cost> predicted;
  std::optional<double> measured;  ///< seconds
  std::string failure;             ///< where there is no sum: of which stage
};

/// In the order of the first stage's strategies.
std::vector<StrategyTotal> totals_of(const std::vector<StageComparison>& stages);

/// The tables of the stages, and that of the totals.
std::string print(const std::vector<StageComparison>& stages, size_t width = runtime::kUsualWidth);
/// {stages: [{stage, where, inputs, runs, compare}], total: [{strategy, predicted_s or predicted_j, ratio,
/// measured_s}]}
nlohmann::ordered_json to_json(const std::vector<StageComparison>& stages);

}  // namespace collage::report
