// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/schedule/attention_block.h"

#include <algorithm>

#include "compiler/codegen/schedule/register_block.h"

namespace collage::codegen {
namespace {

constexpr int64_t kMostRows = 14;
constexpr int64_t kMostVectors = 6;
/// Cycles around the loop over k of a panel.
constexpr double kPanelCycles = 20;

}  // namespace

AttentionBlock choose_attention_block(const AttentionShape& shape, const Machine& machine) {
  AttentionBlock best;
  double least = 0;
  for (int64_t rows = 1; rows <= std::min(shape.queries, kMostRows); ++rows) {
    const int64_t most = std::min<int64_t>(kMostVectors, (machine.registers - 1) / (rows + 1));
    if (most < 1) break;
    const auto panels_of = [&](int64_t vectors) { return ceil_div(vectors, most); };
    const auto panel = [&](int64_t columns) {
      const int64_t vectors = ceil_div(columns, machine.lanes);
      return ceil_div(vectors, panels_of(vectors));
    };
    const auto cycles = [&](int64_t columns, int64_t depth) {
      const int64_t width = panel(columns);
      const double product = block_cycles(rows, width) * static_cast<double>(depth);
      return static_cast<double>(panels_of(ceil_div(columns, machine.lanes))) *
             (product + static_cast<double>(rows * width) + kPanelCycles);
    };
    const auto blocks = static_cast<double>(ceil_div(shape.queries, rows));
    const double cost = blocks * (cycles(shape.keys, shape.depth) + cycles(shape.width, shape.keys));
    if (least != 0 && cost >= least) continue;
    least = cost;
    best = {rows, panel(shape.keys), panel(shape.width)};
  }
  return best;
}

}  // namespace collage::codegen
