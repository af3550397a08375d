// SPDX-License-Identifier: Apache-2.0
// Which generators that rules name are not for every code: by what its numerics allow, and what the processor has.
#pragma once

#include <string>
#include <string_view>

#include "compiler/codegen/target/numerics.h"

namespace collage::codegen {

/// Why such code does not use the generator; empty if it may, or where there is no generator of this name.
/// `tile_obstacle` as of Isa.
std::string generator_refusal(std::string_view generator, Numerics numerics, const std::string& tile_obstacle);

}  // namespace collage::codegen
