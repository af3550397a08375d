// SPDX-License-Identifier: Apache-2.0
// A graph that some reader accepted: it verifies, and printing, reading and printing it again changes nothing.
#pragma once

#include "compiler/ir/placement/print.h"
#include "compiler/ir/placement/verify.h"
#include "compiler/sema/model/build_graph.h"
#include "runtime/support/source_manager.h"
#include "tests/fuzz/check_input.h"

namespace collage::fuzz {

/// Constants of form File are looked up in `folder`.
inline void expect_round_trip(const ir::Graph& graph, const ir::Placement& placement, const std::string& folder) {
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  ir::verify(graph);  // throws
  auto print = [](const ir::Graph& g, const ir::Placement& p) { return p.empty() ? ir::print(g) : ir::print(g, p); };
  std::string printed = print(graph, placement);
  auto again = sema::load_model_text(sources, sources.add("printed.ir", printed), folder, diags);
  if (!again) fail("what was printed does not parse:\n" + diags.render() + printed);
  std::string reprinted = print(again->graph, again->placement);
  if (reprinted != printed) fail("printed, parsed and printed:\n" + printed + "\n---\n" + reprinted);
}

}  // namespace collage::fuzz
