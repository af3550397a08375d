// SPDX-License-Identifier: Apache-2.0
// Operators whose form opsets after 17 changed, or that become another operator.
#include "tests/unit/compiler/import/import_test.h"

namespace collage::import {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

class LaterTest : public ImportTest {
 protected:
  void integers(const std::string& name, const Shape& shape, const Ints& values) {
    TensorProto& tensor = initializer(name, shape, TensorProto::INT64);
    for (int64_t value : values) tensor.add_int64_data(value);
  }
  /// The graph, whose last node has the operator `op`.
  ir::Graph imported_as(const std::string& op) {
    std::optional<ir::Graph> imported = import_model();
    EXPECT_TRUE(imported) << messages();
    if (!imported) return {};
    EXPECT_EQ(imported->node(imported->node_ids().back()).op->name, op);
    return std::move(*imported);
  }
};

TEST_F(LaterTest, CenterCropPadIsAPad) {
  set_opset(18);
  input("x", {3, 4});
  integers("extents", {2}, {4, 1});
  attr(node("CenterCropPad", {"x", "extents"}, {"y"}), "axes", Ints{0, -1});
  output("y");
  // One row is added at the end; of four columns the second stays.
  EXPECT_EQ(run(imported_as("Pad")), (Floats{2, 6, 10, 0}));
}

TEST_F(LaterTest, ReductionsOverNoAxisComputeTheRest) {
  set_opset(18);
  input("x", {2});
  attr(node("ReduceSumSquare", {"x"}, {"y"}), "noop_with_empty_axes", int64_t{1});
  output("y");
  EXPECT_EQ(run(imported_as("Mul")), (Floats{1, 4}));
  graph().mutable_node(0)->set_op_type("ReduceL2");
  EXPECT_EQ(run(imported_as("Abs")), (Floats{1, 2}));
  graph().mutable_node(0)->set_op_type("ReduceLogSum");
  EXPECT_EQ(run(imported_as("Log"))[0], 0);
  graph().mutable_node(0)->set_op_type("ReduceProd");
  EXPECT_EQ(run(imported_as("Identity")), (Floats{1, 2}));
}

TEST_F(LaterTest, TheAxisOfDftIsAnAttributeAgain) {
  set_opset(20);
  input("x", {2, 3, 1});
  integers("axis", {}, {0});
  node("DFT", {"x", "", "axis"}, {"y"});
  output("y");
  // Sums and differences of rows 1 2 3 and 4 5 6.
  EXPECT_EQ(run(imported_as("DFT")), (Floats{5, 0, 7, 0, 9, 0, -3, 0, -3, 0, -3, 0}));
  // Without the operand, the axis before the parts.
  graph().mutable_node(0)->clear_input();
  graph().mutable_node(0)->add_input("x");
  ir::Graph last = imported_as("DFT");
  EXPECT_EQ(last.node(last.node_ids().back()).attrs.get_int("axis", 9), -2);
}

TEST_F(LaterTest, ModesOfGridSampleHaveTheirOldNames) {
  set_opset(20);
  input("x", {1, 1, 2, 2});
  input("g", {1, 1, 1, 2});
  attr(node("GridSample", {"x", "g"}, {"y"}), "mode", std::string("cubic"));
  output("y");
  ir::Graph graph = imported_as("GridSample");
  EXPECT_EQ(graph.node(graph.node_ids().back()).attrs.get_string("mode", ""), "bicubic");
}

TEST_F(LaterTest, RoiAlignBeforeOpset16DoesNotShift) {
  for (int opset : {15, 16}) {
    model_.mutable_graph()->Clear();
    set_opset(opset);
    input("x", {1, 1, 4, 4});
    input("rois", {2, 4});
    integers("pictures", {2}, {0, 0});
    node("RoiAlign", {"x", "rois", "pictures"}, {"y"});
    output("y");
    ir::Graph graph = imported_as("RoiAlign");
    EXPECT_EQ(graph.node(graph.node_ids().back()).attrs.get_string("coordinate_transformation_mode", "half_pixel"),
              opset == 15 ? "output_half_pixel" : "half_pixel");
  }
}

TEST_F(LaterTest, RandomOperatorsHaveSeedsOfTheirOwn) {
  input("x", {2});
  attr(node("RandomNormal", {}, {"a"}), "shape", Ints{2});
  attr(node("RandomNormal", {}, {"b"}), "shape", Ints{2});
  node("Sub", {"a", "b"}, {"d"});
  node("Add", {"d", "x"}, {"y"});
  output("y");
  Floats first = run(imported_as("Add"));
  ASSERT_EQ(first.size(), 2u);
  EXPECT_NE(first[0], 1);
  EXPECT_EQ(run(imported_as("Add")), first);
}

TEST_F(LaterTest, ResizeKeepsTheRatioOfItsAxes) {
  set_opset(19);
  input("x", {1, 3, 6, 2});
  integers("sizes", {2}, {4, 6});
  auto& resize = node("Resize", {"x", "", "", "sizes"}, {"y"});
  attr(resize, "axes", Ints{1, 2});
  attr(resize, "mode", std::string("linear"));
  attr(resize, "keep_aspect_ratio_policy", std::string("not_larger"));
  output("y");
  auto shape = [&] {
    ir::Graph graph = imported_as("Resize");
    return graph.value(graph.outputs()[0]).type.shape;
  };
  EXPECT_EQ(shape(), (Shape{1, 3, 6, 2}));
  graph().mutable_node(0)->mutable_attribute(2)->set_s("not_smaller");
  EXPECT_EQ(shape(), (Shape{1, 4, 8, 2}));
  // 7 / 6 is the least scale: 3.5 rounds up, coordinates follow 7 / 6 and not 4 / 3.
  graph().mutable_initializer(0)->set_int64_data(0, 9);
  graph().mutable_initializer(0)->set_int64_data(1, 7);
  graph().mutable_node(0)->mutable_attribute(2)->set_s("not_larger");
  EXPECT_EQ(shape(), (Shape{1, 4, 7, 2}));
  graph().mutable_node(0)->mutable_attribute(2)->set_s("larger");
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("is one of stretch, not_larger and not_smaller"), std::string::npos) << messages();
}

