// SPDX-License-Identifier: Apache-2.0
// Passes that only remove and move: what they make is bit for bit what the graph computed before; what they must leave.
#include <limits>
#include <random>

#include "tests/unit/compiler/passes/pass_fixture.h"

namespace collage::passes {
namespace {

using ir::DType;
using ir::ValueId;

constexpr int64_t kI64 = 7, kF64 = 11, kF32 = 1, kBool = 9, kF8E8M0 = 24;  // ONNX's numbers of dtypes

struct MergeEqual : PassFixture {};

TEST_F(MergeEqual, NodesInTheirOrderAndConstants) {
  const ValueId x = input({2, 3}), z = input({2, 3});
  const ValueId a = node("Add", {x, z}), b = node("Add", {z, x});
  const ValueId c = node("Mul", {a, number(2)}), d = node("Mul", {b, number(2)});
  output(node("Sub", {node("Exp", {c}), node("Neg", {d})}));
  EXPECT_TRUE(apply(merge_equal));
  EXPECT_EQ(ops(), "Add Mul Exp Neg Sub");
}

TEST_F(MergeEqual, LargeConstants) {
  const ValueId x = input({64, 64});
  ir::Tensor large = runtime::random_tensor(DType::F32, {64, 64}, 1), other = large.clone();
  other.as<float>()[2000] += 1;
  const ValueId a = node("Add", {x, constant(large)}), b = node("Mul", {a, constant(large.clone())});
  output(node("Sub", {b, constant(other)}));
  EXPECT_TRUE(apply(merge_equal));
  size_t constants = 0;
  for (ValueId id : graph_.value_ids()) constants += graph_.value(id).is_constant();
  EXPECT_EQ(constants, 2u);
}

TEST_F(MergeEqual, NotWhatDiffers) {
  const ValueId x = input({2, 3}), z = input({2, 3});
  const ValueId a = node("Sub", {x, z}), b = node("Sub", {z, x});
  const ValueId c = node("Softmax", {a}), d = node("Softmax", {a}, with({{"axis", int64_t{0}}}));
  const ValueId e = node("Sum", {x, z, b}), f = node("Sum", {b, z, x});  // other roundings
  output(node("Sum", {a, b, c, d, e, f}));
  output(node("Sub", {x, z}));
  EXPECT_FALSE(apply(merge_equal));
}

struct RemoveNoOps : PassFixture {
  /// One node on x, whose result Relu reads.
  void expect(bool goes, const std::string& op, const std::function<std::vector<ValueId>(ValueId)>& operands,
              ir::AttrMap attrs = {}, DType dtype = DType::F32, const ir::Shape& shape = {2, 1, 3}) {
    SCOPED_TRACE(op);
    restart();
    const ValueId x = input(shape, dtype);
    output(node("Concat",
                {node(op, operands(x), std::move(attrs)), node("Concat", {x, x}, with({{"axis", int64_t{0}}}))},
                with({{"axis", int64_t{0}}})));
    EXPECT_EQ(apply(remove_no_ops), goes) << ir::print(graph_);
    EXPECT_EQ(ops(), goes ? "Concat Concat" : ops());
  }
};

TEST_F(RemoveNoOps, WhatEqualsItsOperand) {
  const auto alone = [](ValueId x) { return std::vector<ValueId>{x}; };
  const auto with_ints = [this](const Ints& numbers) {
    return [this, numbers](ValueId x) { return std::vector<ValueId>{x, ints(numbers)}; };
  };
  const auto with_float = [this](float element, const ir::Shape& shape = {}) {
    return [=, this](ValueId x) { return std::vector<ValueId>{x, number(element, shape)}; };
  };
  expect(true, "Mul", with_float(1));
  expect(true, "Mul", with_float(1, {3}));
  expect(true, "Mul", [this](ValueId x) { return std::vector<ValueId>{number(1), x}; });
  expect(false, "Mul", with_float(2));
  expect(true, "Div", with_float(1));
  expect(false, "Div", [this](ValueId x) { return std::vector<ValueId>{number(1), x}; });
  expect(true, "Pow", with_float(1));
  expect(true, "Sub", with_float(0));
  expect(false, "Sub", with_float(-0.0f));
  expect(true, "Add", with_float(-0.0f));
  expect(false, "Add", with_float(0));
  expect(true, "Add", with_ints({0}), {}, DType::I64);
  expect(true, "Mul", with_ints({1, 1, 1}), {}, DType::I64);
  expect(true, "Cast", alone, with({{"to", kF32}}));
  expect(true, "Reshape", with_ints({2, -1, 3}));
  expect(true, "Expand", with_ints({2, 1, 1}));
  expect(true, "Tile", with_ints({1, 1, 1}));
  expect(true, "Transpose", alone, with({{"perm", Ints{0, 1, 2}}}));
  expect(true, "Transpose", alone, with({{"perm", Ints{1, 0, 2}}}), DType::F32, {1, 1, 3});
  expect(false, "Transpose", alone, with({{"perm", Ints{2, 1, 0}}}), DType::F32, {3, 1, 3});
  expect(true, "Pad", with_ints({0, 0, 0, 0, 0, 0}));
  expect(true, "Concat", alone, with({{"axis", int64_t{1}}}));
  expect(true, "Sum", alone);
  expect(true, "Max", alone);
  expect(true, "Clip", alone);
  expect(true, "Clip", [this](ValueId x) {
    return std::vector<ValueId>{x, number(-std::numeric_limits<float>::infinity())};
  });
  expect(false, "Clip", with_float(0));
  expect(true, "Slice", [this](ValueId x) { return std::vector<ValueId>{x, ints({0}), ints({9}), ints({2})}; });
  expect(false, "Slice", [this](ValueId x) {
    return std::vector<ValueId>{x, ints({-1}), ints({-9}), ints({2}), ints({-1})};
  });
  expect(true, "MaxPool", alone, with({{"kernel_shape", Ints{1}}}));
  expect(false, "MaxPool", alone, with({{"kernel_shape", Ints{3}}, {"pads", Ints{1, 1}}}));
}

TEST_F(RemoveNoOps, ResizeByOneOnly) {
  const auto by = [this](std::vector<float> scales) {
    return [=, this](ValueId x) {
      ir::Tensor data(DType::F32, {static_cast<int64_t>(scales.size())});
      std::copy(scales.begin(), scales.end(), data.as<float>().begin());
      return std::vector<ValueId>{x, ValueId(), constant(data)};
    };
  };
  const auto to_sizes = [this](ValueId x) {
    return std::vector<ValueId>{x, number(0, {6}), ValueId(), ints({2, 1, 3})};
  };
  for (const std::string mode : {"nearest", "linear", "cubic"}) {
    for (const std::string from : {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "asymmetric",
                                   "align_corners", "tf_half_pixel_for_nn"}) {
      SCOPED_TRACE(mode + " " + from);
      const ir::AttrMap attrs = with({{"mode", mode}, {"coordinate_transformation_mode", from}});
      expect(true, "Resize", by({1, 1, 1}), attrs);
      expect(true, "Resize", to_sizes, attrs);
      expect(false, "Resize", by({1, 1, 1.25f}), attrs);  // 3.75 is rounded down to 3
    }
  }
  expect(false, "Resize", to_sizes, with({{"coordinate_transformation_mode", std::string("tf_crop_and_resize")}}));
}

TEST_F(RemoveNoOps, CastsThereAndBack) {
  const ValueId x = input({4});
  const ValueId wide = node("Cast", {node("Cast", {x}, with({{"to", kF64}}))}, with({{"to", kF32}}));
  output(node("Exp", {wide}));
  EXPECT_TRUE(apply(remove_no_ops));
  EXPECT_EQ(ops(), "Exp");
}

TEST_F(RemoveNoOps, CastsThroughADtypeWithoutZero) {
  const ValueId there = node("Cast", {input({4}, DType::Bool)}, with({{"to", kF8E8M0}}));
  output(node("Not", {node("Cast", {there}, with({{"to", kBool}}))}));
  EXPECT_FALSE(apply(remove_no_ops));
}

TEST_F(RemoveNoOps, NarrowingCastsPinsAndOutputsOfInputsStay) {
  const ValueId x = input({4});
  const ValueId whole = node("Cast", {node("Cast", {x}, with({{"to", kI64}}))}, with({{"to", kF32}}));
  const ValueId pinned = node("Mul", {whole, number(1)});
  pin(pinned);
  output(node("Exp", {pinned}));
  output(node("Mul", {x, number(1)}));
  EXPECT_FALSE(apply(remove_no_ops));
}

TEST_F(RemoveNoOps, AnOutputGivesItsNameToWhatItEquals) {
  const ValueId x = input({4});
  const ValueId exp = node("Exp", {x});
  output(node("Mul", {exp, number(1)}));
  output(node("Neg", {exp}));
  EXPECT_TRUE(apply(remove_no_ops));
  EXPECT_EQ(ops(), "Exp Neg");
}

struct RemoveExpands : PassFixture {};

TEST_F(RemoveExpands, OfOperandsThatBroadcast) {
  const ValueId x = input({2, 3, 4}), z = input({3, 1});
  const ValueId wide = node("Expand", {node("Expand", {z, ints({3, 4})}), ints({2, 3, 4})});
  const ValueId tiled = node("Tile", {z, ints({1, 4})});
  output(node("Mul", {node("Add", {x, wide}), tiled}));
  EXPECT_TRUE(apply(remove_expands));
  EXPECT_EQ(ops(), "Add Mul");
}

TEST_F(RemoveExpands, NotWhereTheShapeIsNeeded) {
  const ValueId z = input({3, 1}), a = input({3, 1});
  const ValueId wide = node("Expand", {z, ints({3, 4})});
  output(node("Add", {a, wide}));                 // the only one of this shape
  output(node("MatMul", {wide, input({4, 2})}));  // no broadcasting along the columns
  output(node("Tile", {input({3, 2}), ints({1, 2})}));
  EXPECT_FALSE(apply(remove_expands));
}

TEST_F(RemoveExpands, OfEveryPointwiseOperator) {
  const ValueId whole = input({2, 3}, DType::I32), row = input({3}, DType::I32);
  output(node("BitwiseAnd", {whole, node("Expand", {row, ints({2, 3})})}));
  output(node("PRelu", {input({2, 3}), node("Expand", {input({3}), ints({2, 3})})}));
  EXPECT_TRUE(apply(remove_expands));
  EXPECT_EQ(ops(), "BitwiseAnd PRelu");
}

TEST_F(RemoveExpands, NotOfAnOperandWhoseShapeIsThatOfTheResult) {
  output(node("PRelu", {node("Expand", {input({3}), ints({2, 3})}), input({2, 3})}));
  output(node("Clip", {node("Expand", {input({1}), ints({1, 1})}), number(0, {1, 1})}));
  EXPECT_FALSE(apply(remove_expands));
}

TEST_F(RemoveExpands, PastOperandsThatAreLeftOut) {
  output(node("Clip", {node("Exp", {input({2, 3})}), ValueId(), node("Expand", {number(1, {1}), ints({1, 1})})}));
  EXPECT_TRUE(apply(remove_expands));
  EXPECT_EQ(ops(), "Exp Clip");
}

TEST_F(RemoveExpands, ChoicesThatAreMade) {
  ir::Tensor yes(DType::Bool, {2, 3}), no(DType::Bool, {});
  std::fill_n(yes.data(), yes.bytes(), std::byte{1});
  const ValueId x = input({2, 3}), z = input({3});
  const ValueId first = node("Where", {constant(yes), node("Exp", {x}), z});
  output(node("Where", {constant(no), first, z}));
  output(node("Neg", {first}));
  EXPECT_TRUE(apply(remove_expands));
  EXPECT_EQ(ops(), "Exp Expand Neg");
}

struct MergeReshapes : PassFixture {};

TEST_F(MergeReshapes, Chains) {
  const ValueId x = input({2, 3, 4});
  const ValueId flat = node("Unsqueeze", {node("Flatten", {reshape(x, {2, 12})}), ints({0})});
  output(node("Neg", {node("Squeeze", {flat, ints({0})})}));
  output(node("Exp", {reshape(flat, {2, 3, 4})}));
  EXPECT_TRUE(apply(merge_reshapes));
  EXPECT_EQ(ops(), "Reshape Neg Exp");
}

TEST_F(MergeReshapes, CancelAroundPointwiseOperators) {
  const ValueId x = input({2, 3, 4}), z = input({2, 3, 4});
  const ValueId sum = node("Add", {reshape(x, {6, 4}), reshape(z, {6, 4})});
  const ValueId scaled = node("Mul", {number(2), node("Tanh", {sum})});
  output(node("Exp", {reshape(scaled, {2, 3, 4})}));
  EXPECT_TRUE(apply(merge_reshapes));
  EXPECT_EQ(ops(), "Add Tanh Mul Exp");
}

TEST_F(MergeReshapes, CancelAroundOperatorsOnBits) {
  const ValueId x = input({2, 3}, DType::I32);
  output(node("Abs", {reshape(node("BitwiseNot", {reshape(x, {6})}), {2, 3})}));
  EXPECT_TRUE(apply(merge_reshapes));
  EXPECT_EQ(ops(), "BitwiseNot Abs");
}

TEST_F(MergeReshapes, NotPastWhatSeesTheShape) {
  const ValueId x = input({2, 3, 4});
  output(node("Exp", {reshape(node("Softmax", {reshape(x, {6, 4})}), {2, 3, 4})}));
  output(node("Exp", {reshape(node("Add", {reshape(x, {6, 4}), weights({4})}), {2, 3, 4})}));
  const ValueId read_twice = node("Tanh", {reshape(x, {4, 6})});
  output(node("Exp", {reshape(read_twice, {2, 3, 4})}));
  output(node("Neg", {read_twice}));
  EXPECT_FALSE(apply(merge_reshapes));
}

TEST_F(MergeReshapes, EmptyTensors) {
  const ValueId x = input({0, 3, 4});
  output(node("Neg", {node("Flatten", {node("Unsqueeze", {x, ints({0})})})}));
  EXPECT_TRUE(apply(merge_reshapes));
  EXPECT_EQ(ops(), "Reshape Neg");
}

TEST_F(MergeReshapes, NumbersOfAHigherRankMakeTheShape) {
  for (const ir::Shape& shape : {ir::Shape{}, ir::Shape{1}}) {
    restart();
    const ValueId scalar = node("ReduceMax", {input({2, 3})}, with({{"axes", Ints{0, 1}}, {"keepdims", int64_t{0}}}));
    output(node("Exp", {reshape(node("Add", {reshape(scalar, {1, 1}), number(2, shape)}), {})}));
    EXPECT_EQ(apply(merge_reshapes), shape.empty());
    EXPECT_EQ(ops(), shape.empty() ? "ReduceMax Add Exp" : "ReduceMax Reshape Add Reshape Exp");
  }
}

struct MoveTransposes : PassFixture {};

TEST_F(MoveTransposes, Pairs) {
  const ValueId x = input({2, 3, 4, 5});
  output(node("Neg", {transpose(transpose(x, {0, 2, 3, 1}), {0, 3, 1, 2})}));
  output(node("Exp", {transpose(transpose(x, {3, 2, 1, 0}), {1, 0, 2, 3})}));
  EXPECT_TRUE(apply(move_transposes));
  EXPECT_EQ(ops(), "Neg Transpose Exp");
}

TEST_F(MoveTransposes, PastPointwiseOperatorsAndSoftmax) {
  const ValueId x = input({2, 3, 4, 5});
  const ValueId middle = node("Softmax", {node("Mul", {node("Relu", {transpose(x, {0, 2, 3, 1})}), number(3)})});
  output(node("Exp", {transpose(middle, {0, 3, 1, 2})}));
  EXPECT_TRUE(apply(move_transposes));
  EXPECT_EQ(ops(), "Relu Mul Softmax Exp");
}

TEST_F(MoveTransposes, PastSeveralOperands) {
  const ValueId x = input({2, 3, 4}), z = input({2, 3, 4});
  const ValueId sum = node("Add", {transpose(x, {2, 0, 1}), transpose(z, {2, 0, 1})});
  const ValueId more = transpose(input({2, 3, 4}), {2, 0, 1});
  output(node("Concat", {sum, more}, with({{"axis", int64_t{-1}}})));
  EXPECT_TRUE(apply(move_transposes));
  EXPECT_EQ(ops(), "Add Concat Transpose");
}

TEST_F(MoveTransposes, PastASlope) {
  const ValueId x = input({2, 3}), slope = input({2, 3});
  output(node("Exp", {transpose(node("PRelu", {transpose(x, {1, 0}), transpose(slope, {1, 0})}), {1, 0})}));
  EXPECT_TRUE(apply(move_transposes));
  EXPECT_EQ(ops(), "PRelu Exp");
}

TEST_F(MoveTransposes, PastReductions) {
  const ValueId x = input({2, 3, 4, 5});
  output(node("ReduceMean", {transpose(x, {0, 2, 3, 1})}, with({{"axes", Ints{1, 2}}, {"keepdims", int64_t{0}}})));
  output(node("ReduceMax", {transpose(x, {3, 2, 1, 0})}, with({{"axes", Ints{-1}}})));
  output(node("ReduceSum", {transpose(x, {0, 2, 3, 1}), ints({3})}, with({{"keepdims", int64_t{0}}})));
  EXPECT_TRUE(apply(move_transposes, 1e-6));
  EXPECT_EQ(ops(), "ReduceMean ReduceMax Transpose ReduceSum");
}

TEST_F(MoveTransposes, IntoGemm) {
  const ValueId a = input({3, 2}), b = input({4, 3});
  output(node("Gemm", {transpose(a, {1, 0}), transpose(b, {1, 0})}));
  EXPECT_TRUE(apply(move_transposes));
  EXPECT_EQ(ops(), "Gemm");
}

TEST_F(MoveTransposes, NotWhereItRemovesNone) {
  const ValueId x = input({2, 3, 4}), z = input({3, 2, 4});
  const ValueId turned = transpose(x, {0, 2, 1});
  output(node("Relu", {turned}));                                     // one before, one after
  output(transpose(node("Add", {turned, weights({3})}), {0, 2, 1}));  // a row of another order
  output(node("Add", {transpose(x, {2, 0, 1}), transpose(z, {2, 1, 0})}));
  output(node("MatMul", {turned, x}));
  EXPECT_FALSE(apply(move_transposes));
}

/// Random chains of what the passes know: the same results, and fewer movements.
TEST_F(PassFixture, RandomChains) {
  std::mt19937 random(5);
  const auto pick = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  for (int round = 0; round < 150; ++round) {
    SCOPED_TRACE(round);
    restart();
    std::vector<ValueId> values = {input({2, 3, 4}), input({2, 3, 4})};
    for (int step = 0; step < 12; ++step) {
      const ValueId x =
          values[values.size() - 1 - static_cast<size_t>(pick(std::min<int>(3, static_cast<int>(values.size()))))];
      const ir::Shape shape = graph_.value(x).type.shape;
      Ints perm(shape.size());
      for (size_t d = 0; d < perm.size(); ++d) perm[d] = static_cast<int64_t>(d);
      std::shuffle(perm.begin(), perm.end(), random);
      Ints reversed = shape;
      std::shuffle(reversed.begin(), reversed.end(), random);
      ValueId made;
      switch (pick(10)) {
        case 0:
        case 1: made = transpose(x, perm); break;
        case 2: made = reshape(x, reversed); break;
        case 3: made = reshape(x, {2, 3, 4}); break;
        case 4: made = node("Tanh", {x}); break;
        case 5: made = node("Mul", {x, number(static_cast<float>(pick(3)))}); break;
        case 6:
          made = node("Unsqueeze", {node("Squeeze", {node("Unsqueeze", {x, ints({1})}), ints({1})}), ints({0})});
          made = node("Squeeze", {made, ints({0})});
          break;
        case 7: made = node("Softmax", {x}, with({{"axis", static_cast<int64_t>(pick(3))}})); break;
        case 8: {
          ValueId other = values[static_cast<size_t>(pick(static_cast<int>(values.size())))];
          if (graph_.value(other).type.shape != shape) other = reshape(other, shape);
          made = node("Add", {x, other});
          break;
        }
        default: made = node("Expand", {node("ReduceMax", {x}, with({{"axes", Ints{pick(3)}}})), ints(shape)});
      }
      values.push_back(made);
    }
    output(node("Exp", {node("Neg", {values.back()})}));
    output(node("Abs", {values[values.size() / 2]}));
    const std::vector<ir::Tensor> before = run(1);
    const size_t nodes = graph_.node_count();
    auto reports = run_passes(graph_, all_passes(), {}, diags_);
    ASSERT_TRUE(reports) << diags_.render();
    EXPECT_LE(graph_.node_count(), nodes);
    const std::vector<ir::Tensor> after = run(1);
    for (size_t i = 0; i < after.size(); ++i) expect_equal(before[i], after[i], 1e-5);
    for (const Pass& pass : all_passes()) EXPECT_FALSE(pass.run(graph_, context_)) << pass.name;
  }
}

}  // namespace
}  // namespace collage::passes
