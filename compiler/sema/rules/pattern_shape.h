// SPDX-License-Identifier: Apache-2.0
// Properties of a pattern by itself: how its operands fit operators, and which operators are at its root.
#pragma once

#include <vector>

#include "compiler/ir/rules/pattern.h"
#include "runtime/support/diagnostic.h"

namespace collage::sema {

/// Returns whether an operator can have the operands of an Op or Repeat.
bool takes_operands(const ir::OpDef& op, const ir::Pattern& pattern);

/// Checks that all operators of the pattern can have its operands. Returns false after an error.
bool check_arity(const ir::Pattern& pattern, support::Diagnostics& diags);

/// Requires operands that the pattern does not name to be absent, unless it says otherwise.
void leave_out_further_operands(ir::Pattern* pattern);

/// Returns 0 if the smallest derivation has no operator, else 1.
int least_operators(const ir::Pattern& pattern);

/// Returns whether each form of the pattern has an operator at its root, and adds those operators to `ops`, each once.
bool is_node(const ir::Pattern& pattern, std::vector<const ir::OpDef*>* ops);

}  // namespace collage::sema
