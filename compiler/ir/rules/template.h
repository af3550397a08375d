// SPDX-License-Identifier: Apache-2.0
// Operators that rule text describes, after sema: right sides of rewrites, and what kernels compute (`semantics`). Each
// operator stands after those whose results it reads.
//
//     Relu(a = Add(x, 1))   =>   steps Add(x, 1), Relu(step 0); the result is step 1
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/ops/op_def.h"
#include "compiler/ir/rules/expr.h"

namespace collage::ir {

struct TemplateOperand {
  enum class Kind {
    Absent,   ///< `none`
    Capture,  ///< the value of capture `index` of the left side; absent if that is
    Number,   ///< `number`, a scalar constant of the dtype of the value that is replaced
    Rest,     ///< the operands that capture `index` stands for, any number
    Step,     ///< the result of step `index`
    Choice    ///< one of two, as choice `index` says
  };
  Kind kind = Kind::Absent;
  int index = -1;
  double number = 0;
};

struct TemplateAttribute {
  std::string name;
  Expr value;  ///< evaluated on the match
};

/// `if condition then yes else no`. A condition whose truth depends on a capture that is absent does not hold.
struct TemplateChoice {
  Expr condition;
  TemplateOperand yes;
  TemplateOperand no;
};

struct TemplateStep {
  const OpDef* op = nullptr;
  std::optional<Expr> op_name{};  ///< where `op` is null: a string, the name of the operator in this match
  std::vector<TemplateOperand> operands;
  std::vector<TemplateAttribute> attributes;
  support::Span span;
};

struct Template {
  std::vector<TemplateStep> steps;
  std::vector<TemplateChoice> choices{};
  TemplateOperand result;                ///< a Capture, a Step or a Choice of these
  bool leaves_out_absent_attrs = false;  ///< attributes whose expression mentions an absent capture have their default
  support::Span span{};
};

}  // namespace collage::ir
