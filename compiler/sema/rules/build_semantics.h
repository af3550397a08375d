// SPDX-License-Identifier: Apache-2.0
// `semantics "sub"(a, b) = Sub(a, b)`: what a kernel computes of the arguments that a `lower` gives it.
//
//     lower "sub"(a = x, b = y)   =>   the template Sub(x, y), over the captures of the rule
//
// A parameter is an operand, an attribute, or the name of an operator, as the body uses it.
#pragma once

#include <optional>
#include <vector>

#include "compiler/sema/rules/expand_named.h"

namespace collage::sema {

/// Works out what the kernel computes for `use`. Nothing after an error.
std::optional<ir::Template> build_meaning(const NamedParts::FoundSemantics& found, const syntax::LowerAst& use,
                                          const std::vector<LoweredArgument>& args, const ExprScope& caller,
                                          support::Diagnostics& diags);

}  // namespace collage::sema
