// SPDX-License-Identifier: Apache-2.0
// Compiles nests to machine code that needs no linker, and checks that it is self-contained.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/codegen/nest/loop_nest.h"
#include "compiler/codegen/target/isa.h"
#include "runtime/core/status.h"

namespace collage::codegen {

/// Position-independent code; functions by their offsets.
struct ObjectCode {
  std::vector<std::byte> text;
  std::vector<std::pair<std::string, size_t>> symbols;
  std::string llvm_text;  ///< if requested
  std::string asm_text;
};

class Assembler {
 public:
  /// Returns an error if LLVM has no target for this machine.
  static runtime::Result<std::unique_ptr<Assembler>> create(const std::string& cpu);
  virtual ~Assembler() = default;

  virtual const Isa& isa() const = 0;
  /// Compiles `nests[i]` as `symbols[i]`. Returns an error if the code would need a relocation.
  virtual runtime::Result<ObjectCode> assemble(const std::vector<const Nest*>& nests,
                                               const std::vector<std::string>& symbols, bool keep_text) = 0;
};

}  // namespace collage::codegen
