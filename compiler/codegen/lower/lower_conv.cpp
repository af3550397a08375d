// SPDX-License-Identifier: Apache-2.0
// Conv and ConvTranspose: the first generator that takes the convolution makes its kernel, or the one that the rule
// names. A transposed convolution, and one on an enlarged picture, is one kernel per phase.
#include <algorithm>

#include "compiler/codegen/generators/amx_conv.h"
#include "compiler/codegen/generators/channel_window.h"
#include "compiler/codegen/generators/direct_conv.h"
#include "compiler/codegen/generators/grouped_conv.h"
#include "compiler/codegen/generators/implicit_gemm.h"
#include "compiler/codegen/generators/separable_conv.h"
#include "compiler/codegen/generators/winograd_conv.h"
#include "compiler/codegen/kernel/conv_problem.h"
#include "compiler/codegen/kernel/window_layout.h"
#include "compiler/codegen/lower/lowerings.h"
#include "compiler/ir/ops/op_def.h"

namespace collage::codegen {
namespace {

size_t inner_dims(const ir::Graph& graph, ir::NodeId node) {
  if (has_channels_last(graph.node(node), kOutLayout)) return 1;
  if (graph.node(node).op->name == "Conv" && describe_conv(graph, node).is_depthwise()) return 1;
  return graph.value(graph.first_output(node)).type.shape.size() - 2;
}

struct ConvGenerator {
  ir::Generator id;
  bool only_by_name;  ///< others are as good for most problems: only a rule chooses it
  bool (*takes)(const LoweringContext& context, ir::NodeId node, const ConvProblem& problem);
  KernelSketch (*generate)(const LoweringContext& context, const Group& group, const ConvProblem& problem);
};

constexpr ConvGenerator kGenerators[] = {
    {ir::Generator::Winograd, true,
     [](const LoweringContext& context, ir::NodeId node, const ConvProblem& problem) {
       return takes_winograd(context.graph, node, problem);
     },
     generate_winograd},
    {ir::Generator::AmxGemm, true, takes_amx_conv, generate_amx_conv},
    {ir::Generator::Grouped, false,
     [](const LoweringContext& context, ir::NodeId node, const ConvProblem& problem) {
       return !problem.transposed && !problem.own_weights && takes_grouped_conv(context, node, problem);
     },
     generate_grouped_conv},
    {ir::Generator::Direct, false,
     [](const LoweringContext& context, ir::NodeId node, const ConvProblem&) {
       return takes_direct_conv(context.graph, node);
     },
     generate_direct_conv},
    {ir::Generator::ImplicitGemm, false,
     [](const LoweringContext& context, ir::NodeId node, const ConvProblem&) {
       return accepts_conv(context.graph, node);
     },
     generate_implicit_gemm},
};

bool has_conv_generator(ir::Generator generator) {
  if (generator == ir::Generator::Separable) return true;
  return std::any_of(std::begin(kGenerators), std::end(kGenerators),
                     [&](const ConvGenerator& row) { return row.id == generator; });
}

/// One kernel per problem: by the generator that the group names where it takes the problem, which it must do at least
/// once; else by the first that takes it. None: some problem has no generator.
std::vector<KernelSketch> generate(const LoweringContext& context, const Group& group,
                                   const std::vector<ConvProblem>& problems) {
  std::vector<KernelSketch> kernels;
  bool uses_named = !group.generator;
  for (const ConvProblem& problem : problems) {
    const ConvGenerator* chosen = nullptr;
    for (const ConvGenerator& row : kGenerators) {
      if (!row.takes(context, group.anchor, problem)) continue;
      if (row.id == group.generator) {
        chosen = &row;
        uses_named = true;
      } else if (chosen == nullptr && !row.only_by_name) {
        chosen = &row;
      }
    }
    if (chosen == nullptr) return {};
    kernels.push_back(chosen->generate(context, group, problem));
  }
  if (!uses_named) kernels.clear();
  return kernels;
}

std::vector<KernelSketch> lower(const LoweringContext& context, const Group& group) {
  if (group.prologue.is_valid() && group.generator == ir::Generator::Separable) {
    std::vector<KernelSketch> kernels;
    kernels.push_back(generate_separable_conv(context, group));
    return kernels;
  }
  if (group.prologue.is_valid()) {
    return generate(context, group, upsampled_phases(context.graph, group.anchor, group.prologue));
  }
  const ConvProblem problem = describe_conv(context.graph, group.anchor);
  const bool is_windowed =
      !takes_direct_conv(context.graph, group.anchor) || takes_channel_window(context.graph, group.anchor);
  if (problem.is_depthwise() && is_windowed) return lower_depthwise(context, group);
  const bool is_packed = context.graph.value(problem.w).is_constant();
  return generate(context, group, {is_packed ? without_idle_taps(problem) : problem});
}

/// Weights of a ConvTranspose are packed phase by phase. Offsets within a plane are 32-bit.
bool accepts_transposed(const ir::Graph& graph, ir::NodeId node) {
  const bool is_accepted = accepts_conv(graph, node) || takes_direct_conv(graph, node);
  if (!is_accepted || !graph.value(graph.node(node).inputs[1]).is_constant()) return false;
  constexpr size_t kMostPhases = 64;
  return transposed_phases(graph, node).size() <= kMostPhases;
}

std::vector<KernelSketch> lower_transposed(const LoweringContext& context, const Group& group) {
  return generate(context, group, transposed_phases(context.graph, group.anchor));
}

bool accepts(const ir::Graph& graph, ir::NodeId node) {
  return accepts_conv(graph, node) || takes_direct_conv(graph, node);
}

}  // namespace

const Lowering& conv_lowering() {
  static constexpr Lowering row{accepts, inner_dims, lower, has_conv_generator};
  return row;
}

const Lowering& conv_transpose_lowering() {
  static constexpr Lowering row{accepts_transposed, inner_dims, lower_transposed, has_conv_generator};
  return row;
}

}  // namespace collage::codegen
