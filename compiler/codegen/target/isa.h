// SPDX-License-Identifier: Apache-2.0
// The instruction set that kernels are generated for, as plain data.
#pragma once

#include <cstdint>
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
  int64_t level2_cache = int64_t{2} << 20;                           ///< bytes of one core's
  std::string tile_obstacle = "this processor has no AMX for bf16";  ///< why code uses no tiles; empty: it may
  bool has_rounding = true;                                          ///< to whole numbers (SSE 4.1)
  bool has_f16 = true;                                               ///< conversions from and to f16 (F16C)
  bool has_vnni = false;                                             ///< vpdpbusd on the widest vectors

  void set_vectors(const runtime::VectorUnit& unit) {
    lanes = unit.lanes;
    registers = unit.registers;
    has_fma = unit.has_fma;
  }
};

}  // namespace collage::codegen
