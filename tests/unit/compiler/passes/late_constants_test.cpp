// SPDX-License-Identifier: Apache-2.0
// Passes on constants whose elements are not made: they compare, look at and leave alone what they need not make.
#include "runtime/core/filled.h"
#include "tests/unit/compiler/passes/pass_fixture.h"

namespace collage::passes {
namespace {

using ir::DType;
using ir::Tensor;
using ir::ValueId;

struct LateConstants : PassFixture {
  ValueId late(Tensor data) {
    ir::Constant constant;
    constant.form = ir::Constant::Form::Random;
    constant.data = std::move(data);
    return graph_.add_constant(graph_.unique_name("w"), std::move(constant));
  }
  ValueId late_random(const ir::Shape& shape, uint64_t seed) {
    return late(runtime::late_random_tensor(DType::F32, shape, seed));
  }
  ValueId late_splat(const ir::Shape& shape, float element) {
    return late(runtime::late_filled_tensor(DType::F32, shape, std::as_bytes(std::span(&element, 1))));
  }
  size_t made() const {
    size_t count = 0;
    for (ValueId id : graph_.value_ids()) {
      const ir::Value& value = graph_.value(id);
      // Numbers and shapes that a test writes are small.
      if (value.is_constant() && value.constant->data.count() > 1000 && value.constant->data.is_made()) ++count;
    }
    return count;
  }
};

/// 4 GB each: more than the machine would make in the time of a test.
const ir::Shape kLarge = {32'000, 32'000};

TEST_F(LateConstants, EqualOnesAreMergedUnmade) {
  const ValueId x = input({2, 32'000});
  output(node("MatMul", {x, late_random(kLarge, 1)}));
  output(node("MatMul", {x, late_random(kLarge, 1)}));
  output(node("MatMul", {x, late_random(kLarge, 2)}));
  EXPECT_TRUE(merge_equal(graph_, context_));
  EXPECT_EQ(graph_.node(ir::NodeId(0)).inputs[1], graph_.node(ir::NodeId(1)).inputs[1]);
  EXPECT_NE(graph_.node(ir::NodeId(0)).inputs[1], graph_.node(ir::NodeId(2)).inputs[1]);
  EXPECT_EQ(made(), 0U);
}

TEST_F(LateConstants, NeutralOperandsAreFoundUnmade) {
  const ValueId x = input({300, 400}), y = node("Relu", {x});
  output(node("Relu", {node("Mul", {y, late_splat({300, 400}, 1)})}));
  output(node("Relu", {node("Mul", {y, late_random({300, 400}, 3)})}));
  EXPECT_TRUE(remove_no_ops(graph_, context_));
  EXPECT_EQ(ops(), "Relu Relu Mul Relu");
  EXPECT_EQ(made(), 0U);
}

TEST_F(LateConstants, OfMoreThanAMemoryHoldsLittleIsFolded) {
  const ValueId x = input({2, 32'000});
  for (uint64_t seed = 1; seed <= 3; ++seed) output(node("MatMul", {x, transpose(late_random(kLarge, seed), {1, 0})}));
  EXPECT_FALSE(fold_constants(graph_, context_));
  EXPECT_EQ(made(), 0U);
  // Small ones are: a mask beside such weights.
  output(node("Add", {input({300, 400}), node("Neg", {late_splat({300, 400}, 2)})}));
  EXPECT_TRUE(fold_constants(graph_, context_));
}

TEST_F(LateConstants, OfUsualModelsTheyAreFoldedAsOthersAre) {
  const ValueId x = input({2, 400});
  output(node("MatMul", {x, transpose(late_random({300, 400}, 1), {1, 0})}));
  EXPECT_TRUE(apply(fold_constants));
  EXPECT_EQ(ops(), "MatMul");
}

}  // namespace
}  // namespace collage::passes
