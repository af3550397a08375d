// SPDX-License-Identifier: Apache-2.0
// Names of the generators of host code: rows of generators.def. codegen/ says which operators each one is for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace collage::ir {

enum class Generator {
#define GENERATOR(Id, name) Id,
#include "compiler/ir/rules/generators.def"
#undef GENERATOR
};

/// As rules write it.
std::string_view name_of(Generator generator);
/// Returns nullopt if no generator has this name.
std::optional<Generator> find_generator(std::string_view name);
std::vector<std::string> generator_names();

}  // namespace collage::ir
