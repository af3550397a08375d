// SPDX-License-Identifier: Apache-2.0
// What a candidate in host memory takes at least, by the limits of the machine: no implementation multiplies faster
// than the vector units do, or reads its operands faster than the nearest cache gives them.
//
//     max(least launch,
//         multiply-accumulates inside the padding / what a fast algorithm saves / peak,
//         bytes that are read and written whole / bandwidth)
//
// Safe rather than tight: what is known of like candidates tightens it (lazy_costs.h).
#pragma once

#include <string>

#include "compiler/ir/placement/placement.h"
#include "compiler/ir/rules/rule_set.h"
#include "compiler/place/costs/roofline.h"
#include "runtime/core/duration.h"

namespace collage::place {

/// Limits of the host, with all threads that it may use.
struct MachineLimits {
  double flops_per_second = 1e12;  ///< in f32
  double bytes_per_second = 1e12;  ///< of the caches next to the cores
};

struct CostFloor {
  runtime::Duration floor;
  std::string kind;  ///< backend, operator of most work, its rule: what a roofline fits
  CostFeatures features;
};

/// `backend`: of the candidate; null: the implicit host. What a plugin computes with is not known; of generated code
/// the generator that its rule names says it.
CostFloor cost_floor(const ir::Graph& graph, const ir::Partition& candidate, const ir::Backend* backend,
                     const MachineLimits& machine);

}  // namespace collage::place
