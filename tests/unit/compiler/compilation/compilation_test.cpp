// SPDX-License-Identifier: Apache-2.0
// The steps of a compilation as values: made once, used by several later steps.
#include "compiler/compilation/compilation.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "compiler/program/program.h"

namespace collage::compilation {
namespace {

using place::Strategy;

class Compiling : public ::testing::Test {
 protected:
  std::unique_ptr<Compilation> open(const request::Settings& settings, std::vector<std::string> rules = {"rules"}) {
    auto model = request::read_model_file({"examples/digits/digits.ir"}, sources_, diags_);
    auto files = request::read_rule_files(std::move(rules), sources_, diags_);
    if (!model || files == nullptr) return nullptr;
    auto compilation = Compilation::open(std::move(*model), std::move(files), settings, diags_);
    if (compilation != nullptr && !compilation->run_passes({}, diags_)) return nullptr;
    return compilation;
  }
  static request::Settings estimated() {
    request::Settings settings;
    settings.costs.mode = request::CostMode::Estimate;
    settings.cache = "";
    return settings;
  }

  support::SourceManager sources_;
  support::Diagnostics diags_{sources_};
};

TEST_F(Compiling, OneProblemServesSeveralStrategies) {
  auto compilation = open(estimated());
  ASSERT_NE(compilation, nullptr) << diags_.render();
  auto candidates = compilation->find_candidates({}, nullptr, diags_);
  ASSERT_TRUE(candidates) << diags_.render();
  auto optimal = compilation->find_placement(*candidates, {}, diags_);
  auto host = compilation->find_placement(*candidates, {Strategy::Kind::Single, {"host"}}, diags_);
  auto again = compilation->find_placement(*candidates, {}, diags_);
  ASSERT_TRUE(optimal && host && again) << diags_.render();
  EXPECT_LE(optimal->predicted, host->predicted);
  EXPECT_EQ(optimal->predicted, again->predicted);
  EXPECT_EQ(optimal->chosen, again->chosen);
}

TEST_F(Compiling, OneCompilationBuildsSeveralPrograms) {
  auto compilation = open(estimated());
  ASSERT_NE(compilation, nullptr) << diags_.render();
  auto candidates = compilation->find_candidates({}, nullptr, diags_);
  ASSERT_TRUE(candidates) << diags_.render();
  std::vector<std::vector<runtime::Tensor>> outputs;
  const ir::TensorType& type = compilation->graph().value(compilation->graph().inputs().front()).type;
  const runtime::Tensor input(type.dtype, type.shape);
  for (const Strategy& strategy : {Strategy{}, Strategy{Strategy::Kind::Single, {"host"}}}) {
    auto found = compilation->find_placement(*candidates, strategy, diags_);
    ASSERT_TRUE(found) << diags_.render();
    auto program = program::build_program(compilation->graph(), found->placement, compilation->targets(), {}, diags_);
    ASSERT_TRUE(program) << diags_.render();
    auto executor = program::load_program(*program, 1, diags_);
    ASSERT_NE(executor, nullptr) << diags_.render();
    auto result = executor->run({input});
    ASSERT_TRUE(result) << result.message();
    outputs.push_back(*result);
  }
  ASSERT_EQ(outputs[0].size(), 1u);
  for (int64_t i = 0; i < outputs[0][0].count(); ++i) {
    EXPECT_NEAR(element_as_double(outputs[0][0].view(), i), element_as_double(outputs[1][0].view(), i), 1e-4);
  }
}

TEST_F(Compiling, SettingsAreResolvedWhenItIsOpened) {
  request::Settings settings = estimated();
  settings.strategy = "single:nowhere";
  EXPECT_EQ(open(settings), nullptr);
  ASSERT_EQ(diags_.error_count(), 1u);
  EXPECT_EQ(diags_.records()[0].code, support::Code::BadStrategy);
}

TEST_F(Compiling, MemoryCapsAreInTheTargets) {
  request::Settings settings = estimated();
  settings.memory = {"npu=1MiB"};
  auto compilation = open(settings);
  ASSERT_NE(compilation, nullptr) << diags_.render();
  const plan::DeviceTarget* device = compilation->targets().find_device("npu[0]");
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->capacity, 1u << 20);
}

TEST_F(Compiling, TheSecondCompilationSearchesAndCompilesNothing) {
  const std::string folder = ::testing::TempDir() + "collage_compiling_" + std::to_string(::getpid());
  request::Settings settings = estimated();
  settings.cache = folder;
  std::vector<place::Cost> predicted;
  for (const bool is_known : {false, true}) {
    auto compilation = open(settings, {"rules/host.rules"});
    ASSERT_NE(compilation, nullptr) << diags_.render();
    auto candidates = compilation->find_candidates({}, nullptr, diags_);
    ASSERT_TRUE(candidates) << diags_.render();
    auto found = compilation->find_placement(*candidates, {}, diags_);
    ASSERT_TRUE(found) << diags_.render();
    EXPECT_EQ(found->is_known, is_known);
    predicted.push_back(found->predicted);
    program::ProgramOptions options;
    options.cache = compilation->cache();
    auto program =
        program::build_program(compilation->graph(), found->placement, compilation->targets(), options, diags_);
    ASSERT_TRUE(program) << diags_.render();
    const codegen::JitStats& code = program->jit->stats();
    EXPECT_GT(code.kernels, 0u);
    EXPECT_EQ(code.compiled, is_known ? 0 : code.kernels);
    EXPECT_EQ(code.from_cache, is_known ? code.kernels : 0);
  }
  EXPECT_EQ(predicted[0], predicted[1]);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace collage::compilation
