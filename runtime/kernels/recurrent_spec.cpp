// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "runtime/kernels/recurrent.h"

namespace collage::runtime {
namespace {

/// One row of ONNX's table of activation functions; a NaN constant is one that the function does not take.
struct FunctionRow {
  std::string_view name;
  double (*apply)(double, double, double);
  double alpha;
  double beta;
};

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

constexpr std::array kFunctions = {
    FunctionRow{"Affine", [](double x, double a, double b) { return a * x + b; }, 1.0, 0.0},
    FunctionRow{"Elu", [](double x, double a, double) { return x < 0 ? a * std::expm1(x) : x; }, 1.0, kNone},
    FunctionRow{"HardSigmoid", [](double x, double a, double b) { return std::clamp(a * x + b, 0.0, 1.0); }, 0.2, 0.5},
    FunctionRow{"LeakyRelu", [](double x, double a, double) { return x < 0 ? a * x : x; }, 0.01, kNone},
    FunctionRow{"Relu", [](double x, double, double) { return x < 0 ? 0.0 : x; }, kNone, kNone},
    FunctionRow{"ScaledTanh", [](double x, double a, double b) { return a * std::tanh(b * x); }, 1.0, 1.0},
    FunctionRow{"Sigmoid", [](double x, double, double) { return 1 / (1 + std::exp(-x)); }, kNone, kNone},
    FunctionRow{"Softplus",
                [](double x, double, double) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }, kNone,
                kNone},
    FunctionRow{"Softsign", [](double x, double, double) { return x / (1 + std::abs(x)); }, kNone, kNone},
    FunctionRow{"Tanh", [](double x, double, double) { return std::tanh(x); }, kNone, kNone},
    FunctionRow{"ThresholdedRelu", [](double x, double a, double) { return x >= a ? x : 0.0; }, 1.0, kNone},
};

Strings default_functions(CellKind kind) {
  switch (kind) {
    case CellKind::Rnn: return {"Tanh"};
    case CellKind::Gru: return {"Sigmoid", "Tanh"};
    case CellKind::Lstm: return {"Sigmoid", "Tanh", "Tanh"};
  }
  return {};
}

/// The next constant that the user gave, or the default of the function; nullopt if the function takes none.
double take_constant(double fallback, const Floats& given, size_t* next) {
  if (std::isnan(fallback)) return 0;
  return *next < given.size() ? given[(*next)++] : fallback;
}

}  // namespace

std::optional<RecurrentProblem> resolve_recurrent(CellKind kind, const AttrMap& attrs, RecurrentSpec* spec) {
  std::string direction = attrs.get_string("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    return RecurrentProblem{"direction",
                            "`direction` is forward, reverse or bidirectional, found \"" + direction + "\""};
  }
  spec->starts_backward = direction == "reverse";
  spec->directions = direction == "bidirectional" ? 2 : 1;
  int64_t layout = attrs.get_int("layout", 0);
  if (layout != 0 && layout != 1) {
    return RecurrentProblem{"layout", "`layout` is 0 or 1, found " + std::to_string(layout)};
  }
  spec->batch_first = layout == 1;
  spec->clip = attrs.get_float("clip", 0);
  if (!(spec->clip >= 0)) return RecurrentProblem{"clip", "`clip` must not be negative"};
  Strings defaults = default_functions(kind);
  auto directions = static_cast<size_t>(spec->directions);
  Strings names = attrs.get_strings("activations");
  if (names.empty()) {
    for (size_t d = 0; d < directions; ++d) names.insert(names.end(), defaults.begin(), defaults.end());
  }
  if (names.size() != directions * defaults.size()) {
    return RecurrentProblem{"activations", "`activations` has " + std::to_string(names.size()) + " names, needs " +
                                               std::to_string(directions * defaults.size())};
  }
  Floats alphas = attrs.get_floats("activation_alpha");
  Floats betas = attrs.get_floats("activation_beta");
  size_t next_alpha = 0, next_beta = 0;
  spec->functions.assign(directions, {});
  for (size_t i = 0; i < names.size(); ++i) {
    auto row = std::find_if(kFunctions.begin(), kFunctions.end(),
                            [&](const FunctionRow& candidate) { return candidate.name == names[i]; });
    if (row == kFunctions.end()) {
      return RecurrentProblem{"activations", "`activations` names \"" + names[i] + "\", which is no such function"};
    }
    double alpha = take_constant(row->alpha, alphas, &next_alpha);
    double beta = take_constant(row->beta, betas, &next_beta);
    spec->functions[i / defaults.size()].push_back({row->name, row->apply, alpha, beta});
  }
  return std::nullopt;
}

}  // namespace collage::runtime
