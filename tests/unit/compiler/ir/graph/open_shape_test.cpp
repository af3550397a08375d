// SPDX-License-Identifier: Apache-2.0
// Open dimensions: one size wherever a name stands, and a message where there is none.
#include "compiler/ir/graph/open_shape.h"

#include <gtest/gtest.h>

namespace collage::ir {
namespace {

class OpenShapes : public ::testing::Test {
 protected:
  std::optional<ClosedShapes> close(const std::vector<ShapeBinding>& bindings) {
    return close_shapes(inputs_, bindings, "m.onnx", diags_);
  }
  static ShapeBinding given(const std::string& name, const std::string& sizes) {
    return {name, *parse_sizes(sizes), "--shape " + name};
  }
  static ShapeBinding tensor(const std::string& name, const std::string& sizes, bool leaves_first = false) {
    return {name, *parse_sizes(sizes), "--input " + name, true, leaves_first};
  }
  bool says(const std::string& text) const { return diags_.render().find(text) != std::string::npos; }

  std::vector<OpenInput> inputs_{{"ids", std::vector<OpenDim>{{-1, "batch"}, {-1, "seq"}}},
                                 {"mask", std::vector<OpenDim>{{-1, "batch"}, {1}, {-1, "seq"}}}};
  support::SourceManager sources_;
  support::Diagnostics diags_{sources_};
};

TEST_F(OpenShapes, ANameHasOneSizeEverywhere) {
  auto closed = close({given("batch", "2"), given("seq", "17")});
  ASSERT_TRUE(closed) << diags_.render();
  EXPECT_EQ(closed->inputs["ids"], (Shape{2, 17}));
  EXPECT_EQ(closed->inputs["mask"], (Shape{2, 1, 17}));
  EXPECT_EQ(closed->names["seq"], 17);
  EXPECT_TRUE(diags_.records().empty());
}

TEST_F(OpenShapes, AShapeOfOneInputFixesTheOthers) {
  auto closed = close({given("ids", "2x5")});
  ASSERT_TRUE(closed) << diags_.render();
  EXPECT_EQ(closed->inputs["mask"], (Shape{2, 1, 5}));
}

TEST_F(OpenShapes, TensorsFixWhatIsOpen) {
  auto closed = close({tensor("mask", "3x1x7")});
  ASSERT_TRUE(closed) << diags_.render();
  EXPECT_EQ(closed->inputs["ids"], (Shape{3, 7}));
}

TEST_F(OpenShapes, ATensorOfAnotherRankFixesNothing) {
  EXPECT_FALSE(close({tensor("ids", "7")}));
  EXPECT_TRUE(says("the shape 7 was given, but it has 2 dimensions")) << diags_.render();
  EXPECT_FALSE(close({tensor("mask", "3x7")}));
  EXPECT_TRUE(says("the shape 3x7 was given, but it has 3 dimensions")) << diags_.render();
}

TEST_F(OpenShapes, ABatchThatIsRunOneByOneBindsNothing) {
  auto closed = close({tensor("mask", "3x1x7", true)});
  ASSERT_TRUE(closed) << diags_.render();
  EXPECT_EQ(closed->inputs["ids"], (Shape{1, 7}));
  EXPECT_TRUE(says("dimension 0 (`batch`) is open: taken as 1"));
}

TEST_F(OpenShapes, ABatchWithoutANameIsTakenAsOne) {
  inputs_ = {{"x", std::vector<OpenDim>{{-1}, {4}}}};
  auto closed = close({});
  ASSERT_TRUE(closed) << diags_.render();
  EXPECT_EQ(closed->inputs["x"], (Shape{1, 4}));
  EXPECT_TRUE(says("input 'x': warning: dimension 0 is open: taken as 1")) << diags_.render();
}

TEST_F(OpenShapes, ContradictionsNameBothSides) {
  EXPECT_FALSE(close({tensor("ids", "1x17"), tensor("mask", "1x1x18")}));
  EXPECT_TRUE(says("--input mask: error: gives dimension `seq` 18, but it is 17")) << diags_.render();
  EXPECT_TRUE(says("--input ids says so")) << diags_.render();
}

TEST_F(OpenShapes, TensorsLieWithinARange) {
  auto closed = close({tensor("ids", "1x17"), given("seq", "1..512")});
  ASSERT_TRUE(closed) << diags_.render();
  EXPECT_EQ(closed->inputs["ids"], (Shape{1, 17}));
  EXPECT_FALSE(close({tensor("ids", "1x600"), given("seq", "1..512")}));
  EXPECT_TRUE(says("gives dimension `seq` 600, which is not within 1..512")) << diags_.render();
}

TEST_F(OpenShapes, ARangeAloneGivesTheLargest) {
  auto closed = close({given("seq", "1..512"), given("batch", "1")});
  ASSERT_TRUE(closed) << diags_.render();
  EXPECT_EQ(closed->inputs["ids"], (Shape{1, 512}));
  EXPECT_TRUE(says("is 1..512: compiled for 512")) << diags_.render();
}

TEST_F(OpenShapes, WhatNothingFixesIsAnErrorWithAHint) {
  EXPECT_FALSE(close({}));
  EXPECT_TRUE(says("dimension 1 (`seq`) is open, so its size must be given")) << diags_.render();
  EXPECT_TRUE(says("`--shape seq=N` fixes it")) << diags_.render();
}

TEST_F(OpenShapes, AllOpenDimensionsAreInOneMessage) {
  inputs_ = {{"x", std::vector<OpenDim>{{-1, "batch"}, {3}, {-1, "h"}, {-1, "w"}}},
             {"y", std::vector<OpenDim>{{-1, "h"}, {-1}, {7}, {-1}}}};
  EXPECT_FALSE(close({}));
  EXPECT_EQ(diags_.error_count(), 1U);
  EXPECT_TRUE(says("`w`, dimension 1 of `y`, dimension 3 of `y` are open, so their sizes must be given"))
      << diags_.render();
  EXPECT_TRUE(says("`--shape w=N,y=1xNx7xN` fixes them")) << diags_.render();
}

TEST_F(OpenShapes, ADimensionWithoutANameIsFixedByItsInput) {
  inputs_ = {{"x", std::vector<OpenDim>{{2}, {-1}}}};
  EXPECT_FALSE(close({}));
  EXPECT_TRUE(says("input 'x': error: dimension 1 is open, so its size must be given")) << diags_.render();
  EXPECT_TRUE(says("`--shape x=2xN` fixes it")) << diags_.render();
}

TEST_F(OpenShapes, AShapeForNoInputListsTheInputs) {
  EXPECT_FALSE(close({given("width", "17")}));
  EXPECT_TRUE(says("inputs: ids[batch, seq], mask[batch, 1, seq]\n")) << diags_.render();
  inputs_ = {{"x", std::vector<OpenDim>{{1}, {3}}}};
  EXPECT_FALSE(close({given("batch", "2")}));
  EXPECT_TRUE(says("inputs: x[1, 3]; no dimension is open")) << diags_.render();
}

TEST_F(OpenShapes, UnknownNamesAreErrors) {
  EXPECT_FALSE(close({given("sequence", "17"), given("seq", "17")}));
  EXPECT_TRUE(says("a shape was given for `sequence`, which is not an input or a dimension")) << diags_.render();
  EXPECT_FALSE(close({given("seq", "1x17")}));
  EXPECT_TRUE(says("`seq` is one dimension, 2 sizes were given")) << diags_.render();
}

TEST_F(OpenShapes, AShapeThatIsNotKnownIsTaken) {
  inputs_ = {{"x", std::nullopt}};
  EXPECT_FALSE(close({}));
  EXPECT_TRUE(says("the shape of `x` is not stated, so it must be given")) << diags_.render();
  auto closed = close({tensor("x", "2x3")});
  ASSERT_TRUE(closed) << diags_.render();
  EXPECT_EQ(closed->inputs["x"], (Shape{2, 3}));
}

TEST(Sizes, AreReadAndPrinted) {
  for (const char* text : {"1x3x224x224", "8", "1..512", "1x1..512"}) {
    auto sizes = parse_sizes(text);
    ASSERT_TRUE(sizes) << text;
    EXPECT_EQ(to_string(*sizes), text);
  }
  EXPECT_TRUE(parse_sizes("")->empty());
  for (const char* text : {"a", "1x", "1xx2", "-1", "5..1", "1..", "..3", "1...3", "99999999999999999999"}) {
    EXPECT_FALSE(parse_sizes(text)) << text;
  }
}

}  // namespace
}  // namespace collage::ir
