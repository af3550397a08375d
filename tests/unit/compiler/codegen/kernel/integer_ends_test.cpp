// SPDX-License-Identifier: Apache-2.0
// Integers at the ends of their types, and numbers that become bytes by rounding and saturation: bit for bit what the
// reference kernels give.
#include <cmath>
#include <limits>

#include "tests/unit/compiler/codegen/harness.h"

namespace collage::codegen_test {
namespace {

class IntegerEnds : public KernelTest {
 protected:
  /// Every end with every other: the operand that changes slowly, or the one that changes with each element.
  template <typename T>
  static std::vector<T> pairs(bool is_slow) {
    using Limits = std::numeric_limits<T>;
    const std::vector<T> ends = {Limits::min(), static_cast<T>(Limits::min() + 1), -7,           -1, 0, 1, 2,
                                 46341,         static_cast<T>(Limits::max() - 1), Limits::max()};
    std::vector<T> values;
    for (T a : ends) {
      for (T b : ends) values.push_back(is_slow ? a : b);
    }
    return values;
  }

  template <typename T>
  void wrap(ir::DType dtype) {
    const std::vector<T> slow = pairs<T>(true), fast = pairs<T>(false);
    const Shape shape = {static_cast<int64_t>(slow.size())};
    for (const char* op :
         {"Add", "Sub", "Mul", "Max", "Min", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"}) {
      SCOPED_TRACE(op);
      Model model(1);
      model.graph.mark_output(model.op(op, {model.input<T>(dtype, shape, slow), model.input<T>(dtype, shape, fast)}));
      expect_compiled(model);
    }
    for (const char* op : {"Abs", "Neg", "Relu", "Sign"}) {
      SCOPED_TRACE(op);
      Model model(2);
      model.graph.mark_output(model.op(op, {model.input<T>(dtype, shape, slow)}));
      expect_compiled(model);
    }
    for (const char* op : {"ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare"}) {
      for (int64_t axis : {0, 1}) {
        SCOPED_TRACE(op);
        Model model(3);
        ir::AttrMap attrs;
        attrs.set("axes", runtime::Ints{axis});
        model.graph.mark_output(model.op(op, {model.input<T>(dtype, {4, 25}, fast)}, attrs));
        expect_compiled(model);
      }
    }
  }

  void expect_compiled(Model& model) {
    const RunStats stats = check(model, *jit_, 0);
    EXPECT_EQ(stats.references, 0);
  }
};

TEST_F(IntegerEnds, WholeNumbersWrap) {
  wrap<int32_t>(ir::DType::I32);
  wrap<int64_t>(ir::DType::I64);
}

TEST_F(IntegerEnds, HalvesGoToEvenAndBytesSaturate) {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> x = {infinity, -infinity, std::nanf(""), 1e30F, -1e30F, 2.1e9F, -2.1e9F, 0.0F, -0.0F};
  for (int i = -300; i <= 300; ++i) x.push_back(static_cast<float>(i) / 2);
  for (ir::DType dtype : {ir::DType::U8, ir::DType::I8}) {
    for (int zero : {-128, -1, 0, 3, 127, 128, 255}) {
      if (dtype == ir::DType::U8 ? zero < 0 : zero > 127) continue;
      for (float scale : {1.0F, 0.5F, 3.0F}) {
        SCOPED_TRACE(zero);
        Model model(4);
        ir::Constant point;
        point.data = runtime::Tensor(dtype, {});
        runtime::set_element(point.data.view(), 0, zero);
        const ValueId zero_point = model.graph.add_constant("zero", point);
        const ValueId operand = model.input<float>(ir::DType::F32, {static_cast<int64_t>(x.size())}, x);
        const ValueId y = model.op("QuantizeLinear", {operand, model.scalar(scale), zero_point});
        model.graph.mark_output(y);
        model.graph.mark_output(model.op("DequantizeLinear", {y, model.scalar(scale), zero_point}));
        expect_compiled(model);
      }
    }
  }
}

}  // namespace
}  // namespace collage::codegen_test
