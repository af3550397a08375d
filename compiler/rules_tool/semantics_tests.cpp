// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/semantics_tests.h"

#include "compiler/lint/models/compare_meaning.h"

namespace collage::rules_tool {

using support::Code;

bool lowerings_hold(const ir::Graph& graph, const ir::Backend& backend, size_t first, size_t end,
                    const ir::RuleTest& test, const std::vector<ir::NodeId>& nodes, support::Diagnostics& diags) {
  for (size_t rule = first; rule < end; ++rule) {
    const auto found = lint::meaning_difference(graph, backend, static_cast<int>(rule), nodes);
    if (!found) continue;
    const ir::Lowering& lowering = backend.rules[rule].kernels[static_cast<size_t>(found->kernel)].lowering;
    if (!found->runs) {
      return diags
          .error(Code::SemanticsDiffer, test.span, "what the lowering asks for does not run: {}", found->message)
          .note(lowering.span, "the lowering");
    }
    return diags.error(Code::SemanticsDiffer, test.span, "{}", found->message)
        .note(lowering.span, "rule `{}` is lowered here", found->name)
        .note(lowering.meaning->span, "which computes this")
        .note("where inputs and constants are {}", found->trial);
  }
  return true;
}

}  // namespace collage::rules_tool
