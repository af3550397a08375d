// SPDX-License-Identifier: Apache-2.0
// Shape functions of quantised operators: legal nodes, and what inference says about the others.
#include <gtest/gtest.h>

#include "tests/unit/compiler/ir/ops/fixture.h"

namespace collage::ir {
namespace {

TEST(QuantizedOps, QuantizeAndBack) {
  OneNode n;
  ValueId x = n.input({1, 8, 4, 4}), one = n.input({}), list = n.input({8});
  EXPECT_EQ(n.infer("QuantizeLinear", {x, one}), "u8[1, 8, 4, 4]");
  EXPECT_EQ(n.infer("QuantizeLinear", {x, one, n.input({1}, DType::I8)}), "i8[1, 8, 4, 4]");
  EXPECT_EQ(n.infer("QuantizeLinear", {x, list, n.input({8}, DType::I8)}), "i8[1, 8, 4, 4]");
  EXPECT_EQ(n.infer("QuantizeLinear", {n.input({4}), n.input({4})}, {{"axis", integer(0)}}), "u8[4]");
  EXPECT_EQ(n.infer("QuantizeLinear", {n.input({}), one}), "u8[]");
  EXPECT_EQ(n.infer("DequantizeLinear", {n.input({1, 8, 2}, DType::I32), list}), "f32[1, 8, 2]");
  EXPECT_EQ(n.infer("DynamicQuantizeLinear", {x}, {}, 3), "u8[1, 8, 4, 4] f32[] u8[]");
  ValueId codes = n.input({3, 10}, DType::I4), scales = n.input({3, 4}, DType::BF16);
  EXPECT_EQ(n.infer("DequantizeLinear", {codes, scales}, {{"block_size", integer(3)}}), "bf16[3, 10]");
  EXPECT_EQ(n.infer("DequantizeLinear", {codes, scales}, {{"block_size", integer(3)}, {"output_dtype", integer(1)}}),
            "f32[3, 10]");
}

TEST(QuantizedOps, QuantizeErrors) {
  OneNode n;
  ValueId x = n.input({1, 8, 4, 4}), one = n.input({}), list = n.input({8});
  EXPECT_EQ(n.infer("QuantizeLinear", {n.input({2}, DType::F64), one}),
            "TypeMismatch: QuantizeLinear, operand 0 (`%x.3`): operand has dtype f64, needs f32, i32, f16 or bf16");
  EXPECT_EQ(
      n.infer("QuantizeLinear", {x, one, n.input({}, DType::I32)}),
      "TypeMismatch: QuantizeLinear, operand 2 (`%x.4`): operand has dtype i32, needs i8, u8, i16, u16, f8e4m3fn, "
      "f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f4e2m1, i4, u4, i2 or u2");
  EXPECT_EQ(n.infer("QuantizeLinear", {x, list}, {{"axis", integer(2)}}),
            "ShapeMismatch: QuantizeLinear, operand 1 (`%x.2`): operand has shape [8], needs [4]");
  EXPECT_EQ(n.infer("QuantizeLinear", {x, list}, {{"axis", integer(4)}}),
            "BadAttribute: QuantizeLinear: `axis` = 4 is out of range: rank 4 allows -4 to 3");
  EXPECT_EQ(n.infer("QuantizeLinear", {x, list, n.input({}, DType::U8)}),
            "ShapeMismatch: QuantizeLinear, operand 2 (`%x.5`): operand has shape [], needs [8]");
  EXPECT_EQ(
      n.infer("DequantizeLinear", {x, one}),
      "TypeMismatch: DequantizeLinear, operand 0 (`%x`): operand has dtype f32, needs i8, u8, i16, u16, f8e4m3fn, "
      "f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f4e2m1, i4, u4, i2, u2 or i32");
  EXPECT_EQ(n.infer("DequantizeLinear", {n.input({8}, DType::I8), one, n.input({}, DType::U8)}),
            "TypeMismatch: DequantizeLinear, operand 2 (`%x.7`): operand has dtype u8, needs i8");
  EXPECT_EQ(n.infer("DynamicQuantizeLinear", {x}), "WrongArity: `DynamicQuantizeLinear` has 3 results, found 1");
}

TEST(QuantizedOps, Contractions) {
  OneNode n;
  ValueId x = n.input({1, 8, 6, 6}, DType::U8), w = n.input({4, 8, 3, 3}, DType::I8), none;
  ValueId f = n.input({}), u = n.input({}, DType::U8), i = n.input({}, DType::I8);
  ValueId scales = n.input({4}), zeros = n.input({4}, DType::I8), bias = n.input({4}, DType::I32);
  EXPECT_EQ(n.infer("QLinearConv", {x, f, u, w, scales, zeros, f, i, bias}), "i8[1, 4, 4, 4]");
  EXPECT_EQ(n.infer("QLinearConv", {x, f, u, w, f, i, f, u}, {{"strides", ints({2, 2})}}), "u8[1, 4, 2, 2]");
  EXPECT_EQ(n.infer("ConvInteger", {x, w, none, zeros}), "i32[1, 4, 4, 4]");
  ValueId a = n.input({2, 3, 8}, DType::U8), b = n.input({8, 5}, DType::I8);
  EXPECT_EQ(n.infer("MatMulInteger", {a, b}), "i32[2, 3, 5]");
  EXPECT_EQ(n.infer("MatMulInteger", {a, b, n.input({2, 3, 1}, DType::U8), n.input({5}, DType::I8)}), "i32[2, 3, 5]");
  EXPECT_EQ(n.infer("QLinearMatMul", {a, n.input({3}), n.input({3}, DType::U8), b, f, i, f, i}), "i8[2, 3, 5]");
}

TEST(QuantizedOps, ContractionErrors) {
  OneNode n;
  ValueId x = n.input({1, 8, 6, 6}, DType::U8), w = n.input({4, 8, 3, 3}, DType::I8);
  ValueId f = n.input({}), u = n.input({}, DType::U8), i = n.input({}, DType::I8);
  auto conv = [&](std::vector<ValueId> operands) { return n.infer("QLinearConv", std::move(operands)); };
  EXPECT_EQ(conv({x, f, u, w, f, i, f}), "WrongArity: `QLinearConv` takes 8 to 9 operands, found 7");
  EXPECT_EQ(conv({n.input({1, 8, 6, 6}), f, u, w, f, i, f, u}),
            "TypeMismatch: QLinearConv, operand 0 (`%x.5`): operand has dtype f32, needs i8 or u8");
  EXPECT_EQ(conv({x, f, i, w, f, i, f, u}),
            "TypeMismatch: QLinearConv, operand 2 (`%x.4`): operand has dtype i8, needs u8");
  EXPECT_EQ(conv({x, n.input({8}), u, w, f, i, f, u}),
            "ShapeMismatch: QLinearConv, operand 1 (`%x.6`): operand has shape [8], needs a scalar");
  EXPECT_EQ(conv({x, f, u, w, n.input({8}), i, f, u}),
            "ShapeMismatch: QLinearConv, operand 4 (`%x.7`): operand has shape [8], needs [4]");
  EXPECT_EQ(conv({x, f, u, w, f, i, f, u, n.input({4})}),
            "TypeMismatch: QLinearConv, operand 8 (`%x.8`): operand has dtype f32, needs i32");
  EXPECT_EQ(conv({x, f, u, w, f, i, f, u, n.input({5}, DType::I32)}),
            "ShapeMismatch: QLinearConv, operand 8 (`%x.9`): operand has shape [5], needs [4]");
  EXPECT_EQ(
      conv({x, f, u, n.input({4, 7, 3, 3}, DType::I8), f, i, f, u}),
      "ShapeMismatch: QLinearConv, operand 3 (`%x.10`): weights [4, 7, 3, 3] take 7 input channels per group, but "
      "the input has 8 in 1 group");
  ValueId a = n.input({2, 3, 8}, DType::U8), b = n.input({8, 5}, DType::I8);
  EXPECT_EQ(n.infer("MatMulInteger", {a, b, n.input({8}, DType::U8)}),
            "ShapeMismatch: MatMulInteger, operand 2 (`%x.13`): operand has shape [8], needs [3]");
  EXPECT_EQ(n.infer("MatMulInteger", {a, b, n.input({1, 3, 1}, DType::U8)}),
            "ShapeMismatch: MatMulInteger, operand 2 (`%x.14`): operand has shape [1, 3, 1], needs [2, 3, 1]");
  EXPECT_EQ(n.infer("MatMulInteger", {n.input({8}, DType::U8), b, n.input({8}, DType::U8)}),
            "ShapeMismatch: MatMulInteger, operand 2 (`%x.16`): operand has shape [8], needs a scalar");
  EXPECT_EQ(n.infer("QLinearMatMul", {a, f, u, n.input({7, 5}, DType::I8), f, i, f, u}),
            "ShapeMismatch: QLinearMatMul, operand 3 (`%x.17`): inner dimensions differ: 8 and 7");
}

TEST(QuantizedOps, Work) {
  OneNode n;
  ValueId x = n.input({1, 8, 6, 6}, DType::U8), w = n.input({4, 8, 3, 3}, DType::I8);
  ValueId f = n.input({}), u = n.input({}, DType::U8), i = n.input({}, DType::I8);
  auto types = [&](const std::vector<ValueId>& ids) {
    std::vector<TensorType> result;
    for (ValueId id : ids) result.push_back(n.graph.value(id).type);
    return result;
  };
  std::vector<TensorType> inputs = types({x, f, u, w, f, i, f, u});
  std::vector<TensorType> outputs = {{DType::U8, {1, 4, 4, 4}}};
  const AttrMap none;
  const OpDef &conv = *find_op("QLinearConv"), &product = *find_op("MatMulInteger");
  Work work = conv.work({inputs, outputs, AttrView(conv, none)});
  EXPECT_EQ(work.macs, 64 * 8 * 9);
  EXPECT_EQ(work.flops, 2 * 64 * 8 * 9 + 3 * 64);
  inputs = types({n.input({2, 3, 8}, DType::U8), n.input({8, 5}, DType::I8)});
  outputs = {{DType::I32, {2, 3, 5}}};
  EXPECT_EQ(product.work({inputs, outputs, AttrView(product, none)}).macs, 2 * 3 * 5 * 8);
}

}  // namespace
}  // namespace collage::ir