TEST_F(LaterTest, ResizeKeepsTheRatioBesideARegion) {
  set_opset(19);
  input("x", {1, 3, 6, 2});
  floats("roi", {4}, {0, 0, 1, 1});
  integers("sizes", {2}, {4, 6});
  auto& resize = node("Resize", {"x", "roi", "", "sizes"}, {"y"});
  attr(resize, "axes", Ints{1, 2});
  attr(resize, "mode", std::string("linear"));
  attr(resize, "keep_aspect_ratio_policy", std::string("not_larger"));
  output("y");
  ir::Graph graph = imported_as("Resize");
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.shape, (Shape{1, 3, 6, 2}));
}

/// 7 / 6 is the least scale: 3.5 rows round up to 4, which no scale gives. The region says where they are taken from.
TEST_F(LaterTest, ResizeKeepsTheRatioOfARegion) {
  set_opset(19);
  input("x", {1, 3, 6, 2});
  floats("roi", {4}, {0, 0.25F, 1, 0.75F});
  integers("sizes", {2}, {9, 7});
  auto& resize = node("Resize", {"x", "roi", "", "sizes"}, {"y"});
  attr(resize, "axes", Ints{1, 2});
  attr(resize, "mode", std::string("linear"));
  attr(resize, "coordinate_transformation_mode", std::string("tf_crop_and_resize"));
  attr(resize, "keep_aspect_ratio_policy", std::string("not_larger"));
  output("y");
  ir::Graph graph = imported_as("Resize");
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.shape, (Shape{1, 4, 7, 2}));
}

TEST_F(LaterTest, ResizeScalesARegionOfItsAxes) {
  set_opset(18);
  input("x", {1, 2, 4});
  floats("roi", {2}, {0.25F, 0.75F});
  floats("scales", {1}, {2});
  auto& resize = node("Resize", {"x", "roi", "scales"}, {"y"});
  attr(resize, "axes", Ints{-1});
  attr(resize, "coordinate_transformation_mode", std::string("tf_crop_and_resize"));
  output("y");
  // 4 * 0.5 * 2 elements, at 0.75, 1.25, 1.75 and 2.25.
  EXPECT_EQ(run(imported_as("Resize")), (Floats{2, 2, 3, 3, 6, 6, 7, 7}));
}

TEST_F(LaterTest, SizesAreGivenInOneWay) {
  for (int opset : {13, 19}) {
    model_.clear_graph();
    set_opset(opset);
    input("x", {1, 1, 2, 2});
    floats("scales", {4}, {1, 1, 2, 2});
    integers("sizes", {4}, {1, 1, 4, 4});
    node("Resize", {"x", "", "scales", "sizes"}, {"y"});
    output("y");
    EXPECT_FALSE(import_model());
    EXPECT_NE(messages().find("Resize takes scales or sizes, not both"), std::string::npos) << messages();
  }
  model_.clear_graph();
  input("x", {4});
  integers("sizes", {2}, {1, 3});
  attr(node("Split", {"x", "sizes"}, {"a", "b"}), "num_outputs", int64_t{2});
  output("a");
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("Split takes sizes or `num_outputs`, not both"), std::string::npos) << messages();
}

TEST_F(LaterTest, ExtentsOfAKeptRatioAreBounded) {
  set_opset(19);
  input("x", {1, 1, 1 << 20, 2});
  integers("sizes", {2}, {int64_t{1} << 50, 1});
  auto& resize = node("Resize", {"x", "", "", "sizes"}, {"y"});
  attr(resize, "axes", Ints{1, 2});
  attr(resize, "keep_aspect_ratio_policy", std::string("not_smaller"));
  output("y");
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("of axis 1 is illegal"), std::string::npos) << messages();
}

}  // namespace
}  // namespace collage::import
