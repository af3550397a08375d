// SPDX-License-Identifier: Apache-2.0
// Can the lowering of a kernel be asked for, for one match?
//
//     lower "conv"(x, encode(w, "OHWI"), n = dim(x, 4))     =>   not for weights of rank 3, not for an x of rank 4
#pragma once

#include <optional>
#include <string>

#include "compiler/match/evaluate.h"
#include "compiler/match/instantiate.h"
#include "runtime/core/status.h"

namespace collage::match {

struct LoweringMisfit {
  std::string message;
  support::Span span;  ///< of the argument
};

/// `context` has the bindings, quantities and knobs of the match. Returns nullopt if every argument has a value and
/// fits.
std::optional<LoweringMisfit> lowering_misfit(const ir::Lowering& lowering, const EvalContext& context);

/// What the kernel computes for the match of `rule` rooted at `root`, by its `semantics`. Expects that it has some.
/// Fails where they do not fit the match: operands that do not go together, another type than the result has.
runtime::Result<BuiltTemplate> meaning_of(const ir::Rule& rule, const ir::Lowering& lowering,
                                          const EvalContext& context, NodeId root);

}  // namespace collage::match
