// SPDX-License-Identifier: Apache-2.0
// From a model with open dimensions to a package of several shapes: what is padded in it computes what the exact size
// computes.
#include "compiler/shapes/padded_sizes.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "compiler/driver/commands.h"
#include "compiler/request/bindings.h"
#include "compiler/request/option_values.h"
#include "runtime/core/random.h"
#include "runtime/exec/executor.h"
#include "runtime/io/npy.h"
#include "runtime/package/package.h"

namespace collage::shapes {
namespace {

namespace fs = std::filesystem;
using ir::Tensor;

class PaddedSizes : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("collage_padded_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& text) const {
    const std::string path = (folder_ / "m.ir").string();
    std::ofstream(path) << text;
    return path;
  }
  /// `graph`: the fields of a GraphProto.
  std::string write_onnx(const std::string& graph) const {
    onnx::ModelProto proto;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(graph, proto.mutable_graph()));
    proto.mutable_graph()->set_name("m");
    proto.set_ir_version(8);
    proto.add_opset_import()->set_version(17);
    const std::string path = (folder_ / "m.onnx").string();
    std::ofstream(path, std::ios::binary) << proto.SerializeAsString();
    return path;
  }

  /// Why a dimension of size 2 does not run in one of 4; empty: it does.
  std::string obstacle(const std::string& path, const std::string& dimension,
                       const std::vector<ir::ShapeBinding>& others = {}) {
    const auto source = request::ModelSource::open(path, {}, sources_, diags_);
    if (source == nullptr) return diags_.render();
    std::vector<ir::ShapeBinding> exact = others, bucket = others;
    exact.push_back({dimension, {{2, 2}}, "test"});
    bucket.push_back({dimension, {{4, 4}}, "test"});
    return SizeProver(*source, dimension, diags_).prove(exact, bucket, {2, 4}).obstacle;
  }

  static request::Request request_of(const std::string& model, const std::string& package) {
    request::Request request;
    request.model.path = model;
    request.settings.costs.mode = request::CostMode::Estimate;
    request.settings.cache = "";
    request.output = package;
    return request;
  }
  void set_option(request::Request& request, std::string_view flag, const std::vector<std::string>& texts) {
    const request::OptionRow* row = request::find_option(flag, request.command);
    ASSERT_NE(row, nullptr) << flag;
    ASSERT_TRUE(request::set_values(*row, texts, std::string(flag), request, diags_)) << diags_.render();
  }

  driver::Outcome compile(const std::string& path, const std::vector<std::string>& buckets,
                          const std::vector<std::string>& shapes = {}) {
    request::Request request = request_of(path, package());
    set_option(request, "--buckets", buckets);
    set_option(request, "--shape", shapes);
    printed_.clear();
    driver::Output output;
    output.result = [this](std::string_view text) { printed_ += text; };
    return driver::run_command(request, output, {});
  }
  std::string package() const { return (folder_ / "m.collage").string(); }

  /// One run of the package on these inputs.
  static std::vector<Tensor> run(const runtime::PackageSet& set, const std::vector<Tensor>& inputs, size_t* taken) {
    std::vector<std::optional<runtime::Shape>> shapes;
    for (const Tensor& input : inputs) shapes.emplace_back(input.shape());
    const auto choice = runtime::choose_variant(set.shapes(), shapes);
    EXPECT_TRUE(choice) << choice.message();
    if (!choice) return {};
    const auto package = set.load(choice->variant);
    EXPECT_TRUE(package) << package.message();
    if (!package) return {};
    auto executor = runtime::Executor::load(package->plan, *package->code, 1);
    EXPECT_TRUE(executor) << executor.message();
    if (!executor) return {};
    auto results = (*executor)->run(choice->padding.pad(inputs));
    EXPECT_TRUE(results) << results.message();
    *taken = choice->variant;
    return results ? choice->padding.keep(std::move(*results)) : std::vector<Tensor>();
  }

  fs::path folder_;
  std::string printed_;
  support::SourceManager sources_;
  support::Diagnostics diags_{sources_};
};

