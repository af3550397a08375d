// SPDX-License-Identifier: Apache-2.0
// Phrases that the answers to `why` and `why-not` share.
#pragma once

#include <string>
#include <vector>

#include "compiler/report/explain/alternative.h"

namespace collage::report {

/// `%c (Conv)`
std::string node_text(const ir::Graph& graph, ir::NodeId node);

/// `npu[0]`, `onednn` where it works in host memory.
std::string place_text(const ir::Partition& partition);

/// `%a, %b, %c and 4 more`
std::string node_list(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes, size_t shown = 4);

/// `conv (rules/npu.rules:16), add (rules/npu.rules:76)`, each once; of a partition without rules, why it has none.
std::string rules_text(const ir::Partition& partition, const ExplainedPlacement& explained);

/// The partition that holds the node.
const ir::Partition& partition_of(const ir::Graph& graph, const ir::Placement& placement, ir::NodeId node);

/// `1.6 ms in onednn, with %g: matmul (rules/onednn.rules:104)`: the chosen candidate that holds the node, and the rule
/// whose match does. `chosen` are candidates of `built`.
std::string candidate_text(const ExplainedPlacement& explained, const place::BuiltProblem& built,
                           const std::vector<place::CandidateId>& chosen, ir::NodeId node);

/// `matmul (rules/onednn.rules:104)`
std::string rule_text(const ExplainedPlacement& explained, const place::BuiltProblem& built,
                      const std::vector<place::CandidateId>& chosen, ir::NodeId node);

/// What the cost of a candidate of the input's problem is made of: `launch 2 us, conv_act.Relu 9 us, conv 1.3 us`,
/// `measured`.
std::string cost_parts_text(const ExplainedPlacement& explained, place::CandidateId id);

/// The active backend of that name; none: the host without rules.
place::BackendId backend_id(const ExplainedPlacement& explained, const std::string& name);

}  // namespace collage::report
