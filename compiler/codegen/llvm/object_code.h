// SPDX-License-Identifier: Apache-2.0
// Nests to machine code that needs no linker: LLVM's code generator, and the check that its output is self-contained.
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

/// One run of code, position-independent; functions by their offsets.
struct ObjectCode {
  std::vector<std::byte> text;
  std::vector<std::pair<std::string, size_t>> symbols;
  std::string llvm_text;  ///< where asked for
  std::string asm_text;
};

class Assembler {
 public:
  /// An error if LLVM knows no target for this machine.
  static runtime::Result<std::unique_ptr<Assembler>> create(const std::string& cpu);
  virtual ~Assembler() = default;

  virtual const Isa& isa() const = 0;
  /// Compiles `nests[i]` as `symbols[i]`. An error if the code would need a relocation.
  virtual runtime::Result<ObjectCode> assemble(const std::vector<const Nest*>& nests,
                                               const std::vector<std::string>& symbols, bool keep_text) = 0;
};

}  // namespace collage::codegen
