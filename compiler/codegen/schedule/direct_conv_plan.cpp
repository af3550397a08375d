// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/schedule/direct_conv_plan.h"

namespace collage::codegen {
namespace {

/// Most positions of a task, where a row is a whole plane: about what stays in a second-level cache.
constexpr int64_t kTaskPositions = 96;
/// Bytes of weights that stay in a first-level cache.
constexpr int64_t kFirstLevel = 1 << 15;

/// Rows of which every thread gets as many, where the output has one row to cut.
int64_t count_rows(const ConvProblem& p, const DirectConvPlan& plan, int threads) {
  if (!plan.has_one_row) return p.output[0] * p.output[1];
  const int64_t blocks = plan.positions.blocks();
  const int64_t most = std::max<int64_t>(1, kTaskPositions / plan.positions.rows);
  const int64_t rows = ceil_div(blocks, most);
  const int64_t even = p.batch * p.groups % threads == 0 ? rows : round_up(rows, threads);
  return std::min(even, blocks);
}

}  // namespace

DirectConvPlan plan_direct_conv(const ConvProblem& problem, const Machine& machine) {
  DirectConvPlan plan;
  plan.has_one_row = problem.output[0] == 1 && problem.output[1] == 1;
  plan.block = choose_block(problem.output[2], problem.out_channels, machine.lanes, machine.registers);
  plan.width = int64_t{plan.block.vectors} * machine.lanes;
  plan.panels = ceil_div(problem.out_channels, plan.width);
  plan.positions = split_rows(problem.output[2], plan.block.rows);
  plan.rows = count_rows(problem, plan, machine.threads);
  // What is read again for each row, or for each panel, should come from the second-level cache. Where all does, each
  // thread gets rows with all their panels: as much as the others, and of what it may have written itself.
  constexpr auto kBytes = static_cast<int64_t>(sizeof(float));
  const int64_t weights = problem.out_channels * problem.depth() * kBytes;
  const int64_t input = problem.in_channels * problem.in_plane() * kBytes;
  plan.weights_are_near = weights <= machine.near_bytes();
  const int64_t by_panel = input > machine.near_bytes() ? plan.panels * input : 0;
  const int64_t by_row = plan.weights_are_near ? 0 : plan.rows * weights;
  plan.panel_inside = by_row <= by_panel;
  // What fits the first-level cache beside the input is there after the first block.
  plan.fetches_weights = plan.panel_inside ? weights > kFirstLevel : !plan.weights_are_near;
  return plan;
}

}  // namespace collage::codegen
