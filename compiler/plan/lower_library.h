// SPDX-License-Identifier: Apache-2.0
// Operators that a library runs: a partition of a library backend as a step, or one match inside a host partition as a
// call. They become a program, which the library says it can run.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/placement/placement.h"
#include "compiler/plan/buffer_table.h"
#include "compiler/plan/lowering_requests.h"
#include "runtime/core/status.h"
#include "runtime/plan/plan.h"

namespace collage::plan {

/// The operators of a partition, boundary values in the partition's order, and what its rules ask for. Weights are
/// shared with the graph, not copied.
runtime::LibraryProgram make_program(const ir::Graph& graph, const ir::Partition& partition,
                                     const std::vector<LoweringRequest>& requests = {});

/// The partition as a call of the library. The failure is the library's reason. Boundary values lie as the placement
/// says.
runtime::Result<runtime::LibraryCall> lower_library(const ir::Graph& graph, const ir::Partition& partition,
                                                    const std::vector<LoweringRequest>& requests,
                                                    const std::string& library, int threads, BufferTable& buffers);

/// The match of a `lower inline` as a call of the library that its symbol names, on plain buffers of the host whose
/// memory is `home`.
runtime::Result<runtime::LibraryCall> lower_inline(const ir::Graph& graph, const LoweringRequest& request, int threads,
                                                   BufferTable& buffers, const std::string& home = "host");

}  // namespace collage::plan
