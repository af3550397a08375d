// SPDX-License-Identifier: Apache-2.0
// What a device computes for a lowering whose kernel has `semantics`: operators on the arguments that the lowering
// gives, in place of those of its pattern. So a simulated device computes what the lowering asks for.
//
//     lower "sub"(a = y, b = x)   semantics "sub"(a, b) = Sub(a, b)   =>   Sub on the buffers of y and x
#pragma once

#include <functional>
#include <vector>

#include "compiler/plan/buffer_table.h"
#include "compiler/plan/lowering_requests.h"

namespace collage::plan {

/// Nodes of the request that run as they are: others read results of theirs besides that of the match, or its kernel is
/// given a value that they make. Ascending.
std::vector<ir::NodeId> nodes_to_keep(const ir::Graph& graph, const LoweringRequest& request);

/// Returns the operators of the request's meaning, in the order in which they run. `buffer_of` says where the device
/// has a value; what lies between the operators is added to `buffers`.
std::vector<runtime::OpCall> emit_meaning(
    const ir::Graph& graph, const LoweringRequest& request, const std::string& space, BufferTable& buffers,
    const std::function<runtime::BufferId(ir::ValueId, const std::string& encoding)>& buffer_of);

}  // namespace collage::plan
