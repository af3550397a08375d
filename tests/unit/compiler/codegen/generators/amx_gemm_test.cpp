// SPDX-License-Identifier: Apache-2.0
// Products of split operands on AMX against the reference kernels: shapes, epilogues, special values, and who may not
// use them.
#include "runtime/core/tiles.h"
#include "tests/unit/compiler/codegen/harness.h"

namespace collage::codegen_test {
namespace {

codegen::LowerOptions on_tiles(const Model& model) {
  codegen::LowerOptions options;
  for (const auto* values : {&model.graph.inputs(), &model.graph.outputs()}) {
    for (ValueId value : *values) {
      if (model.graph.value(value).type.shape.size() == 4) options.layouts[value] = "NHWC";
    }
  }
  for (ir::NodeId node : model.graph.node_ids()) options.generators[node] = "amx_gemm";
  return options;
}

class AmxProducts : public KernelTest {
 protected:
  void SetUp() override {
    if (!runtime::tile_obstacle().empty()) GTEST_SKIP() << runtime::tile_obstacle();
    make(1, true);
  }

  void make_for(codegen::Numerics numerics) {
    auto jit = codegen::Jit::create({.threads = 2, .cpu = "", .numerics = numerics});
    ASSERT_TRUE(jit.is_ok()) << jit.message();
    jit_ = std::move(*jit);
  }

  void expect_tiles(Model& model, double tolerance = 2e-6) {
    const RunStats stats = check(model, *jit_, tolerance, -1, 1, on_tiles(model));
    EXPECT_EQ(stats.references, 0);
    EXPECT_EQ(stats.kernels, 1);
  }

  /// Rows of `x` times constant `w`, as the kernel computes them.
  std::vector<float> product(const runtime::Tensor& x, const runtime::Tensor& w) {
    Model model(1);
    const ValueId a = model.input(x);
    ir::Constant constant;
    constant.data = w;
    const ValueId b = model.graph.add_constant("w", constant);
    const ValueId y = model.op("MatMul", {a, b});
    model.graph.mark_output(y);
    auto lowered = jit_->lower(model.graph, model.graph.node_ids(), on_tiles(model));
    if (!lowered) {
      ADD_FAILURE() << lowered.message();
      return {};
    }
    runtime::Tensor result(ir::DType::F32, model.graph.value(y).type.shape);
    std::map<ValueId, runtime::TensorView> views = {{a, x.view()}, {y, result.view()}};
    std::vector<Memory> temporaries;
    run_kernel(*jit_, std::get<codegen::LoweredKernel>(lowered->calls.at(0)), *lowered, views, temporaries,
               model.random());
    return {result.as<float>().begin(), result.as<float>().end()};
  }
};

TEST_F(AmxProducts, TilesMultiply) {
  Model model(1);
  model.graph.mark_output(model.op("MatMul", {model.input({64, 96}), model.constant({96, 64})}));
  expect_tiles(model);
  EXPECT_NE(jit_->asm_text().find("tdpbf16ps"), std::string::npos);
  EXPECT_NE(jit_->nest_text().find("tile config"), std::string::npos);
}

TEST_F(AmxProducts, RandomShapes) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    if (seed % 15 == 0) make(1 + static_cast<int>(seed / 15) % 3);
    Model model(seed);
    const auto pick = [&](int64_t low, int64_t high) {
      return low + static_cast<int64_t>(model.random()() % static_cast<unsigned>(high - low + 1));
    };
    const int64_t rows = pick(0, 3) == 0 ? pick(100, 300) : pick(1, 70);
    const int64_t depth = pick(0, 5) == 0 ? pick(1000, 2200) : pick(1, 200);
    const int64_t columns = pick(0, 5) == 0 ? pick(300, 800) : pick(1, 130);
    ValueId y;
    if (seed % 3 == 0) {
      ir::AttrMap attrs;
      const bool transposes = pick(0, 1) == 1;
      attrs.set("transB", int64_t{transposes});
      attrs.set("alpha", pick(0, 1) == 1 ? 1.0 : 0.5);
      attrs.set("beta", pick(0, 1) == 1 ? 1.0 : -2.0);
      const Shape weights = transposes ? Shape{columns, depth} : Shape{depth, columns};
      std::vector<ValueId> operands = {model.input({rows, depth}), model.constant(weights)};
      if (pick(0, 2) > 0) operands.push_back(model.constant(pick(0, 1) == 1 ? Shape{columns} : Shape{rows, 1}));
      y = model.op("Gemm", operands, attrs);
    } else {
      const Shape a = seed % 3 == 1 ? Shape{rows, depth} : Shape{2, rows, 1, depth};
      y = model.op("MatMul", {model.input(a), model.constant({depth, columns})});
      if (pick(0, 1) == 1) y = model.op("Add", {y, model.constant({columns})});
    }
    if (pick(0, 2) == 0) y = model.op("Gelu", {y});
    if (pick(0, 2) == 0) y = model.op("Add", {y, model.input(model.graph.value(y).type.shape)});
    model.graph.mark_output(y);
    codegen::LowerOptions options = on_tiles(model);
    options.layouts.clear();
    const RunStats stats = check(model, *jit_, 3e-6, -1, 1, options);
    EXPECT_EQ(stats.references, 0);
    EXPECT_EQ(stats.kernels, 1);
  }
}

