// SPDX-License-Identifier: Apache-2.0
// Channels last: a convolution of 1x1 taps without strides is a product of its positions and the weights (amx_gemm.h).
#pragma once

#include "compiler/codegen/kernel/conv_problem.h"
#include "compiler/codegen/kernel/lowering.h"

namespace collage::codegen {

bool takes_amx_conv(const LoweringContext& context, ir::NodeId node, const ConvProblem& problem);
KernelSketch generate_amx_conv(const LoweringContext& context, const Group& group, const ConvProblem& problem);

}  // namespace collage::codegen
