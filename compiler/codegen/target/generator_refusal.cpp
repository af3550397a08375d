// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/target/generator_refusal.h"

namespace collage::codegen {

std::string generator_refusal(std::string_view generator, Numerics numerics, const std::string& tile_obstacle) {
  const bool is_strict = numerics == Numerics::Strict;
  if (generator == kWinograd && is_strict) return "--numerics=strict: minimal filtering is no plain sum";
  if (generator == kAmxGemm && is_strict) return "--numerics=strict: products of split operands are no plain sum";
  return generator == kAmxGemm ? tile_obstacle : "";
}

}  // namespace collage::codegen
