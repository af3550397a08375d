// SPDX-License-Identifier: Apache-2.0
// Sequences and optional values become the tensors that they hold.
#include "tests/unit/compiler/import/import_test.h"

namespace collage::import {
namespace {

using Floats = std::vector<float>;

class SequencesTest : public ImportTest {
 protected:
  void integer(const std::string& name, int64_t value) {
    initializer(name, {}, TensorProto::INT64).add_int64_data(value);
  }
  Floats result() {
    std::optional<ir::Graph> imported = import_model();
    EXPECT_TRUE(imported) << messages();
    return imported ? run(*imported) : Floats();
  }
};

TEST_F(SequencesTest, PartsOfASplitAreTakenByPlace) {
  input("x", {5, 2});
  integer("two", 2);
  integer("last", -1);
  node("SplitToSequence", {"x", "two"}, {"s"});
  node("SequenceAt", {"s", "last"}, {"y"});
  output("y");
  EXPECT_EQ(result(), (Floats{9, 10}));
}

TEST_F(SequencesTest, PartsOfOneLoseTheirAxisIfAsked) {
  input("x", {2, 3});
  auto& split = node("SplitToSequence", {"x"}, {"s"});
  attr(split, "axis", int64_t{1});
  attr(split, "keepdims", int64_t{0});
  integer("one", 1);
  node("SequenceAt", {"s", "one"}, {"y"});
  output("y");
  std::optional<ir::Graph> imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(imported->value(imported->outputs()[0]).type.shape, Shape{2});
  EXPECT_EQ(run(*imported), (Floats{2, 5}));
}

TEST_F(SequencesTest, ConstructInsertEraseAndConcat) {
  input("x", {2});
  node("Neg", {"x"}, {"n"});
  node("SequenceConstruct", {"x", "n"}, {"s"});
  integer("zero", 0);
  node("SequenceInsert", {"s", "n", "zero"}, {"three"});  // n x n
  node("SequenceErase", {"three"}, {"two"});              // n x
  node("Identity", {"two"}, {"same"});
  attr(node("ConcatFromSequence", {"same"}, {"y"}), "axis", int64_t{0});
  output("y");
  EXPECT_EQ(result(), (Floats{-1, -2, 1, 2}));
}

/// Two such nodes gave two values of one name.
TEST_F(SequencesTest, NodesWithoutResultsAreNothing) {
  input("x", {4, 3});
  integer("place", 1);
  node("SplitToSequence", {"x"}, {"s"});
  node("SequenceAt", {"s", "place"}, {});
  node("SequenceAt", {"s", "place"}, {""});
  node("Identity", {"x"}, {"y"});
  output("y");
  std::optional<ir::Graph> imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(imported->node_count(), 2u);  // the split is a node, too
}

TEST_F(SequencesTest, StackingAddsAnAxis) {
  input("x", {2});
  node("SequenceEmpty", {}, {"none"});
  node("SequenceInsert", {"none", "x"}, {"one"});
  node("SequenceInsert", {"one", "x"}, {"two"});
  auto& stack = node("ConcatFromSequence", {"two"}, {"y"});
  attr(stack, "axis", int64_t{1});
  attr(stack, "new_axis", int64_t{1});
  output("y");
  EXPECT_EQ(result(), (Floats{1, 1, 2, 2}));
}

TEST_F(SequencesTest, LengthsAndOptionalValuesAreConstants) {
  input("x", {2});
  node("SequenceConstruct", {"x", "x", "x"}, {"s"});
  node("SequenceLength", {"s"}, {"n"});
  node("Optional", {"x"}, {"o"});
  node("OptionalGetElement", {"o"}, {"v"});
  node("OptionalHasElement", {"o"}, {"has"});
  node("Optional", {}, {"e"});
  node("OptionalHasElement", {"e"}, {"has_not"});
  attr(node("Cast", {"n"}, {"count"}), "to", int64_t{1});
  attr(node("Cast", {"has"}, {"yes"}), "to", int64_t{1});
  attr(node("Cast", {"has_not"}, {"no"}), "to", int64_t{1});
  node("Add", {"yes", "no"}, {"one"});
  node("Mul", {"v", "count"}, {"tripled"});
  node("Add", {"tripled", "one"}, {"y"});
  output("y");
  EXPECT_EQ(result(), (Floats{4, 7}));
}

TEST_F(SequencesTest, FaultsAreReported) {
  input("x", {2});
  integer("place", 2);
  node("SequenceConstruct", {"x", "x"}, {"s"});
  node("SequenceAt", {"s", "place"}, {"y"});
  node("Relu", {"s"}, {"z"});
  node("Optional", {}, {"e"});
  node("OptionalGetElement", {"e"}, {"v"});
  for (const char* name : {"y", "z", "v", "s"}) output(name);
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("place 2 of a sequence of 2"), std::string::npos) << messages();
  EXPECT_NE(messages().find("it reads a sequence or an optional value"), std::string::npos) << messages();
  EXPECT_NE(messages().find("`e` has no element"), std::string::npos) << messages();
  EXPECT_NE(messages().find("output 's': error: it is a sequence"), std::string::npos) << messages();
}

TEST_F(SequencesTest, WhatIsNoTensorIsReported) {
  input("x", {2});
  node("SequenceConstruct", {"x", "x"}, {"s"});
  node("SequenceInsert", {"s", "s"}, {"t"});
  node("SequenceLength", {"t"}, {"n"});
  node("SplitToSequence", {"s"}, {"p"});
  node("SequenceLength", {"p"}, {"m"});
  for (const char* name : {"n", "m"}) output(name);
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("what is put into a sequence must be a tensor"), std::string::npos) << messages();
  EXPECT_NE(messages().find("only a tensor can be split"), std::string::npos) << messages();
}

}  // namespace
}  // namespace collage::import
