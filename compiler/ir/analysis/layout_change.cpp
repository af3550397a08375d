// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/analysis/layout_change.h"

#include <algorithm>

#include "compiler/ir/ops/op_def.h"
#include "runtime/core/layout.h"

namespace collage::ir {

NodeId append_layout_change(Graph& graph, const TensorType& type, const std::string& from_layout,
                            const std::string& to_layout) {
  std::vector<int> from = *runtime::layout_permutation(from_layout, type.shape.size());
  std::vector<int> to = *runtime::layout_permutation(to_layout, type.shape.size());
  TensorType lies{type.dtype, {}}, shall_lie{type.dtype, {}};
  std::vector<int64_t> perm;
  for (int logical : from) lies.shape.push_back(type.shape[static_cast<size_t>(logical)]);
  for (int logical : to) {
    shall_lie.shape.push_back(type.shape[static_cast<size_t>(logical)]);
    perm.push_back(std::find(from.begin(), from.end(), logical) - from.begin());
  }
  ValueId x = graph.add_input(graph.unique_name("from"), lies);
  runtime::AttrMap attrs;
  attrs.set("perm", perm);
  return graph.add_node(*find_op("Transpose"), {x}, attrs, {graph.unique_name("to")}, {shall_lie});
}

}  // namespace collage::ir
