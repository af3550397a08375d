// SPDX-License-Identifier: Apache-2.0
// Groups of pointwise nodes: every operator, broadcasting, and what is fused.
#include "tests/unit/compiler/codegen/harness.h"

namespace collage::codegen_test {
namespace {

class Pointwise : public testing::Test {
 protected:
  void SetUp() override {
    codegen::JitOptions options;
    options.keep_text = true;
    auto jit = codegen::Jit::create(options);
    ASSERT_TRUE(jit.is_ok()) << jit.message();
    jit_ = std::move(*jit);
  }

  std::unique_ptr<codegen::Jit> jit_;
};

struct UnaryCase {
  const char* op;
  float low = -8;
  float high = 8;
  ir::AttrMap attrs = {};
};

TEST_F(Pointwise, EveryUnaryOperator) {
  ir::AttrMap tanh_form;
  tanh_form.set("approximate", std::string("tanh"));
  ir::AttrMap alpha;
  alpha.set("alpha", 0.3);
  const std::vector<UnaryCase> cases = {{"Abs"},
                                        {"Ceil"},
                                        {"Cos", -50, 50},
                                        {"Elu"},
                                        {"Elu", -3, 3, alpha},
                                        {"Erf", -5, 5},
                                        {"Exp"},
                                        {"Floor"},
                                        {"Gelu"},
                                        {"Gelu", -4, 4, tanh_form},
                                        {"HardSigmoid"},
                                        {"HardSwish"},
                                        {"Identity"},
                                        {"LeakyRelu"},
                                        {"LeakyRelu", -2, 2, alpha},
                                        {"Log", 0.001F, 50},
                                        {"Mish"},
                                        {"Neg"},
                                        {"Reciprocal", 0.1F, 9},
                                        {"Relu"},
                                        {"Round"},
                                        {"Selu"},
                                        {"Sigmoid"},
                                        {"Sign"},
                                        {"Sin", -50, 50},
                                        {"Softplus"},
                                        {"Softsign"},
                                        {"Sqrt", 0, 9},
                                        {"Tanh"},
                                        {"ThresholdedRelu"},
                                        {"Celu", -3, 3, alpha}};
  int known = 0;
  for (const UnaryCase& c : cases) {
    if (ir::find_op(c.op) == nullptr || runtime::find_reference_kernel(c.op) == nullptr) continue;
    ++known;
    SCOPED_TRACE(c.op);
    Model model(7);
    model.graph.mark_output(model.op(c.op, {model.input({3, 5, 37})}, c.attrs));
    RunStats stats = check(model, *jit_, 1e-6, c.low, c.high);
    EXPECT_EQ(stats.kernels, 1);
    EXPECT_EQ(stats.references, 0);
  }
  EXPECT_GE(known, 18);
}

TEST_F(Pointwise, BinaryOperatorsBroadcast) {
  const std::vector<std::pair<Shape, Shape>> shapes = {{{2, 3, 4, 5}, {2, 3, 4, 5}},
                                                       {{2, 3, 4, 5}, {5}},
                                                       {{2, 3, 4, 5}, {3, 1, 1}},
                                                       {{2, 1, 4, 1}, {3, 1, 5}},
                                                       {{70, 33}, {70, 1}},
                                                       {{1, 1}, {17, 100}},
                                                       {{}, {9000}},
                                                       {{}, {}},
                                                       {{4, 1, 6}, {1, 5, 1}},
                                                       {{2, 2, 2, 2, 3}, {2, 1, 2, 1}},
                                                       {{20000}, {1}},
                                                       {{3, 0, 2}, {1, 2}}};
  unsigned seed = 1;
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Max", "Min"}) {
    for (const auto& [a, b] : shapes) {
      SCOPED_TRACE(std::string(op) + runtime::to_string(a) + runtime::to_string(b));
      Model model(seed++);
      model.graph.mark_output(model.op(op, {model.input(a), model.input(b)}));
      RunStats stats = check(model, *jit_, 1e-6, 0.5F, 2);
      // There is nothing to compile for empty tensors.
      EXPECT_EQ(stats.references, runtime::element_count(a) == 0 ? 1 : 0);
    }
  }
}

TEST_F(Pointwise, PowersAreInlineWhereTheExponentIsKnown) {
  for (float exponent : {2.0F, 3.0F, 0.5F, 1.0F, -1.0F, 1.7F}) {
    Model model(3);
    model.graph.mark_output(model.op("Pow", {model.input({41}), model.scalar(exponent)}));
    auto fresh = codegen::Jit::create({.threads = 1, .cpu = "", .keep_text = true});
    check(model, **fresh, 1e-6, 0.1F, 4);
    bool calls = (*fresh)->asm_text().find("call") != std::string::npos;
    EXPECT_EQ(calls, exponent == 1.7F) << exponent;
  }
}

TEST_F(Pointwise, ClipTakesBoundsFromOperands) {
  Model model(3);
  ValueId x = model.input({1000});
  model.graph.mark_output(model.op("Clip", {x, model.scalar(-0.25F), model.scalar(0.5F)}));
  model.graph.mark_output(model.op("Clip", {x, ValueId{}, model.scalar(0.5F)}));
  EXPECT_EQ(check(model, *jit_).references, 0);
}

TEST_F(Pointwise, BatchNormalizationIsOneMultiplyAdd) {
  for (const Shape& shape : {Shape{2, 5, 7, 3}, Shape{3, 4}, Shape{1, 6, 50}}) {
    Model model(11);
    int64_t c = shape[1];
    ValueId y = model.op("BatchNormalization", {model.input(shape), model.constant({c}), model.constant({c}),
                                                model.constant({c}), model.constant({c}, 0.5F, 2)});
    model.graph.mark_output(y);
    EXPECT_EQ(check(model, *jit_, 4e-6).references, 0);
  }
}

TEST_F(Pointwise, ADagOfSeveralNodesAndResultsIsOneKernel) {
  Model model(5);
  ValueId x = model.input({6, 33});
  ValueId y = model.input({6, 33});
  ValueId s = model.op("Sigmoid", {x});
  ValueId p = model.op("Mul", {x, s});
  ValueId t = model.op("Tanh", {y});
  ValueId q = model.op("Add", {p, t});
  model.graph.mark_output(p);
  model.graph.mark_output(model.op("Sub", {q, model.constant({33})}));
  RunStats stats = check(model, *jit_);
  EXPECT_EQ(stats.kernels, 1);
}

// %a feeds %c past %b, which is no pointwise node: {a, c} in one kernel would need %b before and after itself; %c joins
// %b instead.
TEST_F(Pointwise, FusionMakesNoCycle) {
  Model model(5);
  ValueId a = model.op("Relu", {model.input({4, 4})});
  ir::AttrMap attrs;
  attrs.set("perm", runtime::Ints{1, 0});
  ValueId b = model.op("Transpose", {a}, attrs);
  model.graph.mark_output(model.op("Add", {a, b}));
  RunStats stats = check(model, *jit_);
  EXPECT_EQ(stats.kernels, 2);
}

TEST_F(Pointwise, EqualKernelsAreCompiledOnce) {
  Model model(5);
  ir::AttrMap attrs;
  attrs.set("perm", runtime::Ints{1, 0});
  ValueId v = model.input({8, 8});
  for (int i = 0; i < 3; ++i) v = model.op("Transpose", {model.op("Tanh", {v})}, attrs);
  model.graph.mark_output(v);
  EXPECT_EQ(check(model, *jit_).kernels, 4);
  std::string nests = jit_->nest_text();
  size_t kernels = 0;
  for (size_t at = nests.find("kernel_"); at != std::string::npos; at = nests.find("kernel_", at + 1)) ++kernels;
  EXPECT_EQ(kernels, 3U);
}

TEST_F(Pointwise, RandomDags) {
  const std::vector<const char*> unary = {"Relu", "Sigmoid", "Tanh", "Abs", "Neg"};
  const std::vector<const char*> two = {"Add", "Mul", "Sub", "Max"};
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Model model(seed);
    auto pick = [&](size_t n) { return model.random()() % n; };
    std::vector<Shape> shapes = {{3, 4, 19}, {19}, {4, 1}, {3, 4, 19}, {1, 4, 19}};
    std::vector<ValueId> values;
    for (const Shape& s : shapes) values.push_back(model.input(s));
    for (int i = 0; i < 14; ++i) {
      if (pick(2) == 0) {
        values.push_back(model.op(unary[pick(unary.size())], {values[pick(values.size())]}));
      } else {
        values.push_back(model.op(two[pick(two.size())], {values[pick(values.size())], values[pick(values.size())]}));
      }
    }
    for (ValueId v : values) {
      const ir::Value& value = model.graph.value(v);
      if (value.uses.empty() && value.producer.is_valid()) model.graph.mark_output(v);
    }
    EXPECT_EQ(check(model, *jit_).references, 0);
  }
}