TEST_F(AmxProducts, Convolutions) {
  for (const auto& [x, channels] : std::vector<std::pair<Shape, int64_t>>{
           {{1, 64, 7, 7}, 96}, {{2, 33, 9, 5}, 40}, {{1, 256, 28, 28}, 64}, {{3, 1100, 3, 3}, 35}}) {
    for (bool has_bias : {false, true}) {
      Model model(static_cast<unsigned>(channels));
      std::vector<ValueId> operands = {model.input(x), model.constant({channels, x[1], 1, 1})};
      if (has_bias) operands.push_back(model.constant({channels}));
      ValueId y = model.op("Relu", {model.op("Conv", operands)});
      model.graph.mark_output(y);
      expect_tiles(model, 3e-6);
    }
  }
}

TEST_F(AmxProducts, SpecialValuesAreThoseOfTheSum) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float most = std::numeric_limits<float>::max();
  const float least = std::numeric_limits<float>::denorm_min();
  for (const int64_t depth : {40, 1500}) {
    for (const std::vector<float>& values : std::vector<std::vector<float>>{
             {inf}, {-inf}, {inf, -inf}, {nan}, {-0.0F}, {least}, {most}, {most, most}, {most, -most}, {1e-39F, inf}}) {
      Model model(3);
      runtime::Tensor x = model.random_tensor({100, depth}, -1, 1);
      for (size_t i = 0; i < values.size(); ++i) {
        x.as<float>()[static_cast<size_t>(37 * depth) + 5 + i * static_cast<size_t>(depth - 7)] = values[i];
      }
      // The last element of the last block, in the padding of the depth's last step.
      x.as<float>()[static_cast<size_t>(100 * depth) - 1] = values[0];
      const ValueId y = model.op("MatMul", {model.input(x), model.constant({depth, 70}, 0.5F, 1)});
      model.graph.mark_output(y);
      expect_tiles(model);
    }
  }
}

// Each result is one element of its row: nothing hides what parts of it lose.
TEST_F(AmxProducts, NumbersOfAnySizeComeBack) {
  const int64_t n = 64;
  runtime::Tensor w(ir::DType::F32, {n, n});
  std::fill(w.as<float>().begin(), w.as<float>().end(), 0.0F);
  for (int64_t i = 0; i < n; ++i) w.as<float>()[static_cast<size_t>(i * n + i)] = 1;
  runtime::Tensor x(ir::DType::F32, {300, n});
  std::mt19937 random(7);
  for (float& value : x.as<float>()) {
    do {
      const auto bits = static_cast<uint32_t>(random());
      std::memcpy(&value, &bits, sizeof value);
    } while (!std::isfinite(value));
  }
  // Rows 0 to 99 are all safe, so that tiles compute them; the others are of any size.
  std::uniform_real_distribution<float> fraction(-1, 1);
  for (size_t i = 0; i < static_cast<size_t>(100 * n); ++i) {
    x.as<float>()[i] = std::ldexp(fraction(random), static_cast<int>(i % 160) - 70);
  }
  const std::vector<float> y = product(x, w);
  ASSERT_EQ(y.size(), static_cast<size_t>(300 * n));
  for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], x.as<float>()[i]) << "element " << i;
}

