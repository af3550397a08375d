// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/generators/winograd_plan.h"

#include <algorithm>

namespace collage::codegen {
namespace {

/// Bytes of a task's transformed tiles in the second-level cache: beside the weights, or more, to read weights from
/// farther away less often.
constexpr int64_t kTileBytes = 1 << 19;
constexpr int64_t kMostTileBytes = 1 << 20;
/// Transformed weights beyond this do not stay in the second-level cache.
constexpr int64_t kWeightBytes = 1 << 20;
/// Fewest tiles of a task for which reading the weights costs less than multiplying with them.
constexpr int64_t kFewTiles = 12;
/// Bytes per cycle from the second-level cache, and from beyond it.
constexpr double kNear = 32;
constexpr double kFar = 8;

int64_t chunks_of(int64_t count, int64_t most) {
  return (count + most - 1) / most;
}

/// Equal chunks of at most `most`.
void split(int64_t count, int64_t most, int64_t* chunk, int64_t* chunks) {
  *chunks = chunks_of(count, std::max<int64_t>(1, most));
  *chunk = chunks_of(count, *chunks);
  *chunks = chunks_of(count, *chunk);
}

int64_t weight_bytes(const ConvProblem& p, const WinogradPlan& plan, int64_t lanes) {
  const int64_t channels = whole_vectors(p.in_channels, lanes) * p.kernel[0];
  return channels * p.out_channels * plan.products() * static_cast<int64_t>(sizeof(float));
}

void choose_tasks(const ConvProblem& p, int64_t lanes, int threads, WinogradPlan* plan) {
  const int64_t channel_bytes = whole_vectors(p.in_channels, lanes) * p.kernel[0] * static_cast<int64_t>(sizeof(float));
  plan->weights_stay = weight_bytes(p, *plan, lanes) <= kWeightBytes;
  const int64_t planes = p.batch * p.output[0];
  const int64_t tiles = plan->tiles_h * plan->tiles_w;
  const int64_t fitting =
      std::max<int64_t>(1, (plan->weights_stay ? kTileBytes : kMostTileBytes) / (plan->products() * channel_bytes));
  // Threads share the tiles, or, where the weights come from far away or tiles are few, the output channels first.
  const bool shares_channels = !plan->weights_stay || planes * tiles < threads * kFewTiles;
  plan->parts = shares_channels ? std::min<int64_t>(threads, chunks_of(p.out_channels, lanes)) : 1;
  const int64_t sharing = chunks_of(threads, planes * plan->parts);
  const int64_t most = std::min(fitting, chunks_of(tiles, sharing));
  split(plan->tiles_w, std::min(plan->tiles_w, most), &plan->columns, &plan->column_chunks);
  split(plan->tiles_h, most / plan->columns, &plan->rows, &plan->row_chunks);
}

/// Cuts the vectors of output channels into parts, each of whole panels of nearly equal width.
void choose_block(const ConvProblem& p, const Isa& isa, WinogradPlan* plan) {
  const int64_t vectors = chunks_of(p.out_channels, isa.lanes);
  const int64_t part = chunks_of(vectors, plan->parts);
  const int64_t tiles = plan->rows * plan->columns;
  const BlockSize best = codegen::choose_block(tiles, part * isa.lanes, isa.lanes, isa.registers);
  plan->part_panels = chunks_of(part, best.vectors);
  plan->block = block_of(tiles, chunks_of(part, plan->part_panels), isa.registers);
  plan->panels = chunks_of(vectors, plan->block.vectors);
  plan->parts = chunks_of(plan->panels, plan->part_panels);
}

/// Cycles of one core for the whole problem: two FMA per cycle, about three operations for each element that is
/// transformed; the weights once for each block of tiles.
double cycles(const ConvProblem& p, const WinogradPlan& plan, int64_t lanes) {
  const auto products = static_cast<double>(plan.products());
  const auto planes = static_cast<double>(p.batch * p.output[0]);
  const double tiles = planes * static_cast<double>(plan.tiles_h * plan.tiles_w);
  const auto in = static_cast<double>(whole_vectors(p.in_channels, lanes) * p.kernel[0]);
  const auto out = static_cast<double>(whole_vectors(p.out_channels, lanes));
  const double multiply = tiles * products * in * out / static_cast<double>(2 * lanes);
  const double transform = tiles * products * (in + out) / static_cast<double>(lanes) * 3;
  const double passes = planes * static_cast<double>(plan.row_chunks * plan.column_chunks);
  const auto weights = static_cast<double>(weight_bytes(p, plan, lanes)) / (plan.weights_stay ? kNear : kFar);
  return multiply + transform + passes * weights;
}

WinogradPlan choose_filters(const ConvProblem& p, int64_t lanes, int threads) {
  WinogradPlan best;
  double least = 0;
  for (const MinimalFilter& h : minimal_filters(static_cast<int>(p.kernel[1]))) {
    for (const MinimalFilter& w : minimal_filters(static_cast<int>(p.kernel[2]))) {
      WinogradPlan plan;
      plan.h = h;
      plan.w = w;
      plan.tiles_h = chunks_of(p.output[1], h.outputs);
      plan.tiles_w = chunks_of(p.output[2], w.outputs);
      choose_tasks(p, lanes, threads, &plan);
      const double cost = cycles(p, plan, lanes);
      if (least != 0 && cost >= least) continue;
      least = cost;
      best = std::move(plan);
    }
  }
  return best;
}

}  // namespace

WinogradPlan plan_winograd(const ConvProblem& problem, const Isa& isa, int threads) {
  WinogradPlan plan = choose_filters(problem, isa.lanes, threads);
  choose_block(problem, isa, &plan);
  return plan;
}

}  // namespace collage::codegen