constexpr const char* kNetwork =
    "model @m(%x: f32[batch, 3, seq, 8]) -> (%y: f32[batch, 4], %r: f32[batch, 6, seq, 8]) {\n"
    "  %w = const random seed 1 : f32[6, 3, 3, 3]\n"
    "  %f = const random seed 2 : f32[6, 4]\n"
    "  %c = Conv(%x, %w) {pads = [1, 1, 1, 1]}\n"
    "  %r = Relu(%c)\n"
    "  %p = GlobalAveragePool(%r)\n"
    "  %v = Flatten(%p)\n"
    "  %m = MatMul(%v, %f)\n"
    "  %y = Softmax(%m)\n"
    "}\n";

TEST_F(PaddedSizes, APackageComputesWhatTheSizeItselfComputes) {
  const std::string path = write(kNetwork);
  const driver::Outcome outcome = compile(path, {"batch=2,6"}, {"seq=8"});
  ASSERT_EQ(outcome.verdict, driver::Verdict::Done) << outcome.diagnostics;
  EXPECT_NE(printed_.find("padding     batch from 1 on, to the next bucket\n"), std::string::npos) << printed_;
  const auto set = runtime::PackageSet::open(package());
  ASSERT_TRUE(set) << set.message();
  for (int64_t batch = 1; batch <= 6; ++batch) {
    SCOPED_TRACE(batch);
    const std::vector<Tensor> inputs{runtime::random_tensor(ir::DType::F32, {batch, 3, 8, 8}, 5, -1, 1)};
    size_t taken = 9;
    const std::vector<Tensor> got = run(*set, inputs, &taken);
    EXPECT_EQ(taken, batch <= 2 ? 0u : 1u);
    // The exact size, compiled for itself.
    const std::string own = package() + std::to_string(batch) + ".collage";
    request::Request request = request_of(path, own);
    set_option(request, "--shape", {"batch=" + std::to_string(batch) + ",seq=8"});
    ASSERT_EQ(driver::run_command(request, {}, {}).verdict, driver::Verdict::Done);
    const auto exact = runtime::read_package(own);
    ASSERT_TRUE(exact) << exact.message();
    auto executor = runtime::Executor::load(exact->plan, *exact->code, 1);
    ASSERT_TRUE(executor) << executor.message();
    const auto want = (*executor)->run(inputs);
    ASSERT_TRUE(want) << want.message();
    ASSERT_EQ(got.size(), want->size());
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i].shape(), (*want)[i].shape());
      for (size_t k = 0; k < static_cast<size_t>(got[i].count()); ++k)
        ASSERT_NEAR(got[i].as<float>()[k], (*want)[i].as<float>()[k], 2e-5F);
    }
  }
}

TEST_F(PaddedSizes, SaysWhatStandsAgainstIt) {
  const driver::Outcome outcome = compile(write(kNetwork), {"seq=4,8"}, {"batch=1"});
  ASSERT_EQ(outcome.verdict, driver::Verdict::Done) << outcome.diagnostics;
  EXPECT_NE(outcome.diagnostics.find("--buckets seq: warning: seq is not padded: node `c` (Conv) sums over it"),
            std::string::npos)
      << outcome.diagnostics;
  const auto set = runtime::PackageSet::open(package());
  ASSERT_TRUE(set) << set.message();
  EXPECT_EQ(
      runtime::choose_variant(set->shapes(), {runtime::Shape{1, 3, 5, 8}}).message(),
      "was not compiled for x [1, 3, 5, 8], but for seq=4; seq=8; seq is not padded: node `c` (Conv) sums over it");
}

TEST_F(PaddedSizes, CombinationsOfTwoDimensions) {
  const driver::Outcome outcome = compile(write(kNetwork), {"batch=1,4", "seq=4,8"});
  ASSERT_EQ(outcome.verdict, driver::Verdict::Done) << outcome.diagnostics;
  const auto set = runtime::PackageSet::open(package());
  ASSERT_TRUE(set) << set.message();
  EXPECT_EQ(set->shapes().held(), "batch=1,seq=4; batch=1,seq=8; batch=4,seq=4; batch=4,seq=8");
  size_t taken = 9;
  const auto results = run(*set, {runtime::random_tensor(ir::DType::F32, {3, 3, 8, 8}, 5, -1, 1)}, &taken);
  EXPECT_EQ(taken, 3u);
  EXPECT_EQ(results.at(0).shape(), (runtime::Shape{3, 4}));
  EXPECT_FALSE(runtime::choose_variant(set->shapes(), {runtime::Shape{3, 3, 5, 8}}));
}

