// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compiler/codegen/target/isa.h"

namespace collage::codegen {

/// Returns the instruction set of the processor that LLVM calls `cpu`, or of this machine if `cpu` is empty.
Isa detect_isa(const std::string& cpu);

}  // namespace collage::codegen
