// SPDX-License-Identifier: Apache-2.0
#include "compiler/match/functions/functions.h"

namespace collage::match {

FunctionEvaluator evaluator_of(ir::FunctionId function) {
  static constexpr FunctionEvaluator evaluators[] = {
#define FUNCTION(name, evaluator, ...) eval_##evaluator,
#include "compiler/ir/rules/functions.def"
#undef FUNCTION
  };
  return evaluators[static_cast<size_t>(function)];
}

}  // namespace collage::match
