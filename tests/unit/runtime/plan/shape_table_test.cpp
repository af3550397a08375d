// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/shape_table.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "runtime/core/rows.h"

namespace collage::runtime {
namespace {

/// x [batch, 3] -> y [batch, 2], z [2 * batch], for batch = 2 and 6.
ShapeTable table_of_batches() {
  ShapeTable table;
  table.inputs = {"x"};
  table.outputs = {"y", "z"};
  table.dimensions = {{"batch", 1, "", {{0, 1}}, {{0, 1}, {0, 2}}}};
  table.variants = {{{2}, {{2, 3}}, {{2, 2}, {4}}}, {{6}, {{6, 3}}, {{6, 2}, {12}}}};
  return table;
}

Tensor counting_floats(const Shape& shape) {
  Tensor tensor(DType::F32, shape);
  float next = 0;
  for (float& element : tensor.as<float>()) element = next++;
  return tensor;
}

std::vector<float> floats_of(const Tensor& tensor) {
  return {tensor.as<float>().begin(), tensor.as<float>().end()};
}

TEST(Rows, RepeatAndKeep) {
  const Tensor x = counting_floats({2, 2, 2});
  EXPECT_EQ(floats_of(with_repeated_rows(x, 1, 3)), (std::vector<float>{0, 1, 2, 3, 2, 3, 4, 5, 6, 7, 6, 7}));
  EXPECT_EQ(floats_of(with_first_rows(x, 1, 1)), (std::vector<float>{0, 1, 4, 5}));
  EXPECT_EQ(with_first_rows(x, 0, 1).shape(), (Shape{1, 2, 2}));
  EXPECT_EQ(with_repeated_rows(counting_floats({1, 0}), 0, 4).shape(), (Shape{4, 0}));
}

TEST(ShapeTable, TakesTheVariantOfTheShape) {
  const Result<ShapeChoice> choice = choose_variant(table_of_batches(), {Shape{6, 3}});
  ASSERT_TRUE(choice) << choice.message();
  EXPECT_EQ(choice->variant, 1u);
  EXPECT_FALSE(choice->padding.is_needed());
  EXPECT_EQ(choice->outputs, (std::vector<Shape>{{6, 2}, {12}}));
}

TEST(ShapeTable, PadsToTheNextLargerOne) {
  for (const auto& [batch, variant] : {std::pair<int64_t, size_t>{1, 0}, {3, 1}, {5, 1}}) {
    const Result<ShapeChoice> choice = choose_variant(table_of_batches(), {Shape{batch, 3}});
    ASSERT_TRUE(choice) << choice.message();
    EXPECT_EQ(choice->variant, variant);
    EXPECT_EQ(choice->inputs, (std::vector<Shape>{{batch, 3}}));
    EXPECT_EQ(choice->outputs, (std::vector<Shape>{{batch, 2}, {2 * batch}}));
    const Shape of_variant = table_of_batches().variants[variant].inputs[0];
    EXPECT_EQ(choice->padding.pad({counting_floats({batch, 3})})[0].shape(), of_variant);
    const std::vector<Tensor> kept =
        choice->padding.keep({counting_floats({of_variant[0], 2}), counting_floats({2 * of_variant[0]})});
    EXPECT_EQ(kept[0].shape(), choice->outputs[0]);
    EXPECT_EQ(kept[1].shape(), choice->outputs[1]);
  }
}

TEST(ShapeTable, RefusesOtherShapesWithThoseThatThereAre) {
  const auto refusal = [](ShapeTable table, const Shape& shape) {
    const Result<ShapeChoice> choice = choose_variant(table, {shape});
    return choice ? "none" : choice.message();
  };
  EXPECT_EQ(refusal(table_of_batches(), {9, 3}), "was not compiled for x [9, 3], but for batch=2; batch=6");
  EXPECT_EQ(refusal(table_of_batches(), {5, 4}), "was not compiled for x [5, 4], but for batch=2; batch=6");
  EXPECT_EQ(refusal(table_of_batches(), {}), "was not compiled for x [], but for batch=2; batch=6");
  EXPECT_EQ(refusal(table_of_batches(), {0, 3}), "was not compiled for x [0, 3], but for batch=2; batch=6");
  ShapeTable table = table_of_batches();
  table.dimensions[0] = {"batch", 0, "node `y` (Softmax) normalises over it"};
  EXPECT_EQ(
      refusal(table, {5, 3}),
      "was not compiled for x [5, 3], but for batch=2; batch=6; batch is not padded: node `y` (Softmax) normalises "
      "over it");
  table = table_of_batches();
  table.dimensions[0].least = 4;
  EXPECT_EQ(refusal(table, {3, 3}), "was not compiled for x [3, 3], but for batch=2; batch=6");
  EXPECT_EQ(choose_variant(table, {Shape{2, 3}, Shape{2, 3}}).message(), "takes 1 inputs, not 2");
}

TEST(ShapeTable, AnyShapeTakesTheFirst) {
  const Result<ShapeChoice> choice = choose_variant(table_of_batches(), {std::nullopt});
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->variant, 0u);
}

/// One of two dimensions is padded: nothing was proved for both together.
TEST(ShapeTable, PadsOneDimensionOfARun) {
  ShapeTable table;
  table.inputs = {"x"};
  table.outputs = {"y"};
  table.dimensions = {{"batch", 1, "", {{0, 1}}, {{0, 1}}}, {"seq", 1, "", {{1, 1}}, {{1, 1}}}};
  for (int64_t batch : {1, 4}) {
    for (int64_t seq : {8, 16}) table.variants.push_back({{batch, seq}, {{batch, seq}}, {{batch, seq}}});
  }
  ASSERT_TRUE(validate(table));
  const Result<ShapeChoice> batch = choose_variant(table, {Shape{3, 8}}), seq = choose_variant(table, {Shape{4, 9}});
  ASSERT_TRUE(batch && seq);
  EXPECT_EQ(batch->variant, 2u);
  EXPECT_EQ(seq->variant, 3u);
  EXPECT_EQ(choose_variant(table, {Shape{3, 9}}).message(),
            "was not compiled for x [3, 9], but for batch=1,seq=8; batch=1,seq=16; batch=4,seq=8; batch=4,seq=16");
}

TEST(ShapeTable, RefusesTablesThatContradictThemselves) {
  ASSERT_TRUE(validate(table_of_batches()));
  const std::pair<const char*, std::function<void(ShapeTable&)>> damages[] = {
      {"has no shape", [](ShapeTable& t) { t.variants.clear(); }},
      {"has a shape twice", [](ShapeTable& t) { t.variants.push_back(t.variants[0]); }},
      {"has a shape with another number of sizes, inputs or outputs",
       [](ShapeTable& t) { t.variants[1].sizes.clear(); }},
      {"has a shape with another number of sizes, inputs or outputs", [](ShapeTable& t) { t.inputs.push_back("z"); }},
      {"has a negative size", [](ShapeTable& t) { t.variants[0].sizes[0] = -2; }},
      {"has a negative size", [](ShapeTable& t) { t.variants[0].outputs[0][1] = -1; }},
      {"has a negative size", [](ShapeTable& t) { t.dimensions[0].least = -1; }},
      {"contradicts itself: a shape has another size than its dimension",
       [](ShapeTable& t) { t.variants[0].sizes[0] = 3; }},
      {"contradicts itself: a shape has another size than its dimension",
       [](ShapeTable& t) { t.dimensions[0].outputs[1].factor = std::numeric_limits<int64_t>::max(); }},
      {"has a dimension outside of a shape", [](ShapeTable& t) { t.dimensions[0].inputs[0].axis = 2; }},
      {"has a dimension outside of a shape", [](ShapeTable& t) { t.dimensions[0].inputs[0].factor = 0; }},
      {"has a dimension with another number of inputs or outputs",
       [](ShapeTable& t) { t.dimensions[0].outputs.pop_back(); }},
      {"has a dimension with another number of inputs or outputs", [](ShapeTable& t) { t.dimensions[0].least = 0; }},
  };
  for (const auto& [what, damage] : damages) {
    ShapeTable table = table_of_batches();
    damage(table);
    EXPECT_EQ(validate(table).message(), std::string("its table of shapes ") + what);
  }
}

}  // namespace
}  // namespace collage::runtime
