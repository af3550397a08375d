// SPDX-License-Identifier: Apache-2.0
// Calls as a package could have them: those with which a kernel would leave its operands are refused.
#include "runtime/kernels/check_call.h"

#include <gtest/gtest.h>

#include <deque>
#include <utility>
#include <vector>

namespace collage::runtime {
namespace {

struct CallParts {
  std::deque<Shape> shapes;
  std::vector<CallOperand> inputs, outputs;

  CallOperand of(Shape shape, DType dtype = DType::F32) {
    shapes.push_back(std::move(shape));
    return {dtype, &shapes.back()};
  }
};

bool is_fitting(std::string_view op, std::vector<Shape> inputs, Shape output, const AttrMap& attrs = {},
                DType result = DType::F32) {
  CallParts made;
  for (Shape& shape : inputs) made.inputs.push_back(made.of(std::move(shape)));
  made.outputs.push_back(made.of(std::move(output), result));
  return check_call(op, attrs, made.inputs, made.outputs).is_ok();
}

AttrMap padded_by(Ints values) {
  AttrMap attrs;
  attrs.set("pads", std::move(values));
  return attrs;
}

TEST(CheckCall, WindowsGiveTheShapesOfTheirResults) {
  const std::vector<Shape> conv = {{1, 4, 8, 8}, {6, 4, 3, 3}};
  EXPECT_TRUE(is_fitting("Conv", conv, {1, 6, 8, 8}, padded_by({1, 1, 1, 1})));
  EXPECT_FALSE(is_fitting("Conv", conv, {1, 6, 8, 8}, padded_by({1, 7, 1, 1})));
  EXPECT_FALSE(is_fitting("Conv", conv, {1, 6, 8, 8}));
  EXPECT_FALSE(is_fitting("Conv", conv, {1, 5, 6, 6}));
  EXPECT_TRUE(is_fitting("Conv", {{1, 4, 8, 8}, {6, 4, 3, 3}, {6}}, {1, 6, 6, 6}));
  EXPECT_FALSE(is_fitting("Conv", {{1, 4, 8, 8}, {6, 4, 3, 3}, {5}}, {1, 6, 6, 6}));
  EXPECT_FALSE(is_fitting("Conv", {{1, 4, 8, 8}, {6, 3, 3, 3}}, {1, 6, 6, 6}));
  EXPECT_FALSE(is_fitting("Conv", {{1, 4, 8, 8}}, {1, 6, 6, 6}));
  EXPECT_FALSE(is_fitting("Conv", {{4}, {6}}, {6}));
  AttrMap groups;
  groups.set("group", int64_t{0});
  EXPECT_FALSE(is_fitting("Conv", conv, {1, 6, 6, 6}, groups));
  EXPECT_TRUE(is_fitting("ConvTranspose", {{1, 4, 3, 3}, {4, 6, 2, 2}}, {1, 6, 4, 4}));
  EXPECT_FALSE(is_fitting("ConvTranspose", {{1, 4, 3, 3}, {4, 6, 2, 2}}, {1, 6, 3, 3}));
  AttrMap pool;
  pool.set("kernel_shape", Ints{2, 2});
  EXPECT_TRUE(is_fitting("MaxPool", {{1, 4, 8, 8}}, {1, 4, 7, 7}, pool));
  EXPECT_FALSE(is_fitting("MaxPool", {{1, 4, 8, 8}}, {1, 4, 6, 7}, pool));
  EXPECT_FALSE(is_fitting("MaxPool", {{1, 4, 8, 8}}, {1, 4, 7, 7}));
}

TEST(CheckCall, ElementsHaveOperands) {
  EXPECT_TRUE(is_fitting("Add", {{2, 3}, {3}}, {2, 3}));
  EXPECT_FALSE(is_fitting("Add", {{2, 3}, {3}}, {2, 2}));
  EXPECT_FALSE(is_fitting("Add", {{2, 3}, {4, 2, 3}}, {2, 3}));
  EXPECT_FALSE(is_fitting("Add", {{2, 3}}, {2, 3}));
  EXPECT_FALSE(is_fitting("Relu", {{2, 3}}, {2, 3}, {}, DType::U8));
  EXPECT_TRUE(is_fitting("Less", {{2, 3}, {}}, {2, 3}, {}, DType::Bool));
  EXPECT_FALSE(is_fitting("Less", {{2, 3}, {}}, {2, 3}));
  EXPECT_TRUE(is_fitting("Softmax", {{2, 3}}, {2, 3}));
  EXPECT_FALSE(is_fitting("Softmax", {{2, 3}}, {3, 3}));
  EXPECT_TRUE(is_fitting("Flatten", {{2, 3, 4}}, {2, 12}));
  EXPECT_FALSE(is_fitting("Flatten", {{2, 3, 4}}, {2, 13}));
  EXPECT_FALSE(check_call("Relu", {}, {}, {}).is_ok());
  EXPECT_TRUE(is_fitting("Gather", {{2}}, {3})) << "no row: not examined";
}

/// Operands and results by shape and dtype.
bool fits(std::string_view op, const std::vector<std::pair<Shape, DType>>& inputs,
          const std::pair<Shape, DType>& output) {
  CallParts made;
  for (const auto& [shape, dtype] : inputs) made.inputs.push_back(made.of(shape, dtype));
  made.outputs.push_back(made.of(output.first, output.second));
  return check_call(op, {}, made.inputs, made.outputs).is_ok();
}

TEST(CheckCall, ResultsHaveTheDtypeThatIsWritten) {
  EXPECT_TRUE(fits("Pow", {{{2, 3}, DType::F64}, {{}, DType::I32}}, {{2, 3}, DType::F64}));
  EXPECT_FALSE(fits("Pow", {{{2, 3}, DType::F64}, {{}, DType::I32}}, {{2, 3}, DType::F32}));
  EXPECT_TRUE(fits("Cast", {{{2, 3}, DType::F64}}, {{2, 3}, DType::U8}));
  EXPECT_FALSE(fits("Cast", {{{1}, DType::F64}}, {{2, 3}, DType::U8}));
}

TEST(CheckCall, SingleNumbersAreOne) {
  EXPECT_TRUE(fits("Clip", {{{2}, DType::F32}, {{1, 1}, DType::F32}}, {{2}, DType::F32}));
  EXPECT_FALSE(fits("Clip", {{{0}, DType::F32}, {{0}, DType::F32}}, {{0}, DType::F32}));
  EXPECT_FALSE(fits("Clip", {{{2}, DType::F32}, {{}, DType::I8}}, {{2}, DType::F32}));
  EXPECT_TRUE(fits("CumSum", {{{2}, DType::F32}, {{}, DType::I64}}, {{2}, DType::F32}));
  EXPECT_FALSE(fits("CumSum", {{{2}, DType::F32}, {{0}, DType::I64}}, {{2}, DType::F32}));
  EXPECT_FALSE(fits("Trilu", {{{2, 2}, DType::F32}, {{0}, DType::I64}}, {{2, 2}, DType::F32}));
}

TEST(CheckCall, NoneOfManyOperandsIsAbsent) {
  CallParts made;
  made.inputs = {made.of({2}), {}};
  made.outputs = {made.of({2})};
  EXPECT_FALSE(check_call("Max", {}, made.inputs, made.outputs).is_ok());
  made.inputs.pop_back();
  EXPECT_TRUE(check_call("Max", {}, made.inputs, made.outputs).is_ok());
}

TEST(CheckCall, ConvolutionsOfIntegersHaveTheirZeroPoints) {
  const std::pair<Shape, DType> x = {{1, 2, 4, 4}, DType::U8}, w = {{3, 2, 2, 2}, DType::I8};
  const std::pair<Shape, DType> y = {{1, 3, 3, 3}, DType::I32};
  EXPECT_TRUE(fits("ConvInteger", {x, w}, y));
  EXPECT_TRUE(fits("ConvInteger", {x, w, {{}, DType::U8}, {{3}, DType::I8}}, y));
  EXPECT_TRUE(fits("ConvInteger", {x, w, {{1}, DType::U8}, {{1}, DType::I8}}, y));
  EXPECT_FALSE(fits("ConvInteger", {x, w, {{2}, DType::U8}}, y));
  EXPECT_FALSE(fits("ConvInteger", {x, w, {{0}, DType::U8}}, y));
  EXPECT_FALSE(fits("ConvInteger", {x, w, {{}, DType::U8}, {{4}, DType::I8}}, y));
  EXPECT_FALSE(fits("ConvInteger", {x, w, {{}, DType::U8}, {{3}, DType::U8}}, y));
  const auto of = [](const std::pair<Shape, DType>& one, DType dtype) { return std::pair(one.first, dtype); };
  EXPECT_FALSE(fits("ConvInteger", {of(x, DType::I16), of(w, DType::I16)}, of(y, DType::I16)));
  EXPECT_FALSE(fits("Conv", {x, w}, y));
}

}  // namespace
}  // namespace collage::runtime
