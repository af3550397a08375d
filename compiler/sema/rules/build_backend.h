// SPDX-License-Identifier: Apache-2.0
// The parts of a backend that are no rules: devices, attributes, runtime, how partitions grow.
#pragma once

#include <set>
#include <string>

#include "compiler/ir/rules/rule_set.h"
#include "compiler/sema/rules/load_cost_table.h"
#include "compiler/sema/rules/named_parts.h"
#include "compiler/syntax/rules_ast.h"
#include "runtime/support/diagnostic.h"

namespace collage::sema {

/// Fills everything but `rules`, `denies`, `losses` and `file`. False after errors.
bool build_backend(const syntax::BackendAst& ast, const NamedParts& named, ir::Backend* backend,
                   std::set<std::string>* used_attrs, CostTableFiles& tables, support::Diagnostics& diags);

/// `precision bf16`, at most once, of a device or a rule.
bool build_precision(const std::vector<syntax::Word>& asts, std::optional<ir::Precision>* precision,
                     support::Diagnostics& diags);

bool build_switch(const syntax::SwitchAst& ast, ir::SwitchDecl* declared, support::Diagnostics& diags);

}  // namespace collage::sema
