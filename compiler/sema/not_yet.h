// SPDX-License-Identifier: Apache-2.0
// Constructs of the rule language that parse and have no meaning yet: each is told where it stands. Sema calls these
// before it builds; a construct leaves this file when it gets its meaning.
#pragma once

#include "compiler/support/diagnostic.h"
#include "compiler/syntax/rules_ast.h"

namespace collage::sema {

/// False if there is one.
bool check_not_yet(const syntax::RuleAst& ast, support::Diagnostics& diags);

}  // namespace collage::sema
