// SPDX-License-Identifier: Apache-2.0
// Functions over all exponents, and every operator on NaN, infinities and zeros, in all ways to run it. Run alone, it
// prints for each case the errors of every backend, in units in the last place of the result and of the operand, and
// how many results are special where the exact one is not, or the reverse.
//
// Our code gives special results where they belong. A library may turn a NaN into a number, and nothing else, and only
// where its rules say so: with --numerics=strict no way loses any.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/sema/model/rule_test_model.h"
#include "runtime/core/element.h"
#include "tests/accuracy/in_dtype.h"
#include "tests/accuracy/run_everywhere.h"
#include "tests/accuracy/special_cases.h"

namespace collage::testing {
namespace {

using runtime::Tensor;

/// In units in the last place: of our own code and of the reference kernels, whose functions are within 2.2 of the
/// exact result, and in chains of two; of libraries, which are less precise, but not by powers of ten.
constexpr double kOwnUnits = 6;
constexpr double kLibraryUnits = 300;
/// Results below may lose digits, because they come from denormal numbers.
constexpr double kSmall = 0x1p-118;
/// Sums are in another order, and functions of them.
constexpr double kRelative = 1e-4;

/// What is wrong with the results of one way.
struct Findings {
  double units = 0;  ///< of finite results
  double at = 0;     ///< operand where that is so
  int nans_lost = 0;
  int nans_made = 0;
  int infinities = 0;  ///< an infinity for a number or the reverse, or of the wrong sign
  int flushed = 0;     ///< 0 for a small number
  int places = 0;      ///< of integers that are not equal
  int zero_signs = 0;
  std::string example{};

  int special() const { return nans_lost + nans_made + infinities + places; }
};

bool overflows(double y) {
  return std::abs(y) >= static_cast<double>(std::numeric_limits<float>::max());
}

double unit_at(double y) {
  constexpr double kLeast = 0x1p-149;
  if (y == 0 || !std::isfinite(y)) return kLeast;
  return std::max(kLeast, std::ldexp(1.0, std::ilogb(y) - 23));
}

/// The truth, and how far it moves for a unit in the last place of the first operand (elementwise cases only).
struct Truth {
  std::vector<Tensor> exact;
  std::vector<double> sway;  ///< of the first result
};

class SpecialValues : public ::testing::Test {
 protected:
  /// Builds the case with its weights.
  std::optional<ir::Graph> build(const SpecialCase& one) {
    ir::RuleTest test;
    test.model = one.statements;
    for (const auto* values : {&one.inputs, &one.weights}) {
      for (const auto& [name, data] : *values)
        test.inputs.emplace_back(name, ir::TensorType{data.dtype(), data.shape()});
    }
    for (const auto& [name, data] : one.weights) test.constants.push_back(name);
    support::Diagnostics diags(sources_);
    std::optional<ir::Graph> graph = sema::build_test_model(sources_, one.name, test, diags);
    if (!graph) {
      ADD_FAILURE() << diags.render();
      return std::nullopt;
    }
    for (const auto& [name, data] : one.weights) {
      ir::Constant& constant = *graph->value(graph->find_value(name)).constant;
      constant.data = data;
      constant.form = ir::Constant::Form::Literal;
    }
    return graph;
  }

  static std::vector<Tensor> inputs_of(const ir::Graph& graph, const SpecialCase& one) {
    std::vector<Tensor> inputs;
    for (ir::ValueId id : graph.inputs()) {
      for (const auto& [name, data] : one.inputs) {
        if (graph.value(id).name == name) inputs.push_back(data);
      }
    }
    return inputs;
  }

  static std::optional<Truth> truth_of(const ir::Graph& graph, const std::vector<Tensor>& inputs, bool is_elementwise) {
    std::optional<ir::Graph> wide = in_dtype(graph, ir::DType::F64);
    if (!wide) return std::nullopt;
    std::vector<Tensor> wide_inputs;
    for (const Tensor& input : inputs) wide_inputs.push_back(in_dtype(input, ir::DType::F64));
    auto exact = ir::evaluate_graph(*wide, wide_inputs);
    if (!exact) return std::nullopt;
    Truth truth{*exact, {}};
    if (!is_elementwise) return truth;
    truth.sway.assign(static_cast<size_t>((*exact)[0].count()), 0.0);
    for (const double factor : {1 - 0x1p-23, 1 + 0x1p-23}) {
      std::vector<Tensor> moved = wide_inputs;
      moved[0] = Tensor(ir::DType::F64, inputs[0].shape());
      for (int64_t i = 0; i < moved[0].count(); ++i) {
        runtime::set_element(moved[0].view(), i, runtime::element_as_double(wide_inputs[0].view(), i) * factor);
      }
      auto swayed = ir::evaluate_graph(*wide, moved);
      if (!swayed) return std::nullopt;
      for (int64_t i = 0; i < truth.exact[0].count(); ++i) {
        const double by = std::abs(runtime::element_as_double((*swayed)[0].view(), i) -
                                   runtime::element_as_double(truth.exact[0].view(), i));
        double& sway = truth.sway[static_cast<size_t>(i)];
        if (std::isfinite(by)) sway = std::max(sway, by);
      }
    }
    return truth;
  }

