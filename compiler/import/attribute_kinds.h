// SPDX-License-Identifier: Apache-2.0
// Gives attributes of a file the kinds that their operators define.
//
//     Gemm(a, b) {alpha = 2}      =>  Gemm(a, b) {alpha = 2.0}
//     Resize(…) {axes = 2.0}      =>  attribute `axes` of `Resize` is a float, needs a list of ints
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compiler/ir/ops/op_def.h"

namespace collage::import {

/// Makes ints floats where `kind` is one of floats. Returns what is wrong: a number that f32 cannot hold, or another
/// kind. An attribute that is absent is right.
std::optional<std::string> fit_attribute(std::string_view op, ir::AttrMap& attrs, std::string_view name,
                                         ir::AttrKind kind);

/// The same for what operators of the standard have in other opsets, or outside graphs: `ir::OpDef` does not have it.
std::optional<std::string> fit_foreign_attributes(std::string_view op, ir::AttrMap& attrs);

}  // namespace collage::import
