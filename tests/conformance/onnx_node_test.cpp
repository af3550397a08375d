// SPDX-License-Identifier: Apache-2.0
// ONNX's tests of operators and converted models, one folder each: import the model, run it by the reference kernels on
// the given inputs, compare with the given outputs. A model that uses what we do not have is counted, not failed; one
// that we accept must be right.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "compiler/import/onnx.h"
#include "compiler/import/tensor_proto.h"
#include "compiler/ir/evaluate.h"

namespace collage {
namespace {

using runtime::Tensor;

#ifdef COLLAGE_ONNX_DATA
const char* kFolder = std::getenv("COLLAGE_ONNX_DATA") ? std::getenv("COLLAGE_ONNX_DATA") : COLLAGE_ONNX_DATA;
#else
constexpr const char* kFolder = nullptr;
#endif

/// A folder of tests, and how many of them passed when this number was last raised. Fewer is a regression.
struct Suite {
  std::string folder;
  int least_passing;
};

/// Tests whose expected outputs we do not aim at, and why.
struct Exception {
  std::string_view test;
  std::string_view reason;
};
constexpr std::string_view kFractional =
    "takes 3.2 or 2.4 for the length of a result of 3 or 2 elements; PyTorch does not";
constexpr std::array kExceptions = {
    Exception{"test_resize_downsample_scales_cubic_align_corners", kFractional},
    Exception{"test_resize_downsample_scales_linear_align_corners", kFractional},
};

enum class Outcome { Passed, Unsupported, Failed };

std::vector<std::string> files_named(const std::filesystem::path& folder, const std::string& stem) {
  std::vector<std::string> paths;
  for (int i = 0;; ++i) {
    std::filesystem::path path = folder / fmt::format("{}{}.pb", stem, i);
    if (!std::filesystem::exists(path)) return paths;
    paths.push_back(path.string());
  }
}

std::string difference(const Tensor& got, const Tensor& want) {
  if (got.dtype() != want.dtype()) return "another dtype";
  if (got.shape() != want.shape()) {
    return fmt::format("shape {}, need {}", runtime::to_string(got.shape()), runtime::to_string(want.shape()));
  }
  for (int64_t i = 0; i < want.count(); ++i) {
    double a = element_as_double(got.view(), i), b = element_as_double(want.view(), i);
    bool is_equal = a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-5 + 1e-3 * std::abs(b);
    if (!is_equal) return fmt::format("element {} is {}, need {}", i, a, b);
  }
  return "";
}

bool is_refusal(const support::Diagnostics& diags) {
  return std::all_of(diags.records().begin(), diags.records().end(), [](const support::DiagnosticRecord& record) {
    return record.severity == support::Severity::Warning || record.code == support::Code::UnsupportedOnnx;
  });
}

bool needs_constants(const support::Diagnostics& diags) {
  return std::any_of(diags.records().begin(), diags.records().end(),
                     [](const support::DiagnosticRecord& record) { return record.code == support::Code::NotConstant; });
}

Outcome run_test(const std::filesystem::path& folder, std::string* why) {
  std::vector<Tensor> inputs, wanted;
  for (const std::string& path : files_named(folder / "test_data_set_0", "input_")) {
    auto tensor = import::read_tensor_pb(path);
    if (!tensor) return *why = tensor.message(), Outcome::Unsupported;
    inputs.push_back(*tensor);
  }
  for (const std::string& path : files_named(folder / "test_data_set_0", "output_")) {
    auto tensor = import::read_tensor_pb(path);
    if (!tensor) return *why = tensor.message(), Outcome::Unsupported;
    wanted.push_back(*tensor);
  }
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  std::string model = (folder / "model.onnx").string();
  std::optional<ir::Graph> graph = import::import_onnx(model, diags);
  std::string first_words = diags.render();
  bool is_refused = !graph && is_refusal(diags);
  if (!graph && needs_constants(diags)) {
    // The test gives at run time what decides a shape. Compiled, it is known: bind all inputs.
    import::OnnxOptions options;
    std::vector<std::string> names = import::onnx_input_names(model);
    for (size_t i = 0; i < std::min(names.size(), inputs.size()); ++i) options.bound_inputs[names[i]] = inputs[i];
    support::Diagnostics bound_diags(sources);
    graph = import::import_onnx(model, bound_diags, options);
    is_refused = !graph && is_refusal(bound_diags);
    first_words = bound_diags.render();
    inputs.clear();
  }
  *why = first_words;
  if (!graph) return is_refused ? Outcome::Unsupported : Outcome::Failed;
  auto got = ir::evaluate_graph(*graph, inputs);
  if (!got) return *why = got.message(), Outcome::Failed;
  if (got->size() != wanted.size()) return *why = "another number of outputs", Outcome::Failed;
  for (size_t i = 0; i < wanted.size(); ++i) {
    *why = difference((*got)[i], wanted[i]);
    if (!why->empty()) return Outcome::Failed;
  }
  return Outcome::Passed;
}

class OnnxDataTest : public ::testing::TestWithParam<Suite> {};

TEST_P(OnnxDataTest, EverySupportedTestPasses) {
  if (kFolder == nullptr) GTEST_SKIP() << "libonnx-testdata is not installed";
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(kFolder) / GetParam().folder)) {
    if (std::filesystem::exists(entry.path() / "model.onnx")) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  std::map<Outcome, int> counts;
  int excepted = 0;
  for (const std::filesystem::path& folder : folders) {
    std::string name = folder.filename().string();
    bool is_excepted = std::any_of(kExceptions.begin(), kExceptions.end(),
                                   [&name](const Exception& exception) { return exception.test == name; });
    if (is_excepted) {
      ++excepted;
      continue;
    }
    std::string why;
    Outcome outcome = run_test(folder, &why);
    ++counts[outcome];
    EXPECT_NE(outcome, Outcome::Failed) << name << ": " << why;
    if (outcome == Outcome::Unsupported && std::getenv("COLLAGE_LIST_UNSUPPORTED") != nullptr) {
      std::printf("unsupported %s: %s\n", name.c_str(), why.c_str());
    }
  }
  std::printf("%s: %zu tests: %d passed, %d use what is not supported, %d excepted\n", GetParam().folder.c_str(),
              folders.size(), counts[Outcome::Passed], counts[Outcome::Unsupported], excepted);
  EXPECT_GE(counts[Outcome::Passed], GetParam().least_passing);
}

INSTANTIATE_TEST_SUITE_P(Folders, OnnxDataTest,
                         ::testing::Values(Suite{"node", 810}, Suite{"pytorch-converted", 82},
                                           Suite{"pytorch-operator", 35}, Suite{"simple", 7}),
                         [](const auto& suite) {
                           std::string name = suite.param.folder;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace collage
