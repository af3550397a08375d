// SPDX-License-Identifier: Apache-2.0
// Links of devices, switches and hosts.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/rules/link.h"
#include "compiler/syntax/rules_ast.h"
#include "runtime/support/diagnostic.h"

namespace collage::sema {

/// Whether something of the name is declared is for later: check_rule_set.
bool build_links(const std::vector<syntax::LinkAst>& asts, std::vector<ir::Link>* links, support::Diagnostics& diags);

/// `ring`, `torus`, `tree`
std::vector<std::string> shape_names();
/// As a link to one is written: `torus(4, 8)`. For messages.
std::string shape_text(const ir::LinkShape& shape);

}  // namespace collage::sema
