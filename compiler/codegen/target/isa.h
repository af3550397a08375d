// SPDX-License-Identifier: Apache-2.0
// The instruction set that kernels are generated for, as plain data.
#pragma once

#include <string>

namespace collage::codegen {

struct Isa {
  std::string triple;
  std::string cpu;       ///< scheduling model
  std::string features;  ///< `+avx512f,+fma,…`
  int lanes = 4;         ///< f32 lanes of the widest vector
  int registers = 16;    ///< vector registers
  bool has_fma = false;
};

}  // namespace collage::codegen
