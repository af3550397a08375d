// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/generators/window_rows.h"

#include <algorithm>

#include "compiler/codegen/schedule/division.h"

namespace collage::codegen {

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

Expr TaskIndex::next(const char* name, int64_t extent) {
  if (extent == 1) return int_const(0);
  Expr index = nest_.let(name, rem(rest_, extent));
  rest_ = nest_.let("rest", div(rest_, extent));
  return index;
}

OutputRow::OutputRow(Nest& nest, const ConvProblem& problem, Expr image, Expr out_d, Expr out_h, const Expr& first)
    : nest_(nest),
      p_(problem),
      image_(std::move(image)),
      out_d_(std::move(out_d)),
      out_h_(std::move(out_h)),
      taps_d_(taps_inside(nest, problem, 0, out_d_)),
      taps_h_(taps_inside(nest, problem, 1, out_h_)) {
  first_ = nest.let("x0", first);
}

OutputRow::UnderTap OutputRow::begin_taps(const Expr& position) {
  const auto begin = [&](const char* name, const TapRange& taps) {
    return taps.is_single() ? taps.first : nest_.begin_for(name, taps.first, taps.last);
  };
  const Expr tap_d = begin("tap_d", taps_d_);
  const Expr tap_h = begin("tap_h", taps_h_);
  const Expr in_d = add(taps_d_.origin, mul(tap_d, p_.dilations[0]));
  const Expr in_h = add(taps_h_.origin, mul(tap_h, p_.dilations[1]));
  const Expr row = add(add(first_, mul(in_d, p_.x_strides[2])), mul(in_h, p_.x_strides[3]));
  const Expr left = add(mul(position, p_.strides[2] * p_.x_strides[4]), -p_.pads[2] * p_.x_strides[4]);
  return {nest_.let("x", add(row, left)), add(mul(tap_d, p_.kernel[1]), tap_h)};
}

void OutputRow::end_taps() {
  for (const TapRange* taps : {&taps_h_, &taps_d_}) {
    if (!taps->is_single()) nest_.end_for();
  }
}

std::vector<Expr> output_indices(const ConvProblem& problem, size_t rank, const Expr& image,
                                 const std::array<Expr, 3>& position) {
  std::vector<Expr> indices = {image};
  for (size_t d = 5 - rank; d < 3; ++d) {
    indices.push_back(add(mul(position[d], problem.output_step[d]), problem.first_output[d]));
  }
  return indices;
}

void for_each_block(Nest& nest, const std::vector<BlockRun>& runs,
                    const std::function<void(const BlockRun& run, const Expr& position)>& emit) {
  for (const BlockRun& run : runs) {
    if (run.count == 1) {
      emit(run, int_const(run.position));
      continue;
    }
    const Expr block = nest.begin_for("block", int_const(0), int_const(run.count));
    emit(run, nest.let("position", add(mul(block, run.height), run.position)));
    nest.end_for();
  }
}

void for_each_vector(Nest& nest, int64_t channels,
                     const std::function<void(const Expr& channel, const Expr& mask)>& emit) {
  const int64_t whole = channels / nest.lanes() * nest.lanes();
  if (whole > 0) {
    emit(nest.begin_for("channel", int_const(0), int_const(whole), nest.lanes()), nullptr);
    nest.end_for();
  }
  if (whole < channels) {
    emit(int_const(whole), nest.let("mask", nest.lanes_below(int_const(channels - whole))));
  }
}

void for_each_vector_in_row(Nest& nest, const ConvProblem& problem, const RowSplit& blocks, int64_t channels,
                            OutputRow& row, const EmitVector& emit) {
  for_each_block(nest, block_runs(problem, blocks), [&](const BlockRun& run, const Expr& position) {
    for_each_vector(nest, channels, [&](const Expr& channel, const Expr& mask) {
      emit({row, run, position, channel, mask});
    });
  });
}

void for_each_row(Nest& nest, const ConvProblem& problem, const RowSplit& blocks, int64_t channels,
                  const EmitVector& emit) {
  TaskIndex index(nest, nest.begin_for("task", nest.task_begin(), nest.task_end()));
  const Expr out_h = index.next("out_h", problem.output[1]);
  const Expr out_d = index.next("out_d", problem.output[0]);
  const Expr image = index.last(problem.batch);
  OutputRow row(nest, problem, image, out_d, out_h, mul(image, problem.x_strides[0]));
  for_each_vector_in_row(nest, problem, blocks, channels, row, emit);
  nest.end_for();
}

}  // namespace collage::codegen
