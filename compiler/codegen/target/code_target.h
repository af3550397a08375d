// SPDX-License-Identifier: Apache-2.0
// What the host's code is generated for, as the user says it.
#pragma once

#include <string>

#include "compiler/codegen/target/numerics.h"

namespace collage::codegen {

struct CodeTarget {
  Numerics numerics = Numerics::F32;  ///< which algorithms it may use
  std::string cpu{};                  ///< LLVM's name of a processor; empty: that of this machine
};

/// Why this machine cannot run code for the processor, or that LLVM knows none of this name. Empty if it can.
std::string cpu_obstacle(const std::string& cpu);

/// Why code for the processor may not use tiles here (runtime/core/tiles.h); empty: it may.
std::string tile_obstacle(const std::string& cpu);

}  // namespace collage::codegen
