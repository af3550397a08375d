// SPDX-License-Identifier: Apache-2.0
// Evaluators of the functions of the rule language: one `eval_NAME` for each row of ir/rules/functions.def. A row
// without one does not link.
#pragma once

#include <span>

#include "compiler/match/evaluate.h"

namespace collage::match {

/// A call with its arguments, whose number and types sema has checked. An argument that is derived from a capture that
/// is absent in this match is the number 0, whatever its type.
struct Call {
  const ir::Expr& expr;
  const EvalContext& context;
  std::span<const EvalValue> args;
};

using FunctionEvaluator = Evaluated (*)(const Call& call);

#define FUNCTION(name, evaluator, ...) Evaluated eval_##evaluator(const Call& call);
#include "compiler/ir/rules/functions.def"
#undef FUNCTION

FunctionEvaluator evaluator_of(ir::FunctionId function);

}  // namespace collage::match
