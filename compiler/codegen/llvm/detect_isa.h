// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "compiler/codegen/target/isa.h"

namespace collage::codegen {

/// Returns the instruction set of the processor that LLVM calls `cpu`, or of this machine if `cpu` is empty. Code that
/// runs here uses tiles only if this machine permits them.
Isa detect_isa(const std::string& cpu, bool runs_here = true);

/// What a machine must have to run code for it (runtime/core/code_features.h), without tiles.
std::vector<std::string> features_of(const std::string& cpu);

}  // namespace collage::codegen
