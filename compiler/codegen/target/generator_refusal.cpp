// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/target/generator_refusal.h"

#include "compiler/ir/rules/generators.h"

namespace collage::codegen {

std::string generator_refusal(std::string_view name, Numerics numerics, const std::string& tile_obstacle) {
  using ir::Generator;
  const std::optional<Generator> generator = ir::find_generator(name);
  const bool is_strict = numerics == Numerics::Strict;
  if (generator == Generator::Winograd && is_strict) return "--numerics=strict: minimal filtering is no plain sum";
  if (generator != Generator::AmxGemm) return "";
  return is_strict ? "--numerics=strict: products of split operands are no plain sum" : tile_obstacle;
}

}  // namespace collage::codegen
