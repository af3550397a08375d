// SPDX-License-Identifier: Apache-2.0
// A partition of a library backend as a step: its operators become a program, which the library says it can run.
#pragma once

#include <string>

#include "compiler/ir/placement.h"
#include "compiler/plan/buffer_table.h"
#include "runtime/core/status.h"
#include "runtime/plan.h"

namespace collage::plan {

/// The operators of a partition, boundary values in the partition's order. Weights are shared with the graph, not
/// copied.
runtime::LibraryProgram make_program(const ir::Graph& graph, const ir::Partition& partition);

/// The failure is the library's reason. `step` is the partition's index. Boundary values lie as the
/// placement says.
runtime::Result<runtime::LibraryStep> lower_library(const ir::Graph& graph, const ir::Partition& partition, int step,
                                                    const std::string& library, int threads, BufferTable& buffers);

}  // namespace collage::plan