/// ONNX's number of a dtype.
int64_t onnx_code(ir::DType dtype) {
  switch (dtype) {
    case ir::DType::F32: return 1;
    case ir::DType::I32: return 6;
    case ir::DType::I64: return 7;
    case ir::DType::Bool: return 9;
    default: return 11;
  }
}

// Cast between f32, booleans, integers and f64; numbers out of range, NaN, and what rounds.
TEST_F(Pointwise, CastsOfAllTypes) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> floats = {0,       -0.0F,         0.5F,   -0.5F,    1.9F, -1.9F,         3e9F,
                                     -3e9F,   2147483648.0F, 1e30F,  -inf,     inf,  1e20F,         -1e20F,
                                     0x1p63F, -0x1p63F,      1e-30F, 16777216, -7,   std::nanf(""), 5.5F};
  const std::vector<int64_t> longs = {0, 1, -1, 16777217, -16777219, 9007199254740993, INT64_MAX, INT64_MIN, 5};
  const std::vector<int32_t> ints = {0, 1, -1, 16777217, INT32_MAX, INT32_MIN, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
  const std::vector<double> doubles = {0, 1.1, -2.5, 1e300, -1e300, 1e-300, 3};
  const std::vector<uint8_t> bools = {0, 1, 1, 0, 1};
  auto shape_of = [](const auto& list) { return Shape{static_cast<int64_t>(list.size())}; };
  auto expect_cast = [&](Model& model, ValueId x, ir::DType to) {
    SCOPED_TRACE(std::string(name_of(to)));
    ir::AttrMap attrs;
    attrs.set("to", onnx_code(to));
    model.graph.mark_output(model.op("Cast", {x}, attrs));
    RunStats stats = check(model, *jit_, 0);
    EXPECT_EQ(stats.kernels, 1);
    EXPECT_EQ(stats.references, 0);
  };
  for (ir::DType to : {ir::DType::I32, ir::DType::I64, ir::DType::F64, ir::DType::Bool, ir::DType::F32}) {
    Model of_f32(1), of_bool(1);
    if (to != ir::DType::F32) expect_cast(of_f32, of_f32.input<float>(ir::DType::F32, shape_of(floats), floats), to);
    if (to != ir::DType::Bool)
      expect_cast(of_bool, of_bool.input<uint8_t>(ir::DType::Bool, shape_of(bools), bools), to);
  }
  for (ir::DType to : {ir::DType::F32, ir::DType::Bool}) {
    Model of_i32(1), of_i64(1);
    expect_cast(of_i32, of_i32.input<int32_t>(ir::DType::I32, shape_of(ints), ints), to);
    expect_cast(of_i64, of_i64.input<int64_t>(ir::DType::I64, shape_of(longs), longs), to);
  }
  Model of_f64(1);
  expect_cast(of_f64, of_f64.input<double>(ir::DType::F64, shape_of(doubles), doubles), ir::DType::F32);
  const std::vector<uint8_t> bytes = {0, 1, 127, 128, 255};
  const std::vector<double> wide = {0,    -0.0, 1.9,  -1.9,   2147483647.5, -2147483648.5, 2147483648.0, 1e300, -1e300,
                                    -inf, inf,  -7.5, 0x1p53, 0x1p63,       -0x1p63,       std::nan(""), 3};
  for (ir::DType to : {ir::DType::I32, ir::DType::I64, ir::DType::Bool}) {
    Model from_f64(1), from_i32(1), from_i64(1), from_u8(1), from_i8(1), from_i16(1);
    expect_cast(from_f64, from_f64.input<double>(ir::DType::F64, shape_of(wide), wide), to);
    if (to != ir::DType::I32) expect_cast(from_i32, from_i32.input<int32_t>(ir::DType::I32, shape_of(ints), ints), to);
    if (to != ir::DType::I64)
      expect_cast(from_i64, from_i64.input<int64_t>(ir::DType::I64, shape_of(longs), longs), to);
    expect_cast(from_u8, from_u8.input<uint8_t>(ir::DType::U8, shape_of(bytes), bytes), to);
    expect_cast(from_i8, from_i8.input<uint8_t>(ir::DType::U8, shape_of(bytes), bytes), ir::DType::F32);
    const std::vector<int16_t> shorts = {0, -1, INT16_MAX, INT16_MIN, 77};
    expect_cast(from_i16, from_i16.input<int16_t>(ir::DType::I16, shape_of(shorts), shorts), to);
  }
}

// Casts in one kernel with their neighbours; every value on the way is stored or fused.
TEST_F(Pointwise, CastsFuse) {
  for (ir::DType via : {ir::DType::I32, ir::DType::I64, ir::DType::F64, ir::DType::Bool}) {
    for (bool is_stored : {false, true}) {
      Model model(2);
      ir::AttrMap to_via, to_f32;
      to_via.set("to", onnx_code(via));
      to_f32.set("to", onnx_code(ir::DType::F32));
      ValueId x = model.op("Mul", {model.input({3, 37}), model.scalar(40)});
      ValueId whole = model.op("Cast", {x}, to_via);
      if (is_stored) model.graph.mark_output(whole);
      model.graph.mark_output(model.op("Add", {model.op("Cast", {whole}, to_f32), model.input({37})}));
      RunStats stats = check(model, *jit_, 0);
      EXPECT_EQ(stats.kernels, 1);
      EXPECT_EQ(stats.references, 0);
    }
  }
}

}  // namespace
}  // namespace collage::codegen_test