  /// `by_operand`: errors count in units of the operand where that is larger than the result.
  static Findings compare(const std::vector<Tensor>& got, const Truth& truth, const Tensor& x, bool by_operand) {
    Findings found;
    double largest = 0;
    for (int64_t i = 0; i < truth.exact[0].count(); ++i) {
      const double want = runtime::element_as_double(truth.exact[0].view(), i);
      if (std::isfinite(want) && !overflows(want)) largest = std::max(largest, std::abs(want));
    }
    for (size_t r = 0; r < got.size(); ++r) {
      for (int64_t i = 0; i < got[r].count(); ++i) {
        const double have = runtime::element_as_double(got[r].view(), i);
        const double want = runtime::element_as_double(truth.exact[r].view(), i);
        const bool has_sway = r == 0 && !truth.sway.empty();
        const int before = found.special();
        if (!runtime::is_float(got[r].dtype())) {
          found.places += have != want ? 1 : 0;
        } else if (std::isnan(want) || std::isnan(have)) {
          found.nans_lost += std::isnan(have) ? 0 : 1;
          found.nans_made += std::isnan(want) ? 0 : 1;
        } else if (overflows(want)) {
          const bool is_near = std::abs(want) < 3.5e38 && std::abs(have) > 3.3e38;
          found.infinities += (std::isinf(have) || is_near) && (have > 0) == (want > 0) ? 0 : 1;
        } else if (std::isinf(have)) {
          found.infinities += std::abs(want) > 3.3e38 ? 0 : 1;
        } else if (want == 0 && have == 0) {
          found.zero_signs += std::signbit(want) != std::signbit(have) ? 1 : 0;
        } else if (std::abs(want) < kSmall && std::abs(have) < 2 * kSmall) {
          found.flushed += have == 0 && static_cast<float>(want) != 0 ? 1 : 0;
        } else {
          const double sway = has_sway ? truth.sway[static_cast<size_t>(i)] : largest * kRelative;
          const double operand = by_operand ? runtime::element_as_double(x.view(), i % x.count()) : 0;
          const double units = std::abs(have - want) / (unit_at(std::max(std::abs(want), std::abs(operand))) + sway);
          if (units > found.units) {
            found.units = units;
            found.at = runtime::element_as_double(x.view(), i % x.count());
          }
        }
        if (found.special() > before && found.example.empty()) {
          found.example = fmt::format("[{}] of {:.7g} is {:.7g}, not {:.7g}", i,
                                      runtime::element_as_double(x.view(), i % x.count()), have, want);
        }
      }
    }
    return found;
  }

  static std::string text_of(const Findings& found) {
    std::string text = fmt::format("{:>8.3g} units", found.units);
    if (found.units > 2) text += fmt::format(" at {:.7g}", found.at);
    if (found.flushed > 0) text += fmt::format(", {} small numbers lost", found.flushed);
    if (found.nans_lost > 0) text += fmt::format(", {} NaN lost", found.nans_lost);
    if (found.nans_made > 0) text += fmt::format(", {} NaN made", found.nans_made);
    if (found.infinities > 0) text += fmt::format(", {} infinities", found.infinities);
    if (found.places > 0) text += fmt::format(", {} places", found.places);
    if (found.zero_signs > 0) text += fmt::format(", {} signs of zero", found.zero_signs);
    return found.example.empty() ? text : text + ": " + found.example;
  }

  /// Checks a case on the reference kernels and in all ways, and prints what each does.
  void check(const SpecialCase& one, bool is_elementwise) {
    SCOPED_TRACE(one.name + ": " + one.statements);
    std::optional<ir::Graph> graph = build(one);
    if (!graph) return;
    const std::vector<Tensor> inputs = inputs_of(*graph, one);
    const std::optional<Truth> truth = truth_of(*graph, inputs, is_elementwise);
    auto reference = ir::evaluate_graph(*graph, inputs);
    if (!truth || !reference) return;  // an operator that has no form in f64, or takes no such operands
    const Findings expected = compare(*reference, *truth, inputs[0], false);
    // Libraries add 1 to a function near -1, as the operator's definition has it.
    const bool cancels = one.statements.find("Gelu(") != std::string::npos;
    EXPECT_EQ(expected.special(), 0) << "reference: " << text_of(expected);
    std::map<std::string, Findings> by_backend;
    auto run = [&](const Backends& backends, bool keeps_all) {
      const std::string problem =
          backends.run(*graph, inputs, [&](const Backends::Way& way, const std::vector<Tensor>& results) {
            ++ways_;
            const bool is_own = way.backend == "host";
            const Findings found = compare(results, *truth, inputs[0], cancels && !is_own);
            EXPECT_EQ(found.special() - (keeps_all ? 0 : found.nans_lost), 0)
                << way.backend << way.formats << (keeps_all ? " strict: " : ": ") << text_of(found);
            EXPECT_LE(found.units, is_own ? kOwnUnits : kLibraryUnits)
                << way.backend << way.formats << ": " << text_of(found);
            const auto [at, is_new] = by_backend.emplace(way.backend, found);
            if (!is_new && found.special() + found.units > at->second.special() + at->second.units) at->second = found;
          });
      EXPECT_EQ(problem, "");
    };
    run(strict_, true);
    run(usual_, false);
    for (const auto& [backend, found] : by_backend) {
      fmt::print("{:28}{:10}{}\n", one.name, backend, text_of(found));
    }
  }

  support::SourceManager sources_;
  Backends strict_{{codegen::Numerics::Strict}, {}};
  Backends usual_{{codegen::Numerics::F32}, {"host"}};  // whose Winograd spreads special values over a tile
  int ways_ = 0;
};

TEST_F(SpecialValues, Functions) {
  for (const SpecialCase& one : function_cases()) check(one, true);
  EXPECT_GT(ways_, 100);
}

TEST_F(SpecialValues, Tensors) {
  for (const SpecialCase& one : tensor_cases()) check(one, false);
  EXPECT_GT(ways_, 300);
}

}  // namespace
}  // namespace collage::testing
