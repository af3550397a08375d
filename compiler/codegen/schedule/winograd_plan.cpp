// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/schedule/winograd_plan.h"

#include <algorithm>

namespace collage::codegen {
namespace {

/// Fewest tiles of a task for which reading the weights costs less than multiplying with them.
constexpr int64_t kFewTiles = 12;
/// Bytes per cycle from the second-level cache, and from beyond it.
constexpr double kNear = 32;
constexpr double kFar = 8;

/// Equal chunks of at most `most`.
void split(int64_t count, int64_t most, int64_t* chunk, int64_t* chunks) {
  *chunks = ceil_div(count, std::max<int64_t>(1, most));
  *chunk = ceil_div(count, *chunks);
  *chunks = ceil_div(count, *chunk);
}

int64_t weight_bytes(const ConvProblem& p, const WinogradPlan& plan, int64_t lanes) {
  const int64_t channels = round_up(p.in_channels, lanes) * p.kernel[0];
  return channels * p.out_channels * plan.products() * static_cast<int64_t>(sizeof(float));
}

void choose_tasks(const ConvProblem& p, const Machine& machine, WinogradPlan* plan) {
  const int64_t lanes = machine.lanes;
  const int64_t threads = machine.threads;
  const int64_t channel_bytes = round_up(p.in_channels, lanes) * p.kernel[0] * static_cast<int64_t>(sizeof(float));
  plan->weights_stay = weight_bytes(p, *plan, lanes) <= machine.near_bytes();
  // Transformed tiles lie in the cache beside the weights, or take more, to read weights from far away less often.
  const int64_t tile_bytes = plan->weights_stay ? machine.near_bytes() / 2 : machine.near_bytes();
  const int64_t planes = p.batch * p.output[0];
  const int64_t tiles = plan->tiles_h * plan->tiles_w;
  const int64_t fitting = std::max<int64_t>(1, tile_bytes / (plan->products() * channel_bytes));
  // Threads share the tiles, or, where the weights come from far away or tiles are few, the output channels first.
  const bool shares_channels = !plan->weights_stay || planes * tiles < threads * kFewTiles;
  plan->parts = shares_channels ? std::min<int64_t>(threads, ceil_div(p.out_channels, lanes)) : 1;
  const int64_t sharing = ceil_div(threads, planes * plan->parts);
  const int64_t most = std::min(fitting, ceil_div(tiles, sharing));
  split(plan->tiles_w, std::min(plan->tiles_w, most), &plan->columns, &plan->column_chunks);
  split(plan->tiles_h, most / plan->columns, &plan->rows, &plan->row_chunks);
}

/// Cuts the vectors of output channels into parts, each of whole panels of nearly equal width.
void choose_block(const ConvProblem& p, const Machine& machine, WinogradPlan* plan) {
  const int64_t vectors = ceil_div(p.out_channels, machine.lanes);
  const int64_t part = ceil_div(vectors, plan->parts);
  const int64_t tiles = plan->rows * plan->columns;
  const BlockSize best = codegen::choose_block(tiles, part * machine.lanes, machine.lanes, machine.registers);
  plan->part_panels = ceil_div(part, best.vectors);
  plan->block = block_of(tiles, ceil_div(part, plan->part_panels), machine.registers);
  plan->panels = ceil_div(vectors, plan->block.vectors);
  plan->parts = ceil_div(plan->panels, plan->part_panels);
}

/// Cycles of one core for the whole problem: two FMA per cycle, about three operations for each element that is
/// transformed; the weights once for each block of tiles.
double cycles(const ConvProblem& p, const WinogradPlan& plan, int64_t lanes) {
  const auto products = static_cast<double>(plan.products());
  const auto planes = static_cast<double>(p.batch * p.output[0]);
  const double tiles = planes * static_cast<double>(plan.tiles_h * plan.tiles_w);
  const auto in = static_cast<double>(round_up(p.in_channels, lanes) * p.kernel[0]);
  const auto out = static_cast<double>(round_up(p.out_channels, lanes));
  const double multiply = tiles * products * in * out / static_cast<double>(2 * lanes);
  const double transform = tiles * products * (in + out) / static_cast<double>(lanes) * 3;
  const double passes = planes * static_cast<double>(plan.row_chunks * plan.column_chunks);
  const auto weights = static_cast<double>(weight_bytes(p, plan, lanes)) / (plan.weights_stay ? kNear : kFar);
  return multiply + transform + passes * weights;
}

WinogradPlan choose_filters(const ConvProblem& p, const Machine& machine) {
  WinogradPlan best;
  double least = 0;
  for (const MinimalFilter& h : minimal_filters(static_cast<int>(p.kernel[1]))) {
    for (const MinimalFilter& w : minimal_filters(static_cast<int>(p.kernel[2]))) {
      WinogradPlan plan;
      plan.h = h;
      plan.w = w;
      plan.tiles_h = ceil_div(p.output[1], h.outputs);
      plan.tiles_w = ceil_div(p.output[2], w.outputs);
      choose_tasks(p, machine, &plan);
      const double cost = cycles(p, plan, machine.lanes);
      if (least != 0 && cost >= least) continue;
      least = cost;
      best = std::move(plan);
    }
  }
  return best;
}

}  // namespace

WinogradPlan plan_winograd(const ConvProblem& problem, const Machine& machine) {
  WinogradPlan plan = choose_filters(problem, machine);
  choose_block(problem, machine, &plan);
  return plan;
}

}  // namespace collage::codegen
