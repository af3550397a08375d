// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/schedule/implicit_gemm_plan.h"

#include <algorithm>

namespace collage::codegen {
namespace {

/// Chunks of panels for each thread, so that one can take over what another has not begun.
constexpr int64_t kChunksPerThread = 4;
/// Panels over which a chunk uses a weight at least: it is read from a farther cache once for each chunk.
constexpr int64_t kLeastPanels = 2;

// Distributes panels first: distributing the channels repeats the packing.
void choose_chunks(const ConvProblem& problem, const Machine& machine, ImplicitGemmPlan* plan) {
  // Packed panels lie beside the weights.
  const int64_t packed = machine.near_bytes() / 2 / static_cast<int64_t>(sizeof(float));
  const int64_t panel_elements = std::max<int64_t>(1, problem.depth() * plan->width);
  plan->panel_chunks = ceil_div(plan->panels, std::clamp<int64_t>(packed / panel_elements, 1, plan->panels));
  const int64_t threads = machine.threads;
  if (threads > 1 && problem.batch * problem.groups % threads != 0) {
    if (plan->panels >= 3 * threads) {
      const int64_t shared = std::clamp(plan->panels / kLeastPanels, threads, kChunksPerThread * threads);
      plan->panel_chunks = std::min(plan->panels, round_up(std::max(plan->panel_chunks, shared), threads));
    } else {
      plan->channel_chunks = std::min(plan->channels.blocks(), threads);
    }
  }
  plan->chunk_panels = ceil_div(plan->panels, plan->panel_chunks);
  plan->panel_chunks = ceil_div(plan->panels, plan->chunk_panels);
  plan->chunk_blocks = ceil_div(plan->channels.blocks(), plan->channel_chunks);
  plan->channel_chunks = ceil_div(plan->channels.blocks(), plan->chunk_blocks);
}

}  // namespace

ImplicitGemmPlan plan_implicit_gemm(const ConvProblem& problem, const Machine& machine) {
  ImplicitGemmPlan plan;
  plan.block = choose_block(problem.out_channels, problem.out_plane(), machine.lanes, machine.registers);
  plan.channels = split_rows(problem.out_channels, plan.block.rows);
  plan.width = int64_t{plan.block.vectors} * machine.lanes;
  plan.panels = ceil_div(problem.out_plane(), plan.width);
  choose_chunks(problem, machine, &plan);
  return plan;
}

}  // namespace collage::codegen
