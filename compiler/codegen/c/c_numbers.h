// SPDX-License-Identifier: Apache-2.0
// What the C text has for the numbers that nests compute in: f32, which the prelude of every file has, and f64, i32 and
// i64, each in a part of the prelude that only files with such kernels have.
//
//     f32: vec  v_fadd(vec, vec)      f64: vecd  vd_fadd(vecd, vecd)      a vector has 16 bytes
#pragma once

#include <string>
#include <string_view>

#include "compiler/codegen/nest/loop_nest.h"

namespace collage::codegen {

/// Behind the names of types and functions: empty, `d`, `i` or `l`.
std::string_view c_suffix(Element number);
/// `double`
std::string_view c_number_type(Element number);

/// Types and functions of vectors of such numbers; empty for f32.
std::string c_number_prelude(Element number);

/// Returns whether the C text has all types and operations of the nest.
bool has_c_types(const Nest& nest);

}  // namespace collage::codegen
