// SPDX-License-Identifier: Apache-2.0
// Costs by their shape: is one formula never more than another, whatever its terms are (they are not negative)?
#pragma once

#include "compiler/ir/rule_set.h"
#include "compiler/lint/logic/expr_text.h"

namespace collage::lint {

bool is_never_more(const ir::Expr& a, const ir::Expr& b, const CaptureNames& names);

}  // namespace collage::lint
