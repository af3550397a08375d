// SPDX-License-Identifier: Apache-2.0
// Kernels of f16 and bf16: they compute in f32, and each operator's result is rounded, stored or not.
#include "tests/unit/compiler/codegen/harness.h"

namespace collage::codegen_test {
namespace {

class NarrowFloat : public testing::TestWithParam<ir::DType> {
 protected:
  void SetUp() override {
    auto jit = codegen::Jit::create({});
    ASSERT_TRUE(jit.is_ok()) << jit.message();
    jit_ = std::move(*jit);
  }

  RunStats expect_compiled(Model& model, float low = -1, float high = 1) {
    const RunStats stats = check(model, *jit_, 0, low, high);
    EXPECT_GE(stats.kernels, 1);
    EXPECT_EQ(stats.references, 0);
    return stats;
  }

  static ir::AttrMap ints(const char* name, const runtime::Ints& values) {
    ir::AttrMap attrs;
    attrs.set(name, values);
    return attrs;
  }

  std::unique_ptr<codegen::Jit> jit_;
};

INSTANTIATE_TEST_SUITE_P(Dtypes, NarrowFloat, testing::Values(ir::DType::F16, ir::DType::BF16),
                         [](const auto& test) { return std::string(runtime::name_of(test.param)); });

TEST_P(NarrowFloat, Pointwise) {
  for (const char* op : {"Abs", "Erf", "Exp", "Gelu", "Neg", "Relu", "Round", "Sigmoid", "Softplus", "Tanh"}) {
    SCOPED_TRACE(op);
    Model model(1);
    model.dtype = GetParam();
    model.graph.mark_output(model.op(op, {model.input({3, 37})}));
    expect_compiled(model, -4, 4);
  }
}

// Sums and products of f32 are exact enough that a chain has the bits of its operators one by one.
TEST_P(NarrowFloat, ChainsHaveTheBitsOfSingleOperators) {
  Model model(2);
  model.dtype = GetParam();
  const ValueId a = model.input({4, 9, 13});
  const ValueId b = model.input({9, 1});
  ValueId y = model.op("Mul", {model.op("Add", {a, b}), model.scalar(0.1F)});
  y = model.op("Sub", {model.op("Mul", {y, y}), model.op("Add", {y, model.input({13})})});
  model.graph.mark_output(model.op("Where", {model.op("Less", {a, b}), y, a}));
  // As f32, which is compared exactly.
  ir::AttrMap bits;
  bits.set("to", int64_t{runtime::onnx_of(ir::DType::F32)});
  model.graph.mark_output(model.op("Cast", {y}, bits));
  const RunStats stats = check(model, *jit_, 0);
  EXPECT_EQ(stats.references, 0);
}

TEST_P(NarrowFloat, Casts) {
  for (ir::DType other : {ir::DType::F32, ir::DType::I8, ir::DType::U8, ir::DType::I16}) {
    SCOPED_TRACE(runtime::name_of(other));
    Model model(3);
    model.dtype = other;
    ir::AttrMap to;
    to.set("to", int64_t{runtime::onnx_of(GetParam())});
    model.graph.mark_output(model.op("Cast", {model.input({3, 41})}, to));
    expect_compiled(model, -70000, 70000);
  }
  Model model(4);
  model.dtype = GetParam();
  const ValueId x = model.input({3, 41});
  for (ir::DType other : {ir::DType::F32, ir::DType::F64, ir::DType::I32, ir::DType::I64, ir::DType::Bool}) {
    ir::AttrMap to;
    to.set("to", int64_t{runtime::onnx_of(other)});
    model.graph.mark_output(model.op("Cast", {x}, to));
  }
  expect_compiled(model, -1000, 1000);
}

// An f32 on the way would be the middle between two numbers, and go to the even one.
TEST_P(NarrowFloat, WideNumbersRoundOnce) {
  const auto expect_same = [&]<typename T>(ir::DType from, const std::vector<T>& values) {
    SCOPED_TRACE(runtime::name_of(from));
    Model model(10);
    ir::AttrMap to_narrow, to_f32;
    to_narrow.set("to", int64_t{runtime::onnx_of(GetParam())});
    to_f32.set("to", int64_t{runtime::onnx_of(ir::DType::F32)});
    const ValueId x = model.input<T>(from, {static_cast<int64_t>(values.size())}, values);
    const ValueId y = model.op("Cast", {x}, to_narrow);
    // As f32, which is compared exactly.
    model.graph.mark_output(model.op("Cast", {y}, to_f32));
    model.graph.mark_output(model.op("Cast", {model.op("Neg", {y})}, to_f32));
    check(model, *jit_, 0);
  };
  expect_same(ir::DType::I64,
              std::vector<int64_t>{(int64_t{1} << 32) + (1 << 24) + 1, -(int64_t{1} << 32) - (1 << 24) - 1,
                                   (int64_t{1} << 62) + (int64_t{1} << 54) + 1, INT64_MAX, 65519, 65520});
  expect_same(ir::DType::U64, std::vector<uint64_t>{(uint64_t{1} << 63) + (uint64_t{1} << 55) + 1, UINT64_MAX, 65520});
  expect_same(ir::DType::I32, std::vector<int32_t>{(1 << 30) + (1 << 22) + 1, -(1 << 30) - (1 << 22) - 1, INT32_MIN});
  expect_same(ir::DType::U32, std::vector<uint32_t>{(1U << 31) + (1U << 23) + 1, UINT32_MAX});
  expect_same(ir::DType::F64, std::vector<double>{1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-11 + 0x1p-40, -1 - 0x1p-8 - 0x1p-40,
                                                  0x1p-24 + 0x1p-60, 65520 - 0x1p-20, 1e300});
}

TEST_P(NarrowFloat, SpecialNumbers) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const char* op : {"Abs", "Neg", "Relu", "Sqrt"}) {
    SCOPED_TRACE(op);
    Model model(5);
    model.dtype = GetParam();
    runtime::Tensor data(GetParam(), {8});
    const float values[] = {0.0F, -0.0F, infinity, -infinity, std::nanf(""), 1e-7F, 65504, 3};
    for (int64_t i = 0; i < 8; ++i) runtime::set_element(data.view(), i, values[i]);
    model.graph.mark_output(model.op(op, {model.input(data)}));
    expect_compiled(model);
  }
}

