// SPDX-License-Identifier: Apache-2.0
// ONNX's tests of operators and converted models, one folder each: import the model, run it by the reference kernels on
// the given inputs, compare with the given outputs. A model that uses what we do not have is counted, not failed; one
// that we accept must be right.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "compiler/ir/analysis/evaluate.h"
#include "tests/conformance/node_test_case.h"

namespace collage {
namespace {

using testing::Outcome;

#ifdef COLLAGE_ONNX_DATA
constexpr const char* kFolder = COLLAGE_ONNX_DATA;
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
constexpr std::string_view kOtherRandom = "the numbers are those of NumPy's generator";
constexpr std::string_view kMistaken =
    "bf16 in the data is cut off instead of rounded, or has another shape than the model says";
constexpr std::array kExceptions = {
    Exception{"test_bernoulli", kOtherRandom},
    Exception{"test_bernoulli_double", kOtherRandom},
    Exception{"test_bernoulli_double_expanded", kOtherRandom},
    Exception{"test_bernoulli_expanded", kOtherRandom},
    Exception{"test_bernoulli_seed", kOtherRandom},
    Exception{"test_bernoulli_seed_expanded", kOtherRandom},
    Exception{"test_cast_FLOAT_to_BFLOAT16", kMistaken},
    Exception{"test_castlike_BFLOAT16_to_FLOAT", kMistaken},
    Exception{"test_castlike_BFLOAT16_to_FLOAT_expanded", kMistaken},
    Exception{"test_castlike_FLOAT_to_BFLOAT16", kMistaken},
    Exception{"test_castlike_FLOAT_to_BFLOAT16_expanded", kMistaken},
    Exception{"test_resize_downsample_scales_cubic_align_corners", kFractional},
    Exception{"test_resize_downsample_scales_linear_align_corners", kFractional},
};

Outcome run_test(const std::filesystem::path& folder, std::string* why) {
  testing::NodeTestCase test = testing::read_node_test(folder);
  *why = test.why;
  if (test.outcome != Outcome::Passed) return test.outcome;
  auto got = ir::evaluate_graph(*test.graph, test.inputs);
  *why = got ? testing::difference(*got, test.wanted) : got.message();
  return why->empty() ? Outcome::Passed : Outcome::Failed;
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
    if (outcome == Outcome::Refused && std::getenv("COLLAGE_LIST_UNSUPPORTED") != nullptr) {
      std::printf("unsupported %s: %s\n", name.c_str(), why.c_str());
    }
  }
  std::printf("%s: %zu tests: %d passed, %d use what is not supported, %d excepted\n", GetParam().folder.c_str(),
              folders.size(), counts[Outcome::Passed], counts[Outcome::Refused], excepted);
  EXPECT_GE(counts[Outcome::Passed], GetParam().least_passing);
}

INSTANTIATE_TEST_SUITE_P(Folders, OnnxDataTest,
                         ::testing::Values(Suite{"node", 863}, Suite{"pytorch-converted", 82},
                                           Suite{"pytorch-operator", 35}, Suite{"simple", 15}),
                         [](const auto& suite) {
                           std::string name = suite.param.folder;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace collage
