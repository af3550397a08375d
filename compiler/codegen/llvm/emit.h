// SPDX-License-Identifier: Apache-2.0
// Loop nests to LLVM IR.
#pragma once

#include <string>

#include "compiler/codegen/nest/loop_nest.h"
#include "compiler/codegen/target/isa.h"

namespace llvm {
class Module;
}

namespace collage::codegen {

/// Adds the function `symbol` (a runtime::KernelFunction) to the module.
void emit(const Nest& nest, const std::string& symbol, const Isa& isa, llvm::Module& module);

}  // namespace collage::codegen
