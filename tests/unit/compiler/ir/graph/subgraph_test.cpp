// SPDX-License-Identifier: Apache-2.0
// A part of a graph as a graph of its own: what becomes an input, a constant, a name.
#include "compiler/ir/graph/subgraph.h"

#include <gtest/gtest.h>

#include "tests/unit/compiler/sema/fixture.h"

namespace collage::testing {
namespace {

class Subgraphs : public ::testing::Test {
 protected:
  const ir::Graph& graph() const { return loaded_.model->graph; }
  ir::ValueId value(const std::string& name) const { return graph().find_value(name); }
  /// The text of the nodes that make these values, with the last one as the output.
  std::string cut(const std::vector<std::string>& names, const ir::SubgraphOptions& how = {}) const {
    std::vector<ir::NodeId> nodes;
    for (const std::string& name : names) nodes.push_back(graph().value(value(name)).producer);
    ir::Subgraph part = ir::make_subgraph(graph(), nodes, how);
    part.graph.name = "part";
    part.graph.mark_output(part.copies.at(value(names.back())));
    return ir::print(part.graph);
  }

  Loaded loaded_ = load(
      "model @m(%x: f32[4], %z: f32[4]) -> (%d: f32[4]) {\n"
      "  %k = const dense f32[4] [1.0, 2.0, 3.0, 4.0]\n"
      "  %a = Relu(%x) on npu\n"
      "  %b = Add(%a, %k)\n"
      "  %c = Mul(%b, %a)\n"
      "  %d = Sub(%c, %z)\n"
      "}\n");
};

TEST_F(Subgraphs, WhatNoNodeMakesIsAnInputAndConstantsStay) {
  ASSERT_TRUE(loaded_.model.has_value()) << loaded_.errors;
  EXPECT_EQ(cut({"b", "c"}),
            "model @part(%a: f32[4]) -> (%c: f32[4]) {\n"
            "  %k = const dense f32[4] [1.0, 2.0, 3.0, 4.0]\n"
            "  %b = Add(%a, %k) : f32[4]\n"
            "  %c = Mul(%b, %a) : f32[4]\n"
            "}\n");
}

TEST_F(Subgraphs, GivenInputsComeFirstConstantsToo) {
  ASSERT_TRUE(loaded_.model.has_value()) << loaded_.errors;
  EXPECT_EQ(cut({"b", "c"}, {.inputs = {value("k")}}),
            "model @part(%k: f32[4], %a: f32[4]) -> (%c: f32[4]) {\n"
            "  %b = Add(%a, %k) : f32[4]\n"
            "  %c = Mul(%b, %a) : f32[4]\n"
            "}\n");
}

TEST_F(Subgraphs, NamesAreAskedOnceInOrderOfOccurrenceAndPinsDoNotStay) {
  ASSERT_TRUE(loaded_.model.has_value()) << loaded_.errors;
  std::string asked;
  ir::SubgraphOptions how;
  how.name = [&](ir::ValueId id) {
    asked += graph().value(id).name;
    return "v" + std::to_string(asked.size());
  };
  EXPECT_EQ(cut({"a", "b"}, how),
            "model @part(%v1: f32[4]) -> (%v4: f32[4]) {\n"
            "  %v3 = const dense f32[4] [1.0, 2.0, 3.0, 4.0]\n"
            "  %v2 = Relu(%v1) : f32[4]\n"
            "  %v4 = Add(%v2, %v3) : f32[4]\n"
            "}\n");
  EXPECT_EQ(asked, "xakb");
}

}  // namespace
}  // namespace collage::testing
