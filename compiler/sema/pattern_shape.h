// SPDX-License-Identifier: Apache-2.0
// What can be told of a pattern by itself: how its operands fit operators, and what stands at its root.
#pragma once

#include <vector>

#include "compiler/ir/pattern.h"
#include "compiler/support/diagnostic.h"

namespace collage::sema {

/// Whether an operator can have the operands of an Op or Repeat.
bool takes_operands(const ir::OpDef& op, const ir::Pattern& pattern);

/// All its operators can; else told.
bool check_arity(const ir::Pattern& pattern, support::Diagnostics& diags);

/// Operands that the pattern does not name must be absent, unless it says otherwise.
void leave_out_further_operands(ir::Pattern* pattern);

/// Operators in the smallest derivation: 0, or 1 for one or more.
int least_operators(const ir::Pattern& pattern);

/// Whether each form of the pattern is an operator at its root. Those are added to `ops`, each once.
bool is_node(const ir::Pattern& pattern, std::vector<const ir::OpDef*>* ops);

}  // namespace collage::sema
