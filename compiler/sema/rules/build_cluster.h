// SPDX-License-Identifier: Apache-2.0
// Clusters: what a file declares, and what it means for the devices of all files.
//
//     host count 2 { devices npu 2 }  host { devices npu 1 }    =>    device npu: count 5, at hosts 0, 0, 1, 1, 2
#pragma once

#include "compiler/ir/rules/rule_set.h"
#include "compiler/syntax/rules_ast.h"
#include "runtime/support/diagnostic.h"

namespace collage::sema {

bool build_cluster(const syntax::ClusterAst& ast, ir::Cluster* cluster, support::Diagnostics& diags);

/// Gives all backends the switches and the cluster of the rule set.
void share_machine(ir::RuleSet& rules);

/// Gives devices their counts and hosts. What no host names stands at the first, as it is declared.
bool place_devices(ir::RuleSet& rules, support::Diagnostics& diags);

}  // namespace collage::sema
