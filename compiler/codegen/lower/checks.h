// SPDX-License-Identifier: Apache-2.0
// Words in which kernels note what they find wrong, for checks after them (LoweredCheck in jit.h).
#pragma once

#include <string_view>
#include <vector>

#include "compiler/codegen/kernel/lowering.h"

namespace collage::codegen {

/// A check with a word of its own, a temporary of the context.
LoweredCheck make_check(const LoweringContext& context, std::string_view op, int64_t extent, LoweredCheck::Kind kind);

/// The kernel that runs first: nothing is wrong yet.
KernelSketch clear_checks(const LoweringContext& context, const std::vector<LoweredCheck>& checks);

}  // namespace collage::codegen
