// SPDX-License-Identifier: Apache-2.0
// A placement as a small text of its own, independent of weights and of how the model is stored (`--save-placement`,
// `--placement`, `collagec diff`). It names nodes by their first result, after the passes:
//
//     placement 1
//     partition @p0 on host(host) rule "pointwise" { %a, %b }
//     partition @p1 on npu(npu[0]) rule "conv_act.Relu" (%b: npu[0] NHWC) -> (%y: npu[0] NHWC) { %c, %y }
//     partition @p2 on npu(npu[0] + npu[1]) split %d along channels rule "conv" { %d }
//
// The head is that of a partition in the model language. Rules and formats may be left out: then the cheapest that fit
// are taken. There are no costs, which come from the rules, and no conversions, which follow from the formats. A
// partition that was joined from several is priced as one, so a replay may predict less time than the search did. Nodes
// that no partition names are searched.
#pragma once

#include <optional>
#include <string>

#include "compiler/ir/placement/placement.h"
#include "compiler/sema/model/build_graph.h"
#include "runtime/support/diagnostic.h"
#include "runtime/support/source_manager.h"

namespace collage::request {

std::string print_placement(const ir::Graph& graph, const ir::Placement& placement);

/// Reads partitions only, each with a span; `build_problem` checks whether the backends can run them. Returns nullopt
/// after errors.
std::optional<ir::Placement> read_placement(const std::string& path, const ir::Graph& graph,
                                            support::SourceManager& sources, support::Diagnostics& diags);

/// The same for a text.
std::optional<ir::Placement> parse_placement(support::FileId file, const ir::Graph& graph,
                                             const support::SourceManager& sources, support::Diagnostics& diags);

/// As `read_placement`, for a model that must not have partitions of its own. `option` names the file in messages.
std::optional<ir::Placement> read_placement_for(const sema::Model& model, const std::string& path,
                                                const std::string& option, support::SourceManager& sources,
                                                support::Diagnostics& diags);

}  // namespace collage::request
