// SPDX-License-Identifier: Apache-2.0
// A change of layout in host memory as a compiled kernel (ir/analysis/layout_change.h).
#pragma once

#include <optional>
#include <string>

#include "compiler/codegen/jit.h"
#include "compiler/ir/graph/graph.h"
#include "compiler/plan/buffer_table.h"
#include "runtime/plan/plan.h"

namespace collage::plan {

/// The call that fills buffer `to` from `from`, tensors of `type` in two layouts that exist for its rank; tables that
/// it reads become constants of the host whose memory is `home`. Nothing where the JIT has no single kernel for it.
std::optional<runtime::KernelCall> lower_reorder(const ir::TensorType& type, const std::string& from_layout,
                                                 runtime::BufferId from, const std::string& to_layout,
                                                 runtime::BufferId to, codegen::Jit& jit, BufferTable& buffers,
                                                 const std::string& home = "host");

}  // namespace collage::plan
