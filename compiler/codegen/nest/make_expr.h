// SPDX-License-Identifier: Apache-2.0
// A node of an expression, for the functions that build them.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "compiler/codegen/nest/loop_nest.h"

namespace collage::codegen {

inline Expr make(Op op, Type type, int lanes, std::vector<Expr> args, int64_t imm = 0) {
  return std::make_shared<const ExprNode>(ExprNode{op, type, lanes, imm, 4, Element::F32, std::move(args)});
}

}  // namespace collage::codegen
