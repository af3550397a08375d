// SPDX-License-Identifier: Apache-2.0
// The vector functions against double precision, over their whole range.
#include "runtime/core/external_functions.h"
#include "tests/unit/compiler/codegen/harness.h"

namespace collage::codegen_test {
namespace {

struct Function {
  const char* op;
  double (*exact)(double);
  float low;
  float high;
  double relative;  ///< error bound
};

std::vector<float> evaluate(codegen::Jit& jit, const char* op, const std::vector<float>& arguments,
                            const ir::AttrMap& attrs = {}) {
  Model model(1);
  auto count = static_cast<int64_t>(arguments.size());
  ValueId x = model.input({count});
  ValueId y = model.op(op, {x}, attrs);
  model.graph.mark_output(y);
  auto lowered = jit.lower(model.graph, model.graph.node_ids());
  EXPECT_TRUE(lowered.is_ok());
  EXPECT_EQ(lowered->calls.size(), 1U);
  const auto& kernel = std::get<codegen::LoweredKernel>(lowered->calls[0]);
  std::vector<float> results(arguments.size());
  std::vector<void*> buffers;
  for (const codegen::LoweredOperand& operand : kernel.operands) {
    if (operand.kind == codegen::LoweredOperand::Kind::Constant) {
      buffers.push_back(lowered->constants[static_cast<size_t>(operand.index)].data());
    } else {
      buffers.push_back(operand.value == x ? const_cast<float*>(arguments.data()) : results.data());
    }
  }
  jit.find(kernel.symbol)(buffers.data(), runtime::external_table(), 0, kernel.extent);
  return results;
}

TEST(CodegenMath, ErrorsAreSmall) {
  auto jit = codegen::Jit::create({});
  ASSERT_TRUE(jit.is_ok());
  const std::vector<Function> functions = {
      {"Exp", [](double x) { return std::exp(x); }, -87.0F, 88.7F, 3e-7},
      {"Log", [](double x) { return std::log(x); }, 1e-30F, 1e30F, 3e-7},
      {"Log", [](double x) { return std::log(x); }, 0.5F, 2.0F, 3e-7},
      {"Tanh", [](double x) { return std::tanh(x); }, -20.0F, 20.0F, 3e-7},
      {"Tanh", [](double x) { return std::tanh(x); }, -0.7F, 0.7F, 3e-7},
      {"Erf", [](double x) { return std::erf(x); }, -5.0F, 5.0F, 3e-7},
      {"Erf", [](double x) { return std::erf(x); }, -0.01F, 0.01F, 3e-7},
      {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, -80.0F, 80.0F, 5e-7},
      {"Sin", [](double x) { return std::sin(x); }, -3.0F, 3.0F, 2.4e-7},
      {"Sin", [](double x) { return std::sin(x); }, -13000.0F, 13000.0F, 2.4e-7},
      {"Sin", [](double x) { return std::sin(x); }, 1e-30F, 1e38F, 2.4e-7},
      {"Cos", [](double x) { return std::cos(x); }, -3.0F, 3.0F, 2.4e-7},
      {"Cos", [](double x) { return std::cos(x); }, -13000.0F, 13000.0F, 2.4e-7},
      {"Cos", [](double x) { return std::cos(x); }, 1e-30F, 1e38F, 2.4e-7},
  };
  for (const Function& f : functions) {
    std::vector<float> arguments;
    for (int i = 0; i <= 200000; ++i) {
      double t = i / 200000.0;
      bool logarithmic = f.low > 0;
      arguments.push_back(static_cast<float>(logarithmic ? f.low * std::pow(static_cast<double>(f.high) / f.low, t)
                                                         : f.low + (static_cast<double>(f.high) - f.low) * t));
    }
    std::vector<float> results = evaluate(**jit, f.op, arguments);
    double worst = 0;
    float at = 0;
    for (size_t i = 0; i < results.size(); ++i) {
      double exact = f.exact(arguments[i]);
      double error = std::abs(results[i] - exact) / std::max(std::abs(exact), 1e-37);
      if (!(error <= worst)) {
        worst = error;
        at = arguments[i];
      }
    }
    EXPECT_LE(worst, f.relative) << f.op << " at " << at;
    RecordProperty(std::string(f.op), std::to_string(worst));
  }
}

/// Distance in units of the last place of the exact value; that of the least normal number below it.
double units_between(float got, double exact) {
  constexpr int kLeastExponent = -126;
  int exponent = kLeastExponent;
  if (exact != 0) exponent = std::max(kLeastExponent, std::ilogb(exact));
  return std::abs(got - exact) / std::ldexp(1.0, exponent - 23);
}

// Every exponent, both signs: zeros, denormal numbers, all magnitudes up to the largest. More of those below 32, where
// the functions bend.
std::vector<float> all_magnitudes() {
  std::vector<float> arguments;
  std::mt19937 random(3);
  for (uint32_t exponent = 0; exponent < 255; ++exponent) {
    for (int i = 0; i < 2000; ++i) {
      const uint32_t bits = (random() & 0x807FFFFFU) | exponent << 23;
      float x = 0;
      std::memcpy(&x, &bits, sizeof(x));
      arguments.push_back(x);
    }
  }
  std::uniform_real_distribution<float> number(-32, 32);
  for (int i = 0; i < 400000; ++i) arguments.push_back(number(random));
  arguments.insert(arguments.end(), {0.0F, -0.0F});
  return arguments;
}

struct Activation {
  const char* op;
  double (*exact)(double);
  double units;  ///< error bound
  ir::AttrMap attrs = {};
};

TEST(CodegenMath, UnitsInTheLastPlace) {
  auto jit = codegen::Jit::create({});
  ASSERT_TRUE(jit.is_ok());
  const std::vector<float> arguments = all_magnitudes();
  const auto sigmoid = [](double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); };
  const auto mish = [](double x) {
    const double e = std::exp(std::min(x, 50.0));
    return x * (e * (e + 2) / (e * (e + 2) + 2));
  };
  const auto gelu_tanh = [](double x) {
    const double t = 2 * std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
    return t < -700 ? x * std::exp(t) : x / (1 + std::exp(-t));
  };
  ir::AttrMap approximate, celu, elu;
  approximate.set("approximate", std::string("tanh"));
  celu.set("alpha", 0.5);
  elu.set("alpha", 0.7);
  const std::vector<Activation> functions = {
      {"Exp", [](double x) { return std::exp(x); }, 2},
      {"Tanh", [](double x) { return std::tanh(x); }, 2},
      {"Erf", [](double x) { return std::erf(x); }, 2},
      {"Sigmoid", sigmoid, 2},
      {"Softplus", [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }, 2},
      {"Elu", [](double x) { return x < 0 ? std::expm1(x) : x; }, 2},
      {"Elu", [](double x) { return x < 0 ? static_cast<double>(0.7F) * std::expm1(x) : x; }, 2, elu},
      {"Selu",
       [](double x) { return 1.05070102214813232421875 * (x < 0 ? 1.67326319217681884765625 * std::expm1(x) : x); }, 2},
      {"Celu", [](double x) { return x < 0 ? std::expm1(x) : x; }, 2},
      {"Celu", [](double x) { return x < 0 ? 0.5 * std::expm1(x / 0.5) : x; }, 2, celu},
      {"Mish", mish, 4},
      {"Gelu", [](double x) { return 0.5 * x * std::erfc(-x * std::sqrt(0.5)); }, 6},
      {"Gelu", gelu_tanh, 4, approximate}};
  for (const auto& [op, exact, bound, attrs] : functions) {
    const std::vector<float> results = evaluate(**jit, op, arguments, attrs);
    double worst = 0;
    float at = 0;
    for (size_t i = 0; i < results.size(); ++i) {
      const double want = exact(arguments[i]);
      // Beyond the largest number the result is infinite.
      if (want >= std::numeric_limits<float>::max() && std::isinf(results[i])) continue;
      const double units = units_between(results[i], want);
      if (!(units <= worst)) {
        worst = units;
        at = arguments[i];
      }
    }
    EXPECT_LE(worst, bound) << op << " at " << at;
    RecordProperty(std::string(op), std::to_string(worst));
  }
  for (const char* op : {"Tanh", "Erf", "Elu", "Celu", "Mish", "Gelu"}) {
    EXPECT_TRUE(std::signbit(evaluate(**jit, op, {-0.0F})[0])) << op;
  }
}

TEST(CodegenMath, SpecialValues) {
  auto jit = codegen::Jit::create({});
  ASSERT_TRUE(jit.is_ok());
  float infinity = std::numeric_limits<float>::infinity();
  float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> arguments = {0, infinity, -infinity, nan, 1e-40F, -1, 1000, -1000};
  std::vector<float> e = evaluate(**jit, "Exp", arguments);
  EXPECT_EQ(e[0], 1);
  EXPECT_EQ(e[1], infinity);
  EXPECT_EQ(e[2], 0);
  EXPECT_TRUE(std::isnan(e[3]));
  EXPECT_EQ(e[6], infinity);
  EXPECT_EQ(e[7], 0);
  std::vector<float> l = evaluate(**jit, "Log", arguments);
  EXPECT_EQ(l[0], -infinity);
  EXPECT_EQ(l[1], infinity);
  EXPECT_TRUE(std::isnan(l[2]));
  EXPECT_TRUE(std::isnan(l[3]));
  EXPECT_NEAR(l[4], std::log(1e-40), 1e-4);
  EXPECT_TRUE(std::isnan(l[5]));
  for (const char* op : {"Tanh", "Erf"}) {
    std::vector<float> t = evaluate(**jit, op, arguments);
    EXPECT_EQ(t[0], 0) << op;
    EXPECT_EQ(t[1], 1) << op;
    EXPECT_EQ(t[2], -1) << op;
    EXPECT_TRUE(std::isnan(t[3])) << op;
  }
  for (const char* op : {"Sin", "Cos"}) {
    std::vector<float> t = evaluate(**jit, op, {-0.0F, infinity, -infinity, nan, 1e-40F});
    EXPECT_EQ(t[0], op[0] == 'S' ? 0 : 1) << op;
    EXPECT_EQ(std::signbit(t[0]), op[0] == 'S') << op;
    for (size_t i : {1, 2, 3}) EXPECT_TRUE(std::isnan(t[i])) << op << i;
    EXPECT_EQ(t[4], op[0] == 'S' ? 1e-40F : 1) << op;
  }
}

}  // namespace
}  // namespace collage::codegen_test
