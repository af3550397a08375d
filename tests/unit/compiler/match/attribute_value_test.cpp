// SPDX-License-Identifier: Apache-2.0
#include "compiler/match/attribute_value.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compiler/ir/graph/graph.h"
#include "compiler/ir/ops/op_def.h"

namespace collage::match {
namespace {

/// A node of three operands of these sizes on which nothing is written.
ir::NodeId add_bare_node(const ir::OpDef& op, const ir::Shape& shape, ir::Graph& graph) {
  std::vector<ir::ValueId> inputs;
  for (int i = 0; i < 3; ++i) inputs.push_back(graph.add_input(fmt::format("x{}", i), {ir::DType::F32, shape}));
  return graph.add_node(op, inputs, {}, {"y"}, {{ir::DType::F32, shape}});
}

// Rules and cost programs may ask for each attribute of each operator, whatever others it has.
TEST(AttributeValue, EveryAttributeOfEveryOperatorHasAnAnswer) {
  for (const ir::OpDef* op : ir::all_ops()) {
    for (const ir::Shape& shape : {ir::Shape{}, ir::Shape{4}, ir::Shape{1, 4, 6, 6}}) {
      ir::Graph graph;
      const ir::NodeId node = add_bare_node(*op, shape, graph);
      for (const ir::AttrDef& attr : op->attrs) {
        const auto value = attribute_or_default(graph, node, attr.name);
        if (attr.default_value()) {
          ASSERT_TRUE(value) << op->name << "." << attr.name;
          EXPECT_EQ(value->index(), attr.default_value()->index()) << op->name << "." << attr.name;
        }
      }
    }
  }
}

TEST(AttributeValue, PadsOfOperatorsWithoutAutoPad) {
  for (const char* name : {"DeformConv", "MaxUnpool", "Col2Im"}) {
    ir::Graph graph;
    const ir::NodeId node = add_bare_node(*ir::find_op(name), {1, 4, 6, 6}, graph);
    const auto pads = attribute_or_default(graph, node, "pads");
    if (pads) {
      EXPECT_EQ(std::get<runtime::Ints>(*pads), (runtime::Ints{0, 0, 0, 0})) << name;
    }
  }
}

}  // namespace
}  // namespace collage::match
