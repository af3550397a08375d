// SPDX-License-Identifier: Apache-2.0
// Sizes of a convolution of plain tensors as a product: output channels x positions of the plane.
#pragma once

#include <cstdint>

#include "compiler/codegen/kernel/conv_problem.h"
#include "compiler/codegen/schedule/division.h"
#include "compiler/codegen/schedule/register_block.h"
#include "compiler/codegen/target/machine.h"

namespace collage::codegen {

/// A task packs `chunk_panels` panels of positions and multiplies them with `chunk_blocks` blocks of output channels.
/// With several threads there are more tasks than threads where the panels allow, so that a thread that is stopped
/// loses only one.
struct ImplicitGemmPlan {
  BlockSize block;    ///< output channels x vectors of positions
  RowSplit channels;  ///< output channels of a group
  int64_t width = 1;  ///< positions of a panel
  int64_t panels = 1;
  int64_t panel_chunks = 1;
  int64_t chunk_panels = 1;
  int64_t channel_chunks = 1;
  int64_t chunk_blocks = 1;
};

ImplicitGemmPlan plan_implicit_gemm(const ConvProblem& problem, const Machine& machine);

}  // namespace collage::codegen
