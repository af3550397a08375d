// SPDX-License-Identifier: Apache-2.0
// Right sides of rewrites after sema: the operators to build, each after those whose results it reads.
//
//     Relu(a = Add(x, 1))   =>   steps Add(x, 1), Relu(step 0); the result is step 1
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/expr.h"
#include "compiler/ir/op_def.h"

namespace collage::ir {

struct TemplateOperand {
  enum class Kind {
    Absent,   ///< `none`
    Capture,  ///< the value of capture `index` of the left side; absent if that is
    Number,   ///< `number`, a scalar constant of the dtype of the value that is replaced
    Step      ///< the result of step `index`
  };
  Kind kind = Kind::Absent;
  int index = -1;
  double number = 0;
};

struct TemplateAttribute {
  std::string name;
  Expr value;  ///< evaluated on the match
};

struct TemplateStep {
  const OpDef* op = nullptr;
  std::vector<TemplateOperand> operands;
  std::vector<TemplateAttribute> attributes;
  support::Span span;
};

struct Template {
  std::vector<TemplateStep> steps;
  TemplateOperand result;  ///< a Capture or a Step
};

}  // namespace collage::ir
