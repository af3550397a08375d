// SPDX-License-Identifier: Apache-2.0
// Declares `kernel_NAME` for every row of kernels.def.
#pragma once

#include "runtime/kernels/kernel.h"

namespace collage::runtime {

#define KERNEL(name) Status kernel_##name(const KernelArgs& args);
#include "runtime/kernels/kernels.def"
#undef KERNEL

}  // namespace collage::runtime
