// SPDX-License-Identifier: Apache-2.0
// Models beside that of a test: other sizes, other attributes, a constant for each operand.
#include "compiler/lint/models/rebuild.h"

#include <gtest/gtest.h>

#include "compiler/ir/placement/verify.h"
#include "compiler/lint/models/example_models.h"

namespace collage::testing {
namespace {

using runtime::DType;

ir::Graph model(const std::string& text, std::vector<std::pair<std::string, ir::TensorType>> inputs,
                std::vector<std::string> constants) {
  ir::RuleTest test;
  test.model = text;
  test.inputs = std::move(inputs);
  test.constants = std::move(constants);
  std::optional<ir::Graph> graph = lint::graph_of_test(test);
  EXPECT_TRUE(graph) << text;
  return graph ? std::move(*graph) : ir::Graph();
}

TEST(Rebuild, OtherSizes) {
  const ir::Graph graph = model("%y = Relu(%x)", {{"x", {DType::F32, {4}}}}, {});
  std::vector<ir::Shape> shapes;
  for (const ir::Graph& other : lint::with_other_sizes(graph)) {
    ir::verify(other);
    shapes.push_back(other.value(other.inputs()[0]).type.shape);
    EXPECT_EQ(other.value(other.outputs()[0]).type.shape, shapes.back());
  }
  EXPECT_EQ(shapes, (std::vector<ir::Shape>{{3}, {5}}));
}

/// The columns of one operand are the rows of the other: the constant follows.
TEST(Rebuild, OtherSizesOfConstants) {
  const ir::Graph graph =
      model("%y = MatMul(%x, %w)", {{"x", {DType::F32, {2, 4}}}, {"w", {DType::F32, {4, 6}}}}, {"w"});
  bool is_found = false;
  for (const ir::Graph& other : lint::with_other_sizes(graph)) {
    ir::verify(other);
    is_found = is_found || other.value(other.find_value("w")).type.shape == ir::Shape{5, 6};
  }
  EXPECT_TRUE(is_found);
}

TEST(Rebuild, OtherAttributes) {
  const ir::Graph graph =
      model("%y = Conv(%x, %w)", {{"x", {DType::F32, {1, 2, 6, 6}}}, {"w", {DType::F32, {2, 2, 3, 3}}}}, {"w"});
  bool has_pads = false;
  for (const ir::Graph& other : lint::with_other_attributes(graph)) {
    ir::verify(other);
    has_pads = has_pads || other.node(ir::NodeId(size_t{0})).attrs.get_ints("pads") == runtime::Ints{0, 1, 2, 3};
  }
  EXPECT_TRUE(has_pads);
}

TEST(Rebuild, OwnConstants) {
  const ir::Graph graph =
      model("%a = Add(%x, %k) %y = Mul(%a, %k)", {{"x", {DType::F32, {4}}}, {"k", {DType::F32, {4}}}}, {"k"});
  const auto operands = [](const ir::Graph& of) {
    return std::pair(of.node(ir::NodeId(size_t{0})).inputs[1], of.node(ir::NodeId(size_t{1})).inputs[1]);
  };
  ASSERT_EQ(operands(graph).first, operands(graph).second);
  const ir::Graph own = lint::with_own_constants(graph, [](const ir::Graph&) { return true; });
  ir::verify(own);
  EXPECT_NE(operands(own).first, operands(own).second);
  const ir::Graph kept = lint::with_own_constants(graph, [](const ir::Graph&) { return false; });
  EXPECT_EQ(operands(kept).first, operands(kept).second);
}

}  // namespace
}  // namespace collage::testing
