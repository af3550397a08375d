// SPDX-License-Identifier: Apache-2.0
// Graphs put together node by node, for tests of times.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/ir/analysis/infer.h"
#include "compiler/ir/ops/op_def.h"

namespace collage::page::test {

struct SmallGraph {
  ir::ValueId input(const std::string& name, runtime::Shape shape) {
    return graph.add_input(name, {runtime::DType::F32, std::move(shape)});
  }

  ir::ValueId add(const char* op, const std::string& name, std::vector<ir::ValueId> operands, ir::AttrMap attrs = {}) {
    const ir::NodeId node =
        ir::append_inferred(graph, *ir::find_op(op), std::move(operands), std::move(attrs), {name}, {}, diags);
    EXPECT_TRUE(node.is_valid()) << diags.render();
    return graph.first_output(node);
  }

  ir::NodeId node(const std::string& name) const { return graph.find_node(name); }

  support::SourceManager sources;
  support::Diagnostics diags{sources};
  ir::Graph graph;
};

}  // namespace collage::page::test
