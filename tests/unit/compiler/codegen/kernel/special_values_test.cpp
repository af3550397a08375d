// SPDX-License-Identifier: Apache-2.0
// What is no number, at every place of what operators look for the largest or smallest in: as in the reference kernels.
#include <cmath>
#include <limits>

#include "tests/unit/compiler/codegen/harness.h"

namespace collage::codegen_test {
namespace {

class SpecialValues : public KernelTest {
 protected:
  /// Every third element, from `first` on, is NaN; the others grow and shrink.
  static runtime::Tensor with_nans(const Shape& shape, size_t first) {
    runtime::Tensor x(ir::DType::F32, shape);
    auto elements = x.as<float>();
    for (size_t i = 0; i < elements.size(); ++i) {
      elements[i] = i % 3 == first ? std::nanf("") : std::sin(static_cast<float>(7 * i)) * 4;
    }
    return x;
  }

  void expect_compiled(Model& model, const codegen::LowerOptions& options = {}) {
    const RunStats stats = check(model, *jit_, 0, -1, 1, options);
    EXPECT_EQ(stats.references, 0);
    EXPECT_GE(stats.kernels, 1);
  }
};

TEST_F(SpecialValues, ReductionsFindNaN) {
  for (const char* op : {"ReduceMax", "ReduceMin"}) {
    for (int64_t axis : {0, 1, 2}) {
      for (size_t first : {0, 1, 2}) {
        SCOPED_TRACE(std::string(op) + " " + std::to_string(axis) + " " + std::to_string(first));
        Model model(1);
        ir::AttrMap attrs;
        attrs.set("axes", runtime::Ints{axis});
        model.graph.mark_output(model.op(op, {model.input(with_nans({3, 5, 37}, first))}, attrs));
        expect_compiled(model);
      }
    }
  }
}

TEST_F(SpecialValues, PoolsFindNaN) {
  for (const bool is_last : {false, true}) {
    for (size_t first : {0, 1, 2}) {
      Model model(2);
      ir::AttrMap attrs;
      attrs.set("kernel_shape", runtime::Ints{3, 3});
      attrs.set("pads", runtime::Ints{1, 1, 1, 1});
      ValueId x = model.input(with_nans({1, 20, 7, 19}, first));
      ValueId y = model.op("MaxPool", {x}, attrs);
      model.graph.mark_output(y);
      codegen::LowerOptions options;
      if (is_last) options.layouts = {{x, "NHWC"}, {y, "NHWC"}};
      expect_compiled(model, options);
    }
  }
}

TEST_F(SpecialValues, MaximaOfANaNAreNaN) {
  for (const char* op : {"Max", "Min"}) {
    for (size_t first : {0, 1, 2}) {
      Model model(3);
      ValueId a = model.input(with_nans({5, 37}, first));
      ValueId b = model.input(with_nans({5, 37}, 1));
      model.graph.mark_output(model.op(op, {a, b, model.input(with_nans({37}, 2))}));
      expect_compiled(model);
    }
  }
}

TEST_F(SpecialValues, BoundsThatAreNaN) {
  const std::vector<float> bounds = {std::nanf(""), -1, 2};
  for (float low : bounds) {
    for (float high : bounds) {
      for (bool is_constant : {false, true}) {
        Model model(7);
        const auto bound = [&](float value) {
          return is_constant ? model.scalar(value) : model.input<float>(ir::DType::F32, {}, {value});
        };
        model.graph.mark_output(model.op("Clip", {model.input(with_nans({5, 37}, 1)), bound(low), bound(high)}));
        expect_compiled(model);
      }
    }
  }
}

TEST_F(SpecialValues, PlacesOfNaN) {
  for (const char* op : {"ArgMax", "ArgMin"}) {
    for (int64_t axis : {0, 1, 2}) {
      for (int64_t last : {0, 1}) {
        for (size_t first : {0, 1, 2}) {
          SCOPED_TRACE(std::string(op) + " " + std::to_string(axis) + " " + std::to_string(last));
          Model model(8);
          ir::AttrMap attrs;
          attrs.set("axis", axis);
          attrs.set("select_last_index", last);
          model.graph.mark_output(model.op(op, {model.input(with_nans({3, 5, 37}, first))}, attrs));
          expect_compiled(model);
        }
      }
    }
  }
}

TEST_F(SpecialValues, ThresholdsMakeThemZero) {
  Model model(4);
  model.graph.mark_output(model.op("ThresholdedRelu", {model.input(with_nans({5, 37}, 1))}));
  expect_compiled(model);
}

TEST_F(SpecialValues, ActivationsAtTheirEnds) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float most = std::numeric_limits<float>::max();
  const std::vector<float> ends = {infinity, -infinity, std::nanf(""), most, -most, 0,     -0.0F,  1e-45F, -1e-45F, 105,
                                   -105,     90,        -90,           20,   -20,   14.5F, -14.5F, 1e20F,  -1e20F};
  for (const char* approximate : {"none", "tanh"}) {
    for (const char* op : {"Celu", "Elu", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Mish", "Relu", "Selu",
                           "Sigmoid", "Softplus", "Softsign", "Tanh", "ThresholdedRelu"}) {
      SCOPED_TRACE(std::string(op) + " " + approximate);
      ir::AttrMap attrs;
      if (std::string(op) == "Gelu") attrs.set("approximate", std::string(approximate));
      for (const float x : ends) {
        Model model(6);
        model.graph.mark_output(model.op(op, {model.input<float>(ir::DType::F32, {1}, {x})}, attrs));
        EXPECT_EQ(check(model, *jit_, 4e-7).references, 0) << x;
      }
    }
  }
}

TEST_F(SpecialValues, AddendsTimesZeroAreNotAdded) {
  const float infinity = std::numeric_limits<float>::infinity();
  Model model(5);
  ir::AttrMap attrs;
  attrs.set("beta", 0.0);
  ValueId c = model.input<float>(ir::DType::F32, {4}, {infinity, std::nanf(""), 0, 1});
  model.graph.mark_output(model.op("Gemm", {model.input({2, 3}), model.constant({3, 4}), c}, attrs));
  EXPECT_EQ(check(model, *jit_, 1e-6).references, 0);
}

}  // namespace
}  // namespace collage::codegen_test
