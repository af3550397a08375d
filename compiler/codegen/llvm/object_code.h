// SPDX-License-Identifier: Apache-2.0
// Compiles a nest to machine code that runs wherever it is copied.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "compiler/codegen/nest/loop_nest.h"
#include "compiler/codegen/target/isa.h"
#include "runtime/core/status.h"

namespace collage::codegen {

/// Position-independent code of one kernel, and the constants that it reads: at multiples of runtime::kCodeAlignment.
struct ObjectCode {
  std::vector<std::byte> bytes;
  size_t entry = 0;       ///< where in them the kernel begins
  std::string llvm_text;  ///< if requested
  std::string asm_text;
};

class Assembler {
 public:
  /// Returns an error if LLVM has no target for this machine. `cpu` and `runs_here` as of JitOptions.
  static runtime::Result<std::unique_ptr<Assembler>> create(const std::string& cpu, bool runs_here = true);
  virtual ~Assembler() = default;

  virtual const Isa& isa() const = 0;
  /// Compiles a nest; `symbol` is its name in the texts. Fails where link_code does.
  virtual runtime::Result<ObjectCode> assemble(const Nest& nest, const std::string& symbol, bool keep_text) = 0;
  /// All that the code depends on beside the nest's text: the processor, LLVM, its options, and the code that uses it.
  virtual const std::string& identity() const = 0;
  /// Numbers of nests that LLVM has compiled or refused, and that were found compiled or refused.
  virtual size_t compiled() const = 0;
  virtual size_t found() const { return 0; }
};

}  // namespace collage::codegen
