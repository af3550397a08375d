// SPDX-License-Identifier: Apache-2.0
// CumSum, CumProd and TopK against their reference kernels, bit for bit.
#include "tests/unit/compiler/codegen/harness.h"

namespace collage::codegen_test {
namespace {

class Scan : public IsaTest {
 protected:
  void expect_compiled(Model& model) { IsaTest::expect_compiled(model, 1, 0, -2, 2); }

  /// Few different numbers, so that many are equal; the ends of the dtype, and of floats also NaN.
  static runtime::Tensor few_numbers(Model& model, ir::DType dtype, const Shape& shape) {
    const double infinity = std::numeric_limits<double>::infinity();
    runtime::Tensor data(dtype, shape);
    const bool has_nan = pick(model, 0, 1) == 0;
    const int64_t most = pick(model, 0, 1) == 0 ? 4 : 1000;
    for (int64_t i = 0; i < data.count(); ++i) {
      double number = static_cast<double>(pick(model, -most, most));
      const int64_t kind = pick(model, 0, 19);
      if (kind == 0) number = -0.0;
      if (kind == 1 && runtime::is_float(dtype)) number = pick(model, 0, 1) == 0 ? infinity : -infinity;
      if (kind == 2 && runtime::is_float(dtype) && has_nan) number = std::nan("");
      runtime::set_element(data.view(), i, number);
      const bool is_end = kind == 1, is_low = pick(model, 0, 1) == 0;
      if (is_end && dtype == ir::DType::I32)
        data.as<int32_t>()[static_cast<size_t>(i)] = is_low ? INT32_MIN : INT32_MAX;
      if (is_end && dtype == ir::DType::I64)
        data.as<int64_t>()[static_cast<size_t>(i)] = is_low ? INT64_MIN : INT64_MAX;
    }
    return data;
  }

