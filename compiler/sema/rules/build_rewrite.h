// SPDX-License-Identifier: Apache-2.0
// `rewrite NAME: lhs => rhs when expr` -> ir::Rewrite. The left side is built like the pattern of a rule.
#pragma once

#include <vector>

#include "compiler/sema/rules/build_rule.h"

namespace collage::sema {

/// Adds the rewrite. Returns false after errors.
bool build_rewrite(const syntax::RewriteAst& ast, const RuleContext& context, std::vector<ir::Rewrite>* rewrites);

}  // namespace collage::sema