TEST_P(NarrowFloat, ReductionsAndRows) {
  for (int64_t length : {5, 33, 100}) {
    SCOPED_TRACE(length);
    Model model(6);
    model.dtype = GetParam();
    const ValueId x = model.input({20, length});
    const ValueId y = model.op("LayerNormalization", {x, model.constant({length}), model.constant({length})});
    ir::AttrMap first;
    first.set("axis", int64_t{0});
    model.graph.mark_output(y);
    model.graph.mark_output(model.op("Softmax", {x}));
    model.graph.mark_output(model.op("LogSoftmax", {x}, first));
    model.graph.mark_output(model.op("ReduceMean", {x}, ints("axes", {0})));
    model.graph.mark_output(model.op("ReduceMax", {x}, ints("axes", {-1})));
    expect_compiled(model);
  }
}

TEST_P(NarrowFloat, Products) {
  for (bool is_packed : {false, true}) {
    SCOPED_TRACE(is_packed);
    Model model(7);
    model.dtype = GetParam();
    ir::AttrMap attrs;
    attrs.set("transB", int64_t{1});
    const ValueId b = is_packed ? model.constant({50, 70}) : model.input({50, 70});
    const ValueId y = model.op("Gemm", {model.input({40, 70}), b, model.input({50})}, attrs);
    model.graph.mark_output(model.op("Relu", {y}));
    model.graph.mark_output(model.op("MatMul", {model.input({2, 21, 16}), model.input({2, 16, 37})}));
    expect_compiled(model);
  }
}

TEST_P(NarrowFloat, Windows) {
  Model model(8);
  model.dtype = GetParam();
  ir::AttrMap window = ints("pads", {1, 1, 1, 1});
  const ValueId x = model.input({2, 6, 19, 23});
  const ValueId y = model.op("Conv", {x, model.constant({10, 6, 3, 3}), model.constant({10})}, window);
  model.graph.mark_output(model.op("Relu", {y}));
  window.set("group", int64_t{6});
  model.graph.mark_output(model.op("Conv", {x, model.constant({6, 1, 3, 3})}, window));
  window.set("group", int64_t{2});
  model.graph.mark_output(model.op("Conv", {x, model.input({4, 3, 3, 3})}, window));
  ir::AttrMap pool = ints("kernel_shape", {3, 3});
  model.graph.mark_output(model.op("MaxPool", {x}, pool));
  model.graph.mark_output(model.op("AveragePool", {x}, pool));
  model.graph.mark_output(model.op("GlobalAveragePool", {x}));
  expect_compiled(model);
}

TEST_P(NarrowFloat, MovementKeepsBits) {
  Model model(9);
  model.dtype = GetParam();
  const ValueId x = model.input({5, 7, 13});
  model.graph.mark_output(model.op("Transpose", {x}, ints("perm", {2, 0, 1})));
  ir::AttrMap axis;
  axis.set("axis", int64_t{1});
  model.graph.mark_output(model.op("Concat", {x, x}, axis));
  model.graph.mark_output(model.op("Slice", {x, model.ints({-1, 0, 0}), model.ints({-1000, 1000, 1000}),
                                             model.ints({0, 1, 2}), model.ints({-1, 1, 2})}));
  expect_compiled(model);
}

}  // namespace
}  // namespace collage::codegen_test
