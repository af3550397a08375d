// SPDX-License-Identifier: Apache-2.0
// Runs single operators of the libraries of this build, which choose their code by the processor: what is right on one
// machine may be wrong on another.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "runtime/core/attributes.h"

namespace collage::request {

using LibraryTrial = std::function<bool(std::string_view library, std::string_view op, const runtime::AttrMap& attrs)>;

/// Returns a function that runs an operator of one f32 operand on numbers of every exponent and both signs, and returns
/// whether the library makes a NaN where the reference kernel makes none. Returns false for what the library refuses.
/// Answers are kept; calls may overlap.
LibraryTrial trial_for_nan();

}  // namespace collage::request
