// SPDX-License-Identifier: Apache-2.0
// The instruction set that kernels are generated for, as plain data.
#pragma once

#include <string>

#include "runtime/core/host_capabilities.h"

namespace collage::codegen {

struct Isa {
  std::string triple;
  std::string cpu;       ///< scheduling model
  std::string features;  ///< `+avx512f,+fma,…`
  int lanes = 4;         ///< f32 lanes of the widest vector
  int registers = 16;    ///< vector registers
  bool has_fma = false;
  bool has_vnni = false;  ///< vpdpbusd on the widest vectors

  void set_vectors(const runtime::VectorUnit& unit) {
    lanes = unit.lanes;
    registers = unit.registers;
    has_fma = unit.has_fma;
  }
};

}  // namespace collage::codegen
