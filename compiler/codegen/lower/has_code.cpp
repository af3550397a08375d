// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/lower/has_code.h"

#include "compiler/codegen/kernel/pointwise.h"
#include "compiler/codegen/lower/lowerings.h"
#include "compiler/ir/ops/op_def.h"

namespace collage::codegen {

bool has_code(const ir::Graph& graph, ir::NodeId node) {
  if (is_pointwise(graph, node)) return true;
  const Lowering* lowering = find_lowering(graph.node(node).op->name);
  return lowering != nullptr && lowering->accepts(graph, node);
}

}  // namespace collage::codegen
