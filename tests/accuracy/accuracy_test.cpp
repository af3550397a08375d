// SPDX-License-Identifier: Apache-2.0
// Errors of generated code against f64, for every class of kernels, each layout and each vector width. Run alone, it
// prints a table with the reference kernels, plain f32 and the libraries of this build beside them.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "compiler/sema/rules/build_rules.h"
#include "runtime/core/host_capabilities.h"
#include "tests/accuracy/measure_errors.h"

namespace collage::testing {
namespace {

/// Half a unit in the last place of the greatest result: the least that rounding it can cost.
constexpr double kHalfUnit = 0x1p-24;
/// Generated code sums in another order than plain f32, in vectors and blocks, and with fused multiply-adds; its
/// functions are polynomials. None of it may cost more than a small factor, where one broken lane, dropped term or
/// imprecise polynomial costs orders of magnitude.
constexpr double kFactor = 4;

/// This machine's, and narrower ones that it can run too.
std::vector<std::string> processors() {
  std::vector<std::string> names = {""};
#if defined(__x86_64__)
  const runtime::VectorUnit& vectors = runtime::host_capabilities().vectors;
  if (vectors.lanes >= 8 && vectors.has_fma) names.push_back("haswell");
  names.push_back("x86-64-v2");
#endif
  return names;
}

std::string cell(const std::map<std::string, Error>& errors, const std::string& name) {
  const auto found = errors.find(name);
  if (found == errors.end()) return fmt::format("{:>18}", "");
  return fmt::format("{:>9.1e} {:>8.1e}", found->second.greatest, found->second.rms);
}

class Table {
 public:
  Table() {
    for (const char* backend : {"host", "onednn", "openblas", "xnnpack"}) {
      const std::filesystem::path file =
          std::filesystem::path(COLLAGE_SOURCE_DIR) / "rules" / (backend + std::string(".rules"));
      if (std::filesystem::exists(file)) files_.push_back(file.string());
    }
    support::Diagnostics diags(sources_);
    auto rules = sema::load_rules(sources_, files_, diags);
    if (!rules) throw std::runtime_error(diags.render());
    rules_ = std::move(*rules);
    auto activations = request::activate(rules_, {{}, {}, {}, true}, diags);
    if (!activations) throw std::runtime_error(diags.render());
    activations_ = std::move(*activations);
    for (const request::Activation& activation : activations_) {
      const std::string name = activation.active.backend->name;
      if (activation.absent.empty() && name != "host") libraries_.push_back(name);
    }
    fmt::print("max and rms error against f64, in units of max|y|\n{:22}{:>18}{:>18}", "", "reference", "plain f32");
    for (const std::string& name : processors_) fmt::print("{:>18}", "ours " + (name.empty() ? "native" : name));
    for (const std::string& name : libraries_) fmt::print("{:>18}", name);
    fmt::print("\n");
  }

  /// Measures a case, prints its row and checks the bounds.
  void check(const AccuracyCase& one) {
    SCOPED_TRACE(one.kind + ": " + one.statements);
    const CaseErrors errors = measure_errors(one, rules_, activations_, processors_);
    ASSERT_EQ(errors.problem, "");
    ASSERT_EQ(errors.ours.size(), processors_.size());
    std::string line =
        fmt::format("{:22}{}{}", one.kind, cell({{"", errors.reference}}, ""), cell({{"", errors.plain}}, ""));
    for (const std::string& name : processors_) line += cell(errors.ours, name);
    for (const std::string& name : libraries_) line += cell(errors.libraries, name);
    fmt::print("{}\n", line);
    EXPECT_LE(errors.reference.greatest, kHalfUnit * 1.0001) << "the reference kernels round once";
    for (const auto& [name, error] : errors.ours) {
      EXPECT_LE(error.greatest, kFactor * std::max(errors.plain.greatest, kHalfUnit)) << "for " << name;
      EXPECT_LE(error.rms, kFactor * std::max(errors.plain.rms, kHalfUnit / 2)) << "for " << name;
    }
    layouts_ = std::max(layouts_, errors.layouts);
  }

  int layouts() const { return layouts_; }

 private:
  support::SourceManager sources_;
  std::vector<std::string> files_;
  ir::RuleSet rules_;
  std::vector<request::Activation> activations_;
  std::vector<std::string> libraries_;
  const std::vector<std::string> processors_ = processors();
  int layouts_ = 0;
};

TEST(Accuracy, SumsAreAsGoodAsPlainOnes) {
  Table table;
  for (const AccuracyCase& one : kernel_cases()) table.check(one);
  EXPECT_GE(table.layouts(), 3) << "convolutions run in several layouts";
}

TEST(Accuracy, PointwiseFunctionsAreRoundedWell) {
  Table table;
  const std::vector<AccuracyCase> cases = pointwise_cases();
  for (const AccuracyCase& one : cases) table.check(one);
  EXPECT_GE(cases.size(), 35U);
}

}  // namespace
}  // namespace collage::testing
