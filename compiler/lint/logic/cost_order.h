// SPDX-License-Identifier: Apache-2.0
// Compares costs by their shape: whether one formula is never larger than another for any non-negative terms.
#pragma once

#include "compiler/ir/rules/rule_set.h"
#include "compiler/lint/logic/expr_text.h"

namespace collage::lint {

bool is_never_more(const ir::Expr& a, const ir::Expr& b, const CaptureNames& names);

}  // namespace collage::lint
