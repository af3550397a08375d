// SPDX-License-Identifier: Apache-2.0
// `phase pre { … }`, `phase post { … }` of a backend. `passes/phases.h` checks whether the passes exist.
#pragma once

#include "compiler/ir/rules/rule_set.h"
#include "compiler/syntax/rules_ast.h"
#include "runtime/support/diagnostic.h"

namespace collage::sema {

/// Returns false after errors.
bool build_phases(const syntax::BackendAst& ast, ir::Backend* backend, support::Diagnostics& diags);

}  // namespace collage::sema
