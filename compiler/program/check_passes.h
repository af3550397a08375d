// SPDX-License-Identifier: Apache-2.0
// `check` of what runs before placement: does the model that passes and rewrites of rule files made compute what the
// model as given does?
#pragma once

#include <vector>

#include "compiler/passes/pass_manager.h"
#include "compiler/plan/check.h"

namespace collage::program {

/// Runs the first and the last graph of `history` on the reference kernels. Where they differ, the rows are those of
/// the passes after which the results are others; without a difference there is one row per output. Empty if nothing
/// changed the model, or the reference kernels cannot run it.
std::vector<plan::CheckRow> check_passes(const std::vector<passes::PassSnapshot>& history,
                                         const std::vector<ir::Tensor>& inputs, double tolerance);

}  // namespace collage::program
