// SPDX-License-Identifier: Apache-2.0
// Declares `kernel_NAME` for every row of kernels.def, and `results_of_NAME` for those with data-dependent shapes.
#pragma once

#include "runtime/kernels/kernel.h"

namespace collage::runtime {

#define KERNEL(name) Status kernel_##name(const KernelArgs& args);
#include "runtime/kernels/kernels.def"
#undef KERNEL

#define KERNEL(name)
#define DATA_DEPENDENT_KERNEL(name) \
  Result<std::vector<Tensor>> results_of_##name(std::span<const TensorView> inputs, const AttrMap& attrs);
#include "runtime/kernels/kernels.def"
#undef KERNEL

}  // namespace collage::runtime
