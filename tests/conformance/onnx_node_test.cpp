// SPDX-License-Identifier: Apache-2.0
// ONNX's operator tests, one folder each: import the model, run it by the reference kernels on the given inputs,
// compare with the given outputs. A model that uses what we do not have is counted, not failed; one that we accept must
// be right.
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

#ifdef COLLAGE_ONNX_TESTDATA
constexpr const char* kFolder = COLLAGE_ONNX_TESTDATA;
#else
constexpr const char* kFolder = nullptr;
#endif

/// How many tests passed when this number was last raised. Fewer is a regression.
constexpr int kLeastPassing = 522;

/// Tests whose expected outputs we do not aim at, and why.
struct Exception {
  std::string_view test;
  std::string_view reason;
};
constexpr std::string_view kCubic = "cubic interpolation is not supported";
constexpr std::array kExceptions = {
    Exception{"test_maxpool_with_argmax_2d_precomputed_strides", "column-major indices are not supported"},
    Exception{"test_resize_downsample_scales_cubic", kCubic},
    Exception{"test_resize_downsample_scales_cubic_A_n0p5_exclude_outside", kCubic},
    Exception{"test_resize_downsample_scales_cubic_align_corners", kCubic},
    Exception{"test_resize_downsample_sizes_cubic", kCubic},
    // The expected output takes 4 x 0.6 = 2.4 for the length of the result, which has 2 elements; PyTorch takes 2.
    Exception{"test_resize_downsample_scales_linear_align_corners", "a length that is no whole number"},
    Exception{"test_resize_downsample_sizes_nearest_tf_half_pixel_for_nn", "a coordinate mode that is not supported"},
    Exception{"test_resize_tf_crop_and_resize", "a coordinate mode that is not supported"},
    Exception{"test_resize_upsample_scales_cubic", kCubic},
    Exception{"test_resize_upsample_scales_cubic_A_n0p5_exclude_outside", kCubic},
    Exception{"test_resize_upsample_scales_cubic_align_corners", kCubic},
    Exception{"test_resize_upsample_scales_cubic_asymmetric", kCubic},
    Exception{"test_resize_upsample_sizes_cubic", kCubic},
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

TEST(OnnxNodeTest, EverySupportedOperatorTestPasses) {
  if (kFolder == nullptr) GTEST_SKIP() << "libonnx-testdata is not installed";
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
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
  std::printf("%zu tests: %d passed, %d use what is not supported, %d excepted\n", folders.size(),
              counts[Outcome::Passed], counts[Outcome::Unsupported], excepted);
  EXPECT_GE(counts[Outcome::Passed], kLeastPassing);
}

}  // namespace
}  // namespace collage
