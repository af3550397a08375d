// SPDX-License-Identifier: Apache-2.0
// The block of sums of a recurrent step: rows of the batch x vectors of hidden units, for several gates at once.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/codegen/schedule/division.h"
#include "compiler/codegen/target/machine.h"

namespace collage::codegen {

struct StepShape {
  int64_t batch = 1;
  int64_t most_rows = 1;  ///< of the batch in one task
  int64_t hidden = 1;
  std::vector<int64_t> gates;  ///< of each product that a step consists of
};

struct StepBlock {
  int64_t vectors = 1;
  int64_t rows = 1;
};

/// Chooses the block with the fewest estimated cycles.
StepBlock choose_step_block(const StepShape& shape, const Machine& machine);

}  // namespace collage::codegen
