// SPDX-License-Identifier: Apache-2.0
// Trilu and OneHot against their reference kernels: alone, with their neighbours in one kernel, and what has no code.
#include "tests/unit/compiler/codegen/harness.h"

namespace collage::codegen_test {
namespace {

class ByPlace : public IsaTest {
 protected:
  template <typename T>
  static const T& one_of(Model& model, const std::vector<T>& list) {
    return list[static_cast<size_t>(pick(model, 0, static_cast<int64_t>(list.size()) - 1))];
  }

  static ir::AttrMap with(const char* name, int64_t value) {
    ir::AttrMap attrs;
    attrs.set(name, value);
    return attrs;
  }

  /// Both signs, in range and out of it, and what is in range only when it is cut to fewer bits or rounded.
  static ValueId indices(Model& model, ir::DType dtype, const Shape& shape, int64_t depth) {
    const std::vector<int64_t> far = {INT32_MAX, INT32_MIN, (1 << 24) + 1, -(1 << 24) - 1};
    const std::vector<int64_t> farther = {INT64_MAX, INT64_MIN, int64_t{1} << 32, (int64_t{1} << 53) + 1};
    runtime::Tensor tensor(dtype, shape);
    for (int64_t i = 0; i < tensor.count(); ++i) {
      int64_t index = pick(model, -depth - 2, depth + 1);
      if (pick(model, 0, 9) == 0) index = one_of(model, far);
      if (dtype == ir::DType::I64 && pick(model, 0, 9) == 0) index = one_of(model, farther);
      if (dtype == ir::DType::I32) tensor.as<int32_t>()[static_cast<size_t>(i)] = static_cast<int32_t>(index);
      if (dtype == ir::DType::I64) tensor.as<int64_t>()[static_cast<size_t>(i)] = index;
    }
    return model.input(std::move(tensor));
  }

