// SPDX-License-Identifier: Apache-2.0
// Mod against its reference kernel, bit for bit: integers by constants, floats by anything.
#include <limits>

#include "tests/unit/compiler/codegen/harness.h"

namespace collage::codegen_test {
namespace {

class Remainder : public IsaTest {
 protected:
  void expect_compiled(Model& model) { IsaTest::expect_compiled(model, 1, 0, -9, 9); }

  static ir::AttrMap fmod(int64_t value) {
    ir::AttrMap attrs;
    attrs.set("fmod", value);
    return attrs;
  }

  template <typename T>
  static ValueId constant(Model& model, ir::DType dtype, const Shape& shape, const std::vector<T>& values) {
    ir::Constant c;
    c.data = runtime::Tensor(dtype, shape);
    std::copy(values.begin(), values.end(), c.data.as<T>().begin());
    return model.graph.add_constant(model.graph.unique_name("const"), c);
  }

  template <typename T>
  static std::vector<T> ends() {
    using Limits = std::numeric_limits<T>;
    return {Limits::min(), Limits::min() + 1, -46341,       -9, -8, -7, -2, -1, 1, 2, 3, 7, 8, 9, 46341,
            1 << 20,       Limits::max() - 1, Limits::max()};
  }

  template <typename T>
  void divide_ends(ir::DType dtype) {
    std::vector<T> dividends = ends<T>();
    dividends.push_back(0);
    const auto count = static_cast<int64_t>(dividends.size());
    for (int64_t like_c : {0, 1}) {
      for (const T divisor : ends<T>()) {
        SCOPED_TRACE(testing::Message() << runtime::name_of(dtype) << " " << divisor << " fmod " << like_c);
        Model model(1);
        const ValueId x = model.input<T>(dtype, {count}, dividends);
        model.graph.mark_output(model.op("Mod", {x, constant<T>(model, dtype, {}, {divisor})}, fmod(like_c)));
        expect_compiled(model);
      }
      // One divisor for each column, and for each row.
      const std::vector<T> divisors = ends<T>();
      const auto width = static_cast<int64_t>(divisors.size());
      SCOPED_TRACE(testing::Message() << runtime::name_of(dtype) << " fmod " << like_c);
      Model columns(2), rows(3);
      columns.dtype = rows.dtype = dtype;
      columns.graph.mark_output(
          columns.op("Mod", {columns.input({5, width}), constant<T>(columns, dtype, {width}, divisors)}, fmod(like_c)));
      expect_compiled(columns);
      rows.graph.mark_output(
          rows.op("Mod", {rows.input({width, 21}), constant<T>(rows, dtype, {width, 1}, divisors)}, fmod(like_c)));
      expect_compiled(rows);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Isa, Remainder, testing::Values("", "haswell", "x86-64-v2"));

TEST_P(Remainder, IntegersByConstants) {
  divide_ends<int32_t>(ir::DType::I32);
  divide_ends<int64_t>(ir::DType::I64);
}

TEST_P(Remainder, Floats) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {0.0F,  -0.0F, 1,  -1,       2.5F,      -2.5F, 1e-45F,
                                     1e-3F, 7,     -7, infinity, -infinity, 3e38F, std::nanf("")};
  for (ir::DType dtype : {ir::DType::F32, ir::DType::F64, ir::DType::F16, ir::DType::BF16}) {
    SCOPED_TRACE(runtime::name_of(dtype));
    const auto count = static_cast<int64_t>(values.size());
    runtime::Tensor data(dtype, {count});
    for (int64_t i = 0; i < count; ++i) runtime::set_element(data.view(), i, values[static_cast<size_t>(i)]);
    Model special(1), random(2);
    const ValueId x = special.input(data);
    const ValueId y = special.op("Mod", {special.op("Unsqueeze", {x, special.ints({1})}), x}, fmod(1));
    special.graph.mark_output(y);
    // The reciprocal tells zeros apart.
    special.graph.mark_output(special.op("Reciprocal", {y}));
    EXPECT_EQ(check(special, *jit_, 0).references, 0);
    random.dtype = dtype;
    random.graph.mark_output(random.op("Mod", {random.input({7, 13}), random.input({13})}, fmod(1)));
    expect_compiled(random);
  }
}

TEST_P(Remainder, Fuses) {
  Model model(4);
  model.dtype = ir::DType::I64;
  const ValueId sum = model.op("Add", {model.input({5, 11}), model.input({11})});
  const ValueId rest = model.op("Mod", {sum, model.ints({3})});
  model.graph.mark_output(model.op("Equal", {rest, model.op("Mod", {sum, model.ints({4})})}));
  expect_compiled(model);
}

// A zero is a failure of the reference kernel.
TEST_P(Remainder, DivisorsWithoutCode) {
  Model zero(5), computed(6), small(7);
  zero.dtype = ir::DType::I64;
  zero.graph.mark_output(zero.op("Mod", {zero.input({4}), zero.ints({3, 0, 1, 2})}));
  EXPECT_FALSE(codegen::has_code(zero.graph, zero.graph.node_ids()[0]));
  computed.dtype = ir::DType::I64;
  const ValueId divisor = computed.input<int64_t>(ir::DType::I64, {4}, {3, -5, 1, 2});
  computed.graph.mark_output(computed.op("Mod", {computed.input({4}), divisor}));
  small.dtype = ir::DType::I8;
  small.graph.mark_output(small.op("Mod", {small.input({4}), constant<int8_t>(small, ir::DType::I8, {}, {3})}));
  for (Model* model : {&computed, &small}) {
    EXPECT_FALSE(codegen::has_code(model->graph, model->graph.node_ids()[0]));
    EXPECT_EQ(check(*model, *jit_, 0).references, 1);
  }
}

}  // namespace
}  // namespace collage::codegen_test