TEST_F(PaddedSizes, ABucketOfAnInputIsForItself) {
  const driver::Outcome outcome = compile(write(kNetwork), {"x=1x3x4x8,2x3x4x8"});
  ASSERT_EQ(outcome.verdict, driver::Verdict::Done) << outcome.diagnostics;
  const auto set = runtime::PackageSet::open(package());
  ASSERT_TRUE(set) << set.message();
  EXPECT_EQ(set->shapes().held(), "x [1, 3, 4, 8]; x [2, 3, 4, 8]");
  EXPECT_TRUE(set->shapes().dimensions.empty());
}

/// Arithmetic on shapes, as exporters write it, is folded into constants: the sizes are compared after that.
TEST_F(PaddedSizes, ShapesOfOnnxModels) {
  const std::string ports =
      "input { name: \"x\" type { tensor_type { elem_type: 1 shape { dim { dim_param: \"n\" } dim { dim_value: 4 } } } "
      "} }"
      "output { name: \"y\" type { tensor_type { elem_type: 1 } } }";
  const std::string size =
      "node { op_type: \"Shape\" input: \"x\" output: \"shape\" }"
      "node { op_type: \"Gather\" input: \"shape\" input: \"zero\" output: \"n\" }"
      "initializer { name: \"zero\" data_type: 7 int64_data: 0 }"
      "initializer { name: \"first\" data_type: 7 dims: 1 int64_data: 0 }"
      "initializer { name: \"one\" data_type: 7 int64_data: 1 }"
      "initializer { name: \"two\" data_type: 7 dims: 2 int64_data: 2 int64_data: 2 }";
  // x.reshape(n, 2, 2)
  EXPECT_EQ(obstacle(write_onnx(ports + size +
                                "node { op_type: \"Unsqueeze\" input: \"n\" input: \"first\" output: \"n1\" }"
                                "node { op_type: \"Concat\" input: \"n1\" input: \"two\" output: \"to\""
                                "       attribute { name: \"axis\" type: INT i: 0 } }"
                                "node { op_type: \"Reshape\" input: \"x\" input: \"to\" output: \"y\" }"),
                     "n"),
            "");
  // x / n
  EXPECT_NE(obstacle(write_onnx(ports + size +
                                "node { op_type: \"Cast\" input: \"n\" output: \"f\""
                                "       attribute { name: \"to\" type: INT i: 1 } }"
                                "node { op_type: \"Div\" input: \"x\" input: \"f\" output: \"y\" }"),
                     "n")
                .find("(Div) computes with its size"),
            std::string::npos);
  // x[::-1] by indices from a Range
  EXPECT_NE(obstacle(write_onnx(ports + size +
                                "node { op_type: \"Range\" input: \"zero\" input: \"n\" input: \"one\" output: \"i\" }"
                                "node { op_type: \"Sub\" input: \"n\" input: \"i\" output: \"back\" }"
                                "node { op_type: \"Sub\" input: \"back\" input: \"one\" output: \"from\" }"
                                "node { op_type: \"Gather\" input: \"x\" input: \"from\" output: \"y\" }"),
                     "n"),
            "");
}

