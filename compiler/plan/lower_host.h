// SPDX-License-Identifier: Apache-2.0
// The calls of one host partition: compiled by the JIT, or, where it fails, the reference kernels one by one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/codegen/jit.h"
#include "compiler/ir/placement.h"
#include "compiler/plan/buffer_table.h"

namespace collage::plan {

struct HostLowering {
  std::vector<runtime::HostCall> calls;
  std::optional<std::string> failure;  ///< why the calls are reference kernels
};

/// All values in plain host buffers. Never fails: what the JIT cannot do runs by reference, with the reason.
HostLowering lower_host(const ir::Graph& graph, const ir::Partition& partition, codegen::Jit& jit,
                        BufferTable& buffers);

/// The nodes on their reference kernels.
HostLowering reference_calls(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes, BufferTable& buffers);

}  // namespace collage::plan