  static ValueId off_on(Model& model, ir::DType dtype) {
    model.dtype = dtype;
    return model.constant({2}, -3, 3);
  }
};

INSTANTIATE_TEST_SUITE_P(Isa, ByPlace, testing::Values("", "haswell", "x86-64-v2"));

const std::vector<ir::DType> kTriangles = {ir::DType::F32, ir::DType::F64,  ir::DType::I32, ir::DType::I64,
                                           ir::DType::F16, ir::DType::BF16, ir::DType::Bool};

TEST_P(ByPlace, Triangles) {
  const std::vector<Shape> shapes = {{1, 1},     {5, 37}, {40, 9},      {2, 3, 16, 4}, {3, 1, 20},
                                     {2, 20, 1}, {1, 33}, {2, 7, 5000}, {17, 16, 16},  {3, 5, 1, 1}};
  const std::vector<int64_t> diagonals = {0, 1, -1, 4, -6, 15, 4500, 1 << 20, -(1 << 20), INT64_MAX, INT64_MIN};
  for (unsigned seed = 0; seed < 120; ++seed) {
    Model model(seed);
    model.dtype = kTriangles[seed % kTriangles.size()];
    const Shape& shape = one_of(model, shapes);
    std::vector<ValueId> operands = {model.input(shape)};
    const int64_t k = one_of(model, diagonals);
    if (k != 0) operands.push_back(model.ints({k}));
    const int64_t upper = pick(model, 0, 1);
    SCOPED_TRACE(testing::Message() << runtime::name_of(model.dtype) << " " << runtime::to_string(shape) << " k " << k
                                    << " upper " << upper);
    model.graph.mark_output(model.op("Trilu", operands, with("upper", upper)));
    expect_compiled(model, 1);
  }
}

TEST_P(ByPlace, TrianglesFuse) {
  Model model(1);
  const ValueId x = model.input({3, 21, 19});
  const ValueId y = model.op("Trilu", {model.op("Abs", {x})}, with("upper", 0));
  model.graph.mark_output(model.op("Sub", {y, model.op("Trilu", {x, model.ints({2})})}));
  expect_compiled(model, 1);
  Model masked(2);
  const ValueId scores = masked.input({3, 21, 19});
  masked.dtype = ir::DType::Bool;
  const ValueId mask = masked.op("Trilu", {masked.input({21, 19})});
  masked.graph.mark_output(mask);
  masked.dtype = ir::DType::F32;
  masked.graph.mark_output(masked.op("Where", {mask, scores, masked.scalar(-9)}));
  expect_compiled(masked, 2);
}

// Not after a product, whose lanes may lie apart; along rows, also of attention. Masks stay apart.
TEST_P(ByPlace, TrianglesAlongRows) {
  Model rows(3);
  const ValueId product = rows.op("MatMul", {rows.input({18, 20}), rows.constant({20, 40})});
  const ValueId triangle = rows.op("Trilu", {product, rows.ints({-3})});
  rows.graph.mark_output(rows.op("Softmax", {rows.op("Mul", {triangle, rows.scalar(0.5F)})}));
  expect_compiled(rows, 2, 1e-5);
  Model attention(4);
  const ValueId scores = attention.op("MatMul", {attention.input({2, 21, 16}), attention.input({2, 16, 37})});
  const ValueId lower = attention.op("Trilu", {scores}, with("upper", 0));
  attention.graph.mark_output(attention.op("MatMul", {attention.op("Softmax", {lower}), attention.input({2, 37, 19})}));
  expect_compiled(attention, 1, 1e-5);
  Model masked(5);
  const ValueId x = masked.input({18, 40}), low = masked.scalar(-9);
  masked.dtype = ir::DType::Bool;
  const ValueId mask = masked.op("Trilu", {masked.input({18, 40})});
  masked.graph.mark_output(masked.op("Softmax", {masked.op("Where", {mask, x, low})}));
  expect_compiled(masked, 2, 1e-5);
}

TEST_P(ByPlace, DiagonalsThatARunDecides) {
  Model model(4);
  model.graph.mark_output(model.op("Trilu", {model.input({7, 9}), model.input<int64_t>(ir::DType::I64, {1}, {-2})}));
  expect_reference(model);
}

TEST_P(ByPlace, OneHots) {
  const std::vector<ir::DType> dtypes = {ir::DType::F32, ir::DType::I64,  ir::DType::F64,
                                         ir::DType::F16, ir::DType::BF16, ir::DType::I32};
  for (unsigned seed = 0; seed < 120; ++seed) {
    Model model(seed);
    const ir::DType dtype = dtypes[seed % dtypes.size()];
    const bool is_short = dtype == ir::DType::I32 || pick(model, 0, 1) == 0;
    const int64_t rank = pick(model, 0, 3);
    Shape shape;
    for (int64_t d = 0; d < rank; ++d) shape.push_back(pick(model, 0, 3) == 0 ? pick(model, 9, 21) : pick(model, 1, 5));
    const int64_t depth = rank < 2 && pick(model, 0, 4) == 0 ? 5000 : pick(model, 1, 40);
    const int64_t axis = pick(model, -rank - 1, rank);
    SCOPED_TRACE(testing::Message() << seed << " " << runtime::name_of(dtype) << " " << runtime::to_string(shape)
                                    << " depth " << depth << " axis " << axis);
    const ValueId index = indices(model, is_short ? ir::DType::I32 : ir::DType::I64, shape, depth);
    model.graph.mark_output(model.op("OneHot", {index, model.ints({depth}), off_on(model, dtype)}, with("axis", axis)));
    expect_compiled(model, 1);
  }
}

TEST_P(ByPlace, OneHotsFuse) {
  for (int64_t axis : {0, 1, 2}) {
    SCOPED_TRACE(axis);
    Model model(5);
    const ValueId index = indices(model, ir::DType::I64, {6, 13}, 11);
    const ValueId hot =
        model.op("OneHot", {index, model.ints({11}), off_on(model, ir::DType::F32)}, with("axis", axis));
    const ValueId other = model.input(model.graph.value(hot).type.shape);
    model.graph.mark_output(model.op("Mul", {hot, model.op("Add", {other, model.scalar(1)})}));
    expect_compiled(model, 1);
  }
}

TEST_P(ByPlace, OneHotsWithoutCode) {
  Model values(6);
  const ValueId index = indices(values, ir::DType::I64, {5}, 7);
  values.graph.mark_output(values.op("OneHot", {index, values.ints({7}), values.input({2})}));
  expect_reference(values);
  // The bits of an index that an i32 lacks decide.
  Model cut(7);
  cut.graph.mark_output(
      cut.op("OneHot", {indices(cut, ir::DType::I64, {5}, 7), cut.ints({7}), off_on(cut, ir::DType::I32)}));
  expect_reference(cut);
  Model floats(8);
  const ValueId fractions = floats.input<float>(ir::DType::F32, {4}, {-0.5F, 1.9F, -1.5F, 8});
  floats.graph.mark_output(floats.op("OneHot", {fractions, floats.ints({7}), off_on(floats, ir::DType::F32)}));
  expect_reference(floats);
}

}  // namespace
}  // namespace collage::codegen_test
