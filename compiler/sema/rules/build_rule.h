// SPDX-License-Identifier: Apache-2.0
// One rule of a backend: syntax tree -> ir::Rule. A family (`for act in {…}`) is built once per member.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "compiler/ir/rules/rule_set.h"
#include "compiler/sema/rules/load_cost_table.h"
#include "compiler/sema/rules/named_parts.h"
#include "compiler/sema/rules/pattern_defs.h"
#include "compiler/syntax/rules_ast.h"
#include "runtime/support/diagnostic.h"

namespace collage::sema {

struct RuleContext {
  support::Diagnostics& diags;
  CostTableFiles& tables;
  const ir::Backend& backend;         ///< its attributes are complete, its rules need not be
  const PatternDefs& defs;            ///< which its patterns may call
  const NamedParts& named;            ///< which its expressions and kernels may name
  std::set<std::string>* used_attrs;  ///< filled
};

/// Adds the `deny`. Returns false after errors.
bool build_deny(const syntax::DenyAst& ast, const RuleContext& context, std::vector<ir::Deny>* denies);
/// Adds the `numerics` statement. Returns false after errors.
bool build_loss(const syntax::LossAst& ast, const RuleContext& context, std::vector<ir::Loss>* losses);

/// Adds the rule, or all members of the family, to `rules`. Returns false after errors.
bool build_rule(const syntax::RuleAst& ast, const RuleContext& context, std::vector<ir::Rule>* rules);

}  // namespace collage::sema
