// SPDX-License-Identifier: Apache-2.0
// How a matrix product is cut: columns into panels, rows into blocks and chunks, k into parts. All of it follows from
// the shape and the machine, by a small model of its cycles.
#pragma once

#include <cstdint>

#include "compiler/codegen/schedule/division.h"
#include "compiler/codegen/schedule/register_block.h"
#include "compiler/codegen/target/machine.h"

namespace collage::codegen {

struct GemmShape {
  int64_t batches = 1;
  int64_t rows = 1;
  int64_t columns = 1;
  int64_t depth = 1;
  bool packed = false;  ///< B lies panel after panel
};

/// `vectors` vectors of columns in panels whose widths differ by at most one. Any run of neighbouring panels has nearly
/// its share of the columns, so that threads with equally many panels have equal work.
/// 16 vectors, 6 panels => 2 3 3 2 3 3
struct PanelSplit {
  int64_t vectors = 1;
  int64_t panels = 1;

  int64_t begin(int64_t panel) const { return panel * vectors / panels; }
  int64_t width(int64_t panel) const { return begin(panel + 1) - begin(panel); }
  int64_t widest() const { return ceil_div(vectors, panels); }
  bool is_even() const { return vectors % panels == 0; }
};

struct GemmTiling {
  PanelSplit panels;
  RowSplit rows;
  int unroll = 1;
  int64_t chunks = 1;        ///< of rows
  int64_t chunk_blocks = 1;  ///< row blocks in a chunk; the last may have fewer
  int64_t part_depth = 1;    ///< of k; less than the depth only if B is packed
};

/// Tasks run in the order (batch, chunk, panel); each thread gets as many neighbouring ones as the others.
GemmTiling choose_tiling(const GemmShape& shape, const Machine& machine);

}  // namespace collage::codegen
