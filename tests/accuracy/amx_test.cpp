// SPDX-License-Identifier: Apache-2.0
// Products of split operands on AMX beside fused multiply-adds: the errors of both against f64, in units of the sum of
// the products' magnitudes.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "runtime/core/tiles.h"
#include "tests/accuracy/measure_errors.h"
#include "tests/unit/compiler/codegen/harness.h"

namespace collage::testing {
namespace {

using codegen_test::Model;
using runtime::Tensor;

/// A unit in the last place: a sum of few products has hardly any other error.
constexpr double kUnit = 0x1p-23;

struct Distribution {
  std::string name;
  std::function<float(std::mt19937&)> draw;
};

std::vector<Distribution> distributions() {
  const auto uniform = [](float low, float high) {
    return [=](std::mt19937& random) { return std::uniform_real_distribution<float>(low, high)(random); };
  };
  return {{"uniform", uniform(-1, 1)},
          {"positive", uniform(0, 1)},
          {"normal", [](std::mt19937& random) { return std::normal_distribution<float>()(random); }},
          {"wide",
           [](std::mt19937& random) {
             return std::ldexp(std::uniform_real_distribution<float>(-1, 1)(random),
                               static_cast<int>(random() % 41) - 20);
           }},
          {"sparse",
           [](std::mt19937& random) { return random() % 4 > 0 ? 0.0F : std::normal_distribution<float>()(random); }}};
}

Tensor drawn(const ir::Shape& shape, const Distribution& from, std::mt19937& random) {
  Tensor tensor(ir::DType::F32, shape);
  for (float& value : tensor.as<float>()) value = from.draw(random);
  return tensor;
}

/// x w by generated code with this generator; "" stands for the usual one.
std::vector<float> product(const Tensor& x, const Tensor& w, const std::string& generator, codegen::Numerics numerics) {
  Model model(1);
  const ir::ValueId a = model.input(x);
  ir::Constant constant;
  constant.data = w;
  const ir::ValueId y = model.op("MatMul", {a, model.graph.add_constant("w", constant)});
  model.graph.mark_output(y);
  codegen::LowerOptions options;
  if (!generator.empty()) options.generators[model.graph.node_ids().front()] = generator;
  auto jit = codegen::Jit::create({.cpu = "", .numerics = numerics});
  auto lowered = (*jit)->lower(model.graph, model.graph.node_ids(), options);
  if (!lowered) {
    ADD_FAILURE() << lowered.message();
    return {};
  }
  Tensor result(ir::DType::F32, model.graph.value(y).type.shape);
  std::map<ir::ValueId, runtime::TensorView> views = {{a, x.view()}, {y, result.view()}};
  std::vector<codegen_test::Memory> temporaries;
  codegen_test::run_kernel(**jit, std::get<codegen::LoweredKernel>(lowered->calls.at(0)), *lowered, views, temporaries,
                           model.random());
  return {result.as<float>().begin(), result.as<float>().end()};
}

Error error_against_f64(const std::vector<float>& y, const Tensor& x, const Tensor& w) {
  const int64_t rows = x.shape()[0], depth = x.shape()[1], columns = w.shape()[1];
  Error error;
  double squares = 0;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      double sum = 0, size = 0;
      for (int64_t k = 0; k < depth; ++k) {
        const double p = double{x.as<float>()[static_cast<size_t>(r * depth + k)]} *
                         w.as<float>()[static_cast<size_t>(k * columns + c)];
        sum += p;
        size += std::abs(p);
      }
      const double off = std::abs(y[static_cast<size_t>(r * columns + c)] - sum) / std::max(size, 1e-300);
      error.greatest = std::max(error.greatest, off);
      squares += off * off;
    }
  }
  error.rms = std::sqrt(squares / static_cast<double>(rows * columns));
  return error;
}

TEST(Accuracy, ProductsOnAmxAreNoWorseThanMultiplyAdds) {
  if (!runtime::tile_obstacle().empty()) GTEST_SKIP() << runtime::tile_obstacle();
  fmt::print("max and rms error against f64, in units of the sum of magnitudes\n{:10}{:>16}{:>18}{:>18}{:>18}\n", "",
             "", "multiply-adds", "AMX", "AMX fast");
  std::mt19937 random(5);
  for (const auto& [rows, depth, columns] :
       std::vector<std::array<int64_t, 3>>{{64, 32, 64}, {50, 70, 90}, {128, 768, 96}, {33, 3072, 64}}) {
    for (const Distribution& one : distributions()) {
      SCOPED_TRACE(one.name);
      const Tensor x = drawn({rows, depth}, one, random), w = drawn({depth, columns}, one, random);
      const Error plain = error_against_f64(product(x, w, "", codegen::Numerics::F32), x, w);
      const Error amx = error_against_f64(product(x, w, "amx_gemm", codegen::Numerics::F32), x, w);
      const Error fast = error_against_f64(product(x, w, "amx_gemm", codegen::Numerics::Fast), x, w);
      fmt::print("{:10}{:>16}{:>9.1e} {:>8.1e}{:>9.1e} {:>8.1e}{:>9.1e} {:>8.1e}\n", one.name,
                 fmt::format("{}x{}x{}", rows, depth, columns), plain.greatest, plain.rms, amx.greatest, amx.rms,
                 fast.greatest, fast.rms);
      EXPECT_LE(amx.greatest, std::max(plain.greatest, kUnit));
      EXPECT_LE(amx.rms, plain.rms);
      EXPECT_LE(fast.greatest, 0x1p-14);
    }
  }
}

}  // namespace
}  // namespace collage::testing