/// The file of `u` says that seq is 16. Without it seq is 1, and then the rows of x stay apart:
///     s = x u^T [n, seq];  y = s^T.reshape(-1).reshape(n, seq)
TEST_F(PaddedSizes, AProofForSizesThatARunDoesNotHaveSaysNothing) {
  const auto input = [](const std::string& name, const std::string& size) {
    return "input { name: \"" + name + "\" type { tensor_type { elem_type: 1 shape { dim { dim_param: \"" + size +
           "\" } dim { dim_value: 4 } } } } }";
  };
  const std::string model = write_onnx(input("x", "n") + input("u", "seq") +
                                       "output { name: \"y\" type { tensor_type { elem_type: 1 } } }"
                                       "initializer { name: \"all\" data_type: 7 dims: 1 int64_data: -1 }"
                                       "node { op_type: \"Transpose\" input: \"u\" output: \"ut\" }"
                                       "node { op_type: \"MatMul\" input: \"x\" input: \"ut\" output: \"s\" }"
                                       "node { op_type: \"Transpose\" input: \"s\" output: \"st\" }"
                                       "node { op_type: \"Reshape\" input: \"st\" input: \"all\" output: \"f\" }"
                                       "node { op_type: \"Shape\" input: \"s\" output: \"to\" }"
                                       "node { op_type: \"Reshape\" input: \"f\" input: \"to\" output: \"y\" }");
  const std::string file = (folder_ / "u.npy").string();
  ASSERT_TRUE(runtime::write_npy(file, runtime::random_tensor(ir::DType::F32, {16, 4}, 5, -1, 1)));
  request::Request request = request_of(model, package());
  request.command = request::CommandName::Run;
  set_option(request, "--buckets", {"n=2,8"});
  request.run.inputs = {{"x", "random"}, {"u", file}};
  const driver::Outcome outcome = driver::run_command(request, {}, {});
  ASSERT_EQ(outcome.verdict, driver::Verdict::Done) << outcome.diagnostics;
  EXPECT_NE(outcome.diagnostics.find("n is not padded: the run fixed sizes of other dimensions"), std::string::npos)
      << outcome.diagnostics;
  const auto set = runtime::PackageSet::open(package());
  ASSERT_TRUE(set) << set.message();
  EXPECT_TRUE(runtime::choose_variant(set->shapes(), {runtime::Shape{8, 4}, runtime::Shape{16, 4}}));
  EXPECT_FALSE(runtime::choose_variant(set->shapes(), {runtime::Shape{3, 4}, runtime::Shape{16, 4}}));
}

TEST_F(PaddedSizes, ModelsWithoutAPlan) {
  EXPECT_NE(
      obstacle(
          write_onnx("input { name: \"x\" type { tensor_type { elem_type: 1 shape { dim { dim_param: \"n\" } } } } }"
                     "output { name: \"y\" type { tensor_type { elem_type: 7 } } }"
                     "node { op_type: \"NonZero\" input: \"x\" output: \"y\" }"),
          "n"),
      "");
  EXPECT_NE(obstacle(write("model @m(%x: f32[n, 3]) -> (%y: f32[n, 3]) {\n  %c = const splat 1.0 : f32[4, 3]\n"
                           "  %y = Add(%x, %c)\n}\n"),
                     "n"),
            "");
}

/// Before anything is compiled.
TEST_F(PaddedSizes, MoreShapesThanAPackageHolds) {
  std::string sizes = "batch=1";
  for (size_t size = 2; size <= runtime::kMostShapes + 1; ++size) sizes += "," + std::to_string(size);
  const driver::Outcome outcome = compile(write(kNetwork), {sizes}, {"seq=8"});
  EXPECT_EQ(outcome.verdict, driver::Verdict::BadUsage);
  EXPECT_NE(outcome.diagnostics.find("--buckets: error: 129 shapes are more than the 128 that a package holds"),
            std::string::npos)
      << outcome.diagnostics;
  EXPECT_EQ(printed_, "");
}

TEST_F(PaddedSizes, BucketsOfOneDimensionAreGivenOnce) {
  std::vector<std::vector<ir::ShapeBinding>> buckets;
  EXPECT_EQ(request::add_buckets("batch=1,8", buckets), "");
  EXPECT_EQ(request::add_buckets("batch=2", buckets), "`batch` has sizes already");
  EXPECT_EQ(request::add_buckets("seq=4,4", buckets), "`4` is given twice");
  EXPECT_EQ(request::add_buckets("seq=4,16", buckets), "");
  EXPECT_EQ(buckets.size(), 4u);
}

}  // namespace
}  // namespace collage::shapes
