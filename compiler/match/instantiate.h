// SPDX-License-Identifier: Apache-2.0
// Works out a template on one match: which operators, on which values, with what attributes and types.
//
//     Mul(x, 2) {…} on a match with x = %a   =>   Mul on %a and the constant 2, f32[4]
//
// Steps of branches that are not taken are left out.
#pragma once

#include <vector>

#include "compiler/ir/rules/template.h"
#include "compiler/match/evaluate.h"
#include "runtime/core/status.h"

namespace collage::match {

struct BuiltOperand {
  enum class Kind { Absent, Value, Number, Step };
  Kind kind = Kind::Absent;
  ValueId value;      ///< Value: of the graph of the match
  double number = 0;  ///< Number: a scalar of the dtype of the result
  int step = -1;      ///< Step: index into BuiltTemplate::steps
};

struct BuiltStep {
  const ir::OpDef* op = nullptr;
  std::vector<BuiltOperand> operands;  ///< the last is not absent
  ir::AttrMap attrs;
  ir::TensorType type;  ///< of its first result
};

struct BuiltTemplate {
  std::vector<BuiltStep> steps;  ///< each after those that it reads
  BuiltOperand result;           ///< a Value or a Step
  ir::TensorType type;           ///< of the result
};

/// `captures`: of the rule that the context is of. `dtype`: of the result that is wanted, for numbers. Fails where an
/// attribute has no value or operands do not fit.
runtime::Result<BuiltTemplate> instantiate(const ir::Template& shape, const std::vector<ir::Capture>& captures,
                                           const EvalContext& context, ir::DType dtype);

/// The constant that a Number stands for.
ir::Constant scalar_constant(double number, ir::DType dtype);

}  // namespace collage::match
