// SPDX-License-Identifier: Apache-2.0
// f16 and bf16 in front of kernels that compute: `y = round(f(widen(x)))`, f the kernel for f32.
//
// Each operator rounds its results once. What it sums up inside stays in the type that its kernel sums in.
#pragma once

#include "runtime/kernels/kernel.h"

namespace collage::runtime {

/// Returns whether an operand or a result is f16 or bf16.
bool has_narrow_floats(const KernelArgs& args);

/// Runs the kernel on f32 copies of such operands, and rounds its f32 results. Other operands and results it sees
/// itself.
Status run_widened(ReferenceKernel::Function kernel, const KernelArgs& args);

}  // namespace collage::runtime
