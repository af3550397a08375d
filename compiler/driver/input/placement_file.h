// SPDX-License-Identifier: Apache-2.0
// A placement as a small text of its own, independent of weights and of how the model is stored (`--save-plan`,
// `--plan`, `--diff-plans`). It names nodes by their first result, after the passes:
//
//     plan 1
//     partition @p0 on host(host) rule "pointwise" { %a, %b }
//     partition @p1 on npu(npu[0]) rule "conv_act.Relu" (%b: npu[0] NHWC) -> (%y: npu[0] NHWC) { %c, %y }
//     partition @p2 on npu(npu[0] + npu[1]) split %d along channels rule "conv" { %d }
//
// The head is that of a partition in the model language. Rules and formats may be left out: then the cheapest that fit
// are taken. There are no costs, which come from the rules, and no conversions, which follow from the formats. What was
// joined out of several partitions is priced as one, so that a replay may promise less time than the search did. Nodes
// that no partition names are searched.
#pragma once

#include <optional>
#include <string>

#include "compiler/ir/placement.h"
#include "compiler/support/diagnostic.h"
#include "compiler/support/source_manager.h"

namespace collage::driver {

std::string print_plan(const ir::Graph& graph, const ir::Placement& placement);

/// Partitions only, each with a span. Whether the backends can run them is `build_problem`'s to say. Nothing after
/// errors.
std::optional<ir::Placement> read_plan(const std::string& path, const ir::Graph& graph, support::SourceManager& sources,
                                       support::Diagnostics& diags);

}  // namespace collage::driver