TEST_F(AmxProducts, WeightsThatCannotBeSplitAreRefused) {
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 1e-30F, 1e30F}) {
    Model model(5);
    ir::Constant constant;
    constant.data = model.random_tensor({64, 64}, -1, 1);
    constant.data.as<float>()[77] = bad;
    const ValueId w = model.graph.add_constant("w", constant);
    model.graph.mark_output(model.op("MatMul", {model.input({64, 64}), w}));
    const auto lowered = jit_->lower(model.graph, model.graph.node_ids(), on_tiles(model));
    ASSERT_FALSE(lowered.is_ok());
    EXPECT_NE(lowered.message().find("`amx_gemm` does not take"), std::string::npos) << lowered.message();
  }
}

TEST_F(AmxProducts, ComputedOperandsAreRefused) {
  Model model(5);
  model.graph.mark_output(model.op("MatMul", {model.input({64, 64}), model.input({64, 64})}));
  EXPECT_FALSE(jit_->lower(model.graph, model.graph.node_ids(), on_tiles(model)).is_ok());
}

TEST_F(AmxProducts, FastProductsAreNearlyAsGood) {
  make_for(codegen::Numerics::Fast);
  Model model(8);
  ValueId y = model.op("MatMul", {model.input({75, 1300}), model.constant({1300, 110})});
  model.graph.mark_output(model.op("Relu", {y}));
  expect_tiles(model, 3e-5);
}

TEST(AmxRefusals, OtherProcessorsAndStrictNumerics) {
  Model model(2);
  model.graph.mark_output(model.op("MatMul", {model.input({64, 64}), model.constant({64, 64})}));
  const auto why = [&](codegen::JitOptions options) {
    auto jit = codegen::Jit::create(options);
    const auto lowered = (*jit)->lower(model.graph, model.graph.node_ids(), on_tiles(model));
    EXPECT_FALSE(lowered.is_ok());
    return lowered.message();
  };
  EXPECT_EQ(why({.cpu = "haswell"}), "generator `amx_gemm`: this processor has no AMX for bf16");
  EXPECT_EQ(why({.cpu = "", .numerics = codegen::Numerics::Strict}),
            "generator `amx_gemm`: --numerics=strict: products of split operands are no plain sum");
}

TEST(Numerics, StrictSumsAreNotRearranged) {
  Model model(2);
  ir::AttrMap window;
  window.set("pads", runtime::Ints{1, 1, 1, 1});
  const ValueId x = model.input({1, 32, 14, 14});
  const ValueId y = model.op("Conv", {x, model.constant({32, 32, 3, 3})}, window);
  model.graph.mark_output(y);
  codegen::LowerOptions options{{{x, "NHWC"}, {y, "NHWC"}}, {}};
  auto strict = codegen::Jit::create({.cpu = "", .numerics = codegen::Numerics::Strict});
  const RunStats stats = check(model, **strict, 2e-6, -1, 1, options);
  EXPECT_EQ(stats.kernels, 1);
  for (ir::NodeId node : model.graph.node_ids()) options.generators[node] = "winograd";
  EXPECT_EQ((*strict)->lower(model.graph, model.graph.node_ids(), options).message(),
            "generator `winograd`: --numerics=strict: minimal filtering is no plain sum");
}

// Taps that meet the same element of the smaller picture become one weight, unless sums are strict.
TEST(Numerics, StrictTapsStayApart) {
  for (const auto numerics : {codegen::Numerics::Strict, codegen::Numerics::F32}) {
    Model model(4);
    ir::Constant scales;
    scales.data = runtime::Tensor(ir::DType::F32, {4});
    const float factors[] = {1, 1, 2, 2};
    std::copy(std::begin(factors), std::end(factors), scales.data.as<float>().begin());
    ir::AttrMap resize;
    resize.set("coordinate_transformation_mode", std::string("asymmetric"));
    resize.set("nearest_mode", std::string("floor"));
    const ValueId x = model.input({1, 16, 6, 6});
    ValueId y = model.op("Resize", {x, ValueId(), model.graph.add_constant("scales", scales)}, resize);
    ir::AttrMap window;
    window.set("pads", runtime::Ints{1, 1, 1, 1});
    y = model.op("Conv", {y, model.constant({24, 16, 3, 3})}, window);
    model.graph.mark_output(y);
    auto jit = codegen::Jit::create({.cpu = "", .numerics = numerics});
    const RunStats stats = check(model, **jit, 3e-6, -1, 1, {{{x, "NHWC"}, {y, "NHWC"}}, {}});
    EXPECT_EQ(stats.references, 0);
    EXPECT_EQ(stats.kernels, numerics == codegen::Numerics::Strict ? 2 : 4);
  }
}

}  // namespace
}  // namespace collage::codegen_test
