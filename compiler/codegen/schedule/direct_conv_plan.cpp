// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/schedule/direct_conv_plan.h"

namespace collage::codegen {
namespace {

/// Most positions of a task, where a row is a whole plane: about what stays in a second-level cache.
constexpr int64_t kTaskPositions = 96;

void choose_rows(const ConvProblem& p, DirectConvPlan* plan) {
  plan->positions = split_rows(p.output[2], plan->block.rows);
  plan->rows = p.output[0] * p.output[1];
  const int64_t blocks = plan->positions.blocks();
  plan->row_blocks = blocks;
  if (!plan->has_one_row) return;
  plan->row_blocks = std::clamp<int64_t>(kTaskPositions / plan->positions.rows, 1, blocks);
  plan->rows = ceil_div(blocks, plan->row_blocks);
  plan->row_blocks = ceil_div(blocks, plan->rows);
  plan->rows = ceil_div(blocks, plan->row_blocks);
}

}  // namespace

DirectConvPlan plan_direct_conv(const ConvProblem& problem, const Machine& machine) {
  DirectConvPlan plan;
  plan.has_one_row = problem.output[0] == 1 && problem.output[1] == 1;
  plan.block = choose_block(problem.output[2], problem.out_channels, machine.lanes, machine.registers);
  plan.width = int64_t{plan.block.vectors} * machine.lanes;
  plan.panels = ceil_div(problem.out_channels, plan.width);
  choose_rows(problem, &plan);
  // What is read again for each row, or for each panel, should come from the second-level cache. Where all does, each
  // thread gets rows with all their panels: as much as the others, and of what it may have written itself.
  constexpr auto kBytes = static_cast<int64_t>(sizeof(float));
  const int64_t weights = problem.out_channels * problem.depth() * kBytes;
  const int64_t input = problem.in_channels * problem.in_plane() * kBytes;
  plan.weights_are_near = weights <= machine.near_bytes();
  const int64_t by_panel = input > machine.near_bytes() ? plan.panels * input : 0;
  const int64_t by_row = plan.weights_are_near ? 0 : plan.rows * weights;
  plan.panel_inside = by_row <= by_panel;
  return plan;
}

}  // namespace collage::codegen
