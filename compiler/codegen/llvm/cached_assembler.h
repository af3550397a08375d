// SPDX-License-Identifier: Apache-2.0
// An assembler that looks up a nest's code before it compiles the nest.
#pragma once

#include <memory>

#include "compiler/codegen/llvm/object_code.h"
#include "runtime/support/file_cache.h"

namespace collage::codegen {

/// Keeps the code of each nest in `cache`, by `identity()` and the nest's text. Code whose texts are asked for is
/// compiled again. The cache must outlive the assembler.
std::unique_ptr<Assembler> cached(std::unique_ptr<Assembler> assembler, support::FileCache& cache);

}  // namespace collage::codegen
