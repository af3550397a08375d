// SPDX-License-Identifier: Apache-2.0
// An object file of one function => one block of bytes that runs wherever it is copied.
//
//     .text, .rodata.cst16, .rodata …   =>   code, then the constants that it reads
//
// The linker is LLVM's own (JITLink). References between the code and its constants are applied; the code may call and
// read nothing else.
#pragma once

#include <llvm/Support/MemoryBufferRef.h>

#include "compiler/codegen/llvm/object_code.h"
#include "runtime/core/status.h"

namespace collage::codegen {

/// Fails, and says why, if the code calls or reads something outside, has data that it writes, or depends on its
/// address by more than runtime::kCodeAlignment.
runtime::Result<ObjectCode> link_code(llvm::MemoryBufferRef object, llvm::StringRef function);

}  // namespace collage::codegen
