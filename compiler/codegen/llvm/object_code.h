// SPDX-License-Identifier: Apache-2.0
// Compiles a nest to machine code that needs no linker, and checks that it is self-contained.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "compiler/codegen/nest/loop_nest.h"
#include "compiler/codegen/target/isa.h"
#include "runtime/core/status.h"

namespace collage::codegen {

/// Position-independent code of one kernel.
struct ObjectCode {
  std::vector<std::byte> text;
  size_t entry = 0;       ///< where in the text it begins
  std::string llvm_text;  ///< if requested
  std::string asm_text;
};

class Assembler {
 public:
  /// Returns an error if LLVM has no target for this machine.
  static runtime::Result<std::unique_ptr<Assembler>> create(const std::string& cpu);
  virtual ~Assembler() = default;

  virtual const Isa& isa() const = 0;
  /// Compiles a nest; `symbol` is its name in the texts. Returns an error if the code would need a relocation.
  virtual runtime::Result<ObjectCode> assemble(const Nest& nest, const std::string& symbol, bool keep_text) = 0;
  /// All that the code depends on beside the nest's text: the processor, LLVM, its options, and the code that uses it.
  virtual const std::string& identity() const = 0;
  /// Numbers of nests that LLVM has compiled or refused, and that were found compiled or refused.
  virtual size_t compiled() const = 0;
  virtual size_t found() const { return 0; }
};

}  // namespace collage::codegen
