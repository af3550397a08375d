// SPDX-License-Identifier: Apache-2.0
// Names that a graph has not yet.
#include "compiler/ir/graph/graph.h"

#include <gtest/gtest.h>

namespace collage::ir {
namespace {

Graph with_inputs(const std::vector<std::string>& names) {
  Graph graph;
  for (const std::string& name : names) graph.add_input(name, {DType::F32, {1}});
  return graph;
}

TEST(Graph, AUniqueNameIsTheFirstThatIsFree) {
  const Graph graph = with_inputs({"a", "a.1", "b"});
  EXPECT_EQ(graph.unique_name("c"), "c");
  EXPECT_EQ(graph.unique_name("b"), "b.1");
  EXPECT_EQ(graph.unique_name("a"), "a.2");
}

TEST(Graph, AUniqueNameIsFreeInTheGraphBesideToo) {
  const Graph graph = with_inputs({"a"});
  const Graph beside = with_inputs({"a.1", "c"});
  EXPECT_EQ(graph.unique_name("a", &beside), "a.2");
  EXPECT_EQ(graph.unique_name("c", &beside), "c.1");
  EXPECT_EQ(beside.unique_name("a"), "a");
}

}  // namespace
}  // namespace collage::ir
