// SPDX-License-Identifier: Apache-2.0
// Sizes of attention in one pass: the block of query rows that both products share, and their panels.
#pragma once

#include <cstdint>

#include "compiler/codegen/schedule/division.h"
#include "compiler/codegen/target/machine.h"

namespace collage::codegen {

/// Scores of `queries` x `keys` from rows of `depth` elements, then results of `queries` x `width`.
struct AttentionShape {
  int64_t queries = 1;
  int64_t keys = 1;
  int64_t depth = 1;
  int64_t width = 1;
};

struct AttentionBlock {
  int64_t rows = 1;
  int64_t score_vectors = 1;   ///< of a panel of keys
  int64_t result_vectors = 1;  ///< of a panel of the result
};

/// Chooses the block with the fewest estimated cycles for both products together.
AttentionBlock choose_attention_block(const AttentionShape& shape, const Machine& machine);

}  // namespace collage::codegen