  void expect_top_k(Model& model, runtime::Tensor data, int64_t k, int64_t axis, int64_t largest) {
    ir::AttrMap attrs;
    attrs.set("axis", axis);
    attrs.set("largest", largest);
    for (ValueId result : model.ops("TopK", {model.input(std::move(data)), model.ints({k})}, attrs, 2)) {
      model.graph.mark_output(result);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Isa, Scan, testing::Values("", "haswell", "x86-64-v2"));

TEST_P(Scan, SumsAndProducts) {
  const std::vector<ir::DType> dtypes = {ir::DType::F32, ir::DType::F64, ir::DType::I32, ir::DType::I64};
  for (unsigned seed = 0; seed < 120; ++seed) {
    Model model(seed);
    model.dtype = dtypes[seed % dtypes.size()];
    const int64_t rank = pick(model, 1, 4);
    Shape shape;
    for (int64_t d = 0; d < rank; ++d) shape.push_back(pick(model, 0, 2) == 0 ? pick(model, 9, 35) : pick(model, 1, 6));
    const int64_t axis = pick(model, -rank, rank - 1);
    ir::AttrMap attrs;
    attrs.set("exclusive", pick(model, 0, 1));
    attrs.set("reverse", pick(model, 0, 1));
    SCOPED_TRACE(testing::Message() << seed << " " << runtime::name_of(model.dtype) << " " << runtime::to_string(shape)
                                    << " axis " << axis);
    const ValueId x = pick(model, 0, 3) == 0 ? model.input(few_numbers(model, model.dtype, shape)) : model.input(shape);
    model.graph.mark_output(model.op(pick(model, 0, 2) == 0 ? "CumProd" : "CumSum", {x, model.ints({axis})}, attrs));
    expect_compiled(model);
  }
}

// Sums of f32 that only f64 holds: 2^24 + 1 + 1.
TEST_P(Scan, SumsOfF32AreRoundedOnce) {
  Model model(1);
  const ValueId x = model.input<float>(ir::DType::F32, {6}, {16777216, 1, 1, 1e-3F, -16777216, 1e30F});
  model.graph.mark_output(model.op("CumSum", {x, model.ints({0})}));
  expect_compiled(model);
}

TEST_P(Scan, SumsWithoutCode) {
  Model axis(2), bytes(3), halves(4);
  axis.graph.mark_output(axis.op("CumSum", {axis.input({3, 4}), axis.input<int64_t>(ir::DType::I64, {1}, {1})}));
  bytes.dtype = ir::DType::U8;
  bytes.graph.mark_output(bytes.op("CumSum", {bytes.input({3, 4}), bytes.ints({1})}));
  halves.dtype = ir::DType::F16;
  halves.graph.mark_output(halves.op("CumSum", {halves.input({3, 4}), halves.ints({1})}));
  for (Model* model : {&axis, &bytes, &halves}) expect_reference(*model);
}

TEST_P(Scan, Greatest) {
  const std::vector<ir::DType> dtypes = {ir::DType::F32, ir::DType::I64,  ir::DType::F64,
                                         ir::DType::F16, ir::DType::BF16, ir::DType::I32};
  for (unsigned seed = 0; seed < 150; ++seed) {
    Model model(seed);
    const ir::DType dtype = dtypes[seed % dtypes.size()];
    const int64_t rank = pick(model, 1, 3);
    Shape shape;
    for (int64_t d = 0; d < rank; ++d) shape.push_back(pick(model, 0, 2) == 0 ? pick(model, 9, 35) : pick(model, 1, 6));
    const int64_t axis = pick(model, 0, rank - 1);
    const auto at = static_cast<size_t>(axis);
    if (pick(model, 0, 3) == 0) shape[at] = pick(model, 60, 300);
    const bool is_last = runtime::element_count(Shape(shape.begin() + axis + 1, shape.end())) == 1;
    const int64_t k = pick(model, 1, std::min<int64_t>(shape[at], is_last ? 64 : 8));
    SCOPED_TRACE(testing::Message() << seed << " " << runtime::name_of(dtype) << " " << runtime::to_string(shape)
                                    << " axis " << axis << " k " << k);
    expect_top_k(model, few_numbers(model, dtype, shape), k, pick(model, 0, 1) == 0 ? axis : axis - rank,
                 pick(model, 0, 1));
    // Lists in registers of the only element of a line compare nothing.
    expect_compiled(model);
  }
}

// Every element comes in, or none; lists of one vector, of several, and of a part of one.
TEST_P(Scan, GreatestOfOrderedLines) {
  enum class Line { Upwards, Downwards, Equal, Lowest, Nan };
  for (Line line : {Line::Upwards, Line::Downwards, Line::Equal, Line::Lowest, Line::Nan}) {
    for (int64_t k : {1, 3, 16, 17, 64}) {
      for (int64_t largest : {0, 1}) {
        SCOPED_TRACE(testing::Message() << static_cast<int>(line) << " k " << k << " largest " << largest);
        Model model(1);
        runtime::Tensor data(ir::DType::F32, {2, 101});
        for (size_t i = 0; i < 202; ++i) {
          const auto place = static_cast<float>(i);
          data.as<float>()[i] = line == Line::Upwards     ? place
                                : line == Line::Downwards ? -place
                                : line == Line::Equal     ? 7.0F
                                : line == Line::Lowest    ? -std::numeric_limits<float>::infinity()
                                                          : std::nanf("");
        }
        expect_top_k(model, std::move(data), k, -1, largest);
        expect_compiled(model);
      }
    }
  }
}

TEST_P(Scan, GreatestWithoutCode) {
  Model many(2), columns(3), bytes(4);
  expect_top_k(many, few_numbers(many, ir::DType::F32, {3, 100}), 65, 1, 1);
  expect_top_k(columns, few_numbers(columns, ir::DType::F32, {30, 5}), 9, 0, 1);
  expect_top_k(bytes, few_numbers(bytes, ir::DType::I8, {3, 100}), 4, 1, 1);
  for (Model* model : {&many, &columns, &bytes}) expect_reference(*model);
}

}  // namespace
}  // namespace collage::codegen_test
