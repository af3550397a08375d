// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/generators/window_rows.h"

#include <algorithm>

namespace collage::codegen {
namespace {

int64_t ceil_div(int64_t a, int64_t b) {
  return a >= 0 ? (a + b - 1) / b : -((-a) / b);
}

}  // namespace

std::vector<BlockRun> block_runs(const ConvProblem& p, const RowSplit& blocks) {
  std::vector<BlockRun> runs;
  for (int64_t b = 0; b < blocks.blocks(); ++b) {
    BlockRun run;
    run.first_block = b;
    run.position = blocks.first_row(b);
    run.height = b < blocks.tall ? blocks.rows : blocks.rows - 1;
    for (int64_t tap = 0; tap < p.kernel[2]; ++tap) {
      const int64_t offset = tap * p.dilations[2] - p.pads[2];
      const int64_t first = ceil_div(-offset, p.strides[2]) - run.position;
      const int64_t last = ceil_div(p.input[2] - offset, p.strides[2]) - run.position;
      PositionRange range{std::clamp<int64_t>(first, 0, run.height), std::clamp<int64_t>(last, 0, run.height)};
      if (range.is_empty()) range = {};
      run.taps.push_back(range);
    }
    if (!runs.empty() && runs.back().height == run.height && runs.back().taps == run.taps) {
      ++runs.back().count;
    } else {
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

TapRange taps_inside(Nest& nest, const ConvProblem& p, size_t d, const Expr& out) {
  TapRange taps{nest.let("in", add(mul(out, p.strides[d]), -p.pads[d])), int_const(0), int_const(p.kernel[d])};
  const int64_t furthest = (p.output[d] - 1) * p.strides[d] + (p.kernel[d] - 1) * p.dilations[d] - p.pads[d];
  const int64_t step = p.dilations[d];
  if (p.pads[d] > 0) {
    const Expr missing = max(sub(int_const(0), taps.origin), int_const(0));
    taps.first = nest.let("first", div(add(missing, step - 1), step));
  }
  if (furthest >= p.input[d]) {
    const Expr left = max(sub(int_const(p.input[d]), taps.origin), int_const(0));
    taps.last = nest.let("last", min(div(add(left, step - 1), step), int_const(p.kernel[d])));
  }
  return taps;
}

Expr begin_taps(Nest& nest, const char* name, const TapRange& taps) {
  return taps.is_single() ? taps.first : nest.begin_for(name, taps.first, taps.last);
}

void end_taps(Nest& nest, const TapRange& taps) {
  if (!taps.is_single()) nest.end_for();
}

}  // namespace collage::codegen
