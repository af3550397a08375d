// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/rules/generators.h"

#include <algorithm>
#include <array>

namespace collage::ir {
namespace {

constexpr std::array kGeneratorNames = {
#define GENERATOR(Id, name) std::string_view(name),
#include "compiler/ir/rules/generators.def"
#undef GENERATOR
};

}  // namespace

std::string_view name_of(Generator generator) {
  return kGeneratorNames[static_cast<size_t>(generator)];
}

std::optional<Generator> find_generator(std::string_view name) {
  const auto* row = std::find(kGeneratorNames.begin(), kGeneratorNames.end(), name);
  if (row == kGeneratorNames.end()) return std::nullopt;
  return static_cast<Generator>(row - kGeneratorNames.begin());
}

std::vector<std::string> generator_names() {
  return {kGeneratorNames.begin(), kGeneratorNames.end()};
}

}  // namespace collage::ir
