// SPDX-License-Identifier: Apache-2.0
// Packages of compiled models: what is read computes what was written, bit for bit, and damage is refused.
#include "runtime/package/package.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "compiler/compilation/compilation.h"
#include "compiler/program/program.h"
#include "runtime/core/random.h"
#include "runtime/libraries/library.h"

namespace collage::program {
namespace {

using runtime::Tensor;
namespace fs = std::filesystem;

struct Case {
  std::string model;
  std::vector<std::string> rules;
  std::string strategy = "optimal";
  std::string objective = "latency";
  std::vector<std::string> place{};
};

constexpr int kThreads = 2;

class Packages : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("collage_packages_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::optional<Program> compile(const Case& what) {
    request::Settings settings;
    settings.costs.mode = request::CostMode::Estimate;
    settings.cache = "";
    settings.threads = kThreads;
    settings.strategy = what.strategy;
    settings.place = what.place;
    settings.objective = place::parse_objective(what.objective, "objective", diags_);
    auto model = request::read_model_file({what.model}, sources_, diags_);
    auto rules = request::read_rule_files(what.rules, sources_, diags_);
    if (!model || rules == nullptr) return std::nullopt;
    auto compilation = compilation::Compilation::open(std::move(*model), std::move(rules), settings, diags_);
    if (compilation == nullptr || !compilation->run_passes({}, diags_)) return std::nullopt;
    auto candidates = compilation->find_candidates({}, nullptr, diags_);
    if (!candidates) return std::nullopt;
    auto found = compilation->find_placement(*candidates, compilation->strategy(), diags_);
    if (!found) return std::nullopt;
    return build_program(compilation->graph(), found->placement, compilation->targets(), {}, diags_);
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::string write(const Program& program) {
    const std::string file = path("m.collage");
    const runtime::Status status =
        runtime::write_package(file, {program.built.plan, program.jit, kThreads, "text", ""});
    EXPECT_TRUE(status) << status.message();
    return file;
  }

  static std::vector<Tensor> inputs_of(const runtime::Plan& plan) {
    std::vector<Tensor> inputs;
    for (const runtime::PlanPort& port : plan.inputs) {
      const runtime::StoredTensor& tensor = plan.buffers[static_cast<size_t>(port.buffer)].tensor;
      inputs.push_back(is_float(tensor.dtype) ? runtime::random_tensor(tensor.dtype, tensor.shape, 1 + inputs.size())
                                              : Tensor(tensor.dtype, tensor.shape));
    }
    return inputs;
  }

  /// The outputs of a loaded plan; none after a failure.
  static std::vector<Tensor> run(const runtime::Plan& plan, const runtime::Code& code,
                                 const std::vector<Tensor>& inputs) {
    auto executor = runtime::Executor::load(plan, code, kThreads);
    EXPECT_TRUE(executor) << executor.message();
    if (!executor) return {};
    auto outputs = (*executor)->run(inputs);
    EXPECT_TRUE(outputs) << outputs.message();
    return outputs ? *outputs : std::vector<Tensor>();
  }

  static void expect_identical(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(identical(a[i], b[i])) << "output " << i;
  }

  support::SourceManager sources_;
  support::Diagnostics diags_{sources_};
  fs::path folder_;
};

TEST_F(Packages, ComputeWhatTheCompilerDoes) {
  std::vector<Case> cases = {
      {"examples/digits/digits.ir", {"rules"}},
      {"examples/digits/digits.ir", {"rules/host.rules"}},
      {"examples/digits/digits.ir", {"rules"}, "single:npu"},
      {"examples/digits/digits.ir", {"rules"}, "optimal", "makespan"},
      {"examples/networks/quantized_conv.ir", {"rules/host.rules"}, "greedy"},
      {"examples/networks/nasnet_a.ir", {"rules/host.rules", "rules/npu.rules"}, "greedy"},
      {"examples/networks/dcgan.ir", {"rules/host.rules"}, "greedy"},
  };
  for (std::string_view library : runtime::library_names()) {
    const std::string name(library);
    cases.push_back({"examples/digits/digits.ir", {"rules"}, "single:" + name});
    cases.push_back({"examples/networks/nasnet_a.ir", {"rules"}, "single:" + name});
  }
  for (const Case& what : cases) {
    SCOPED_TRACE(what.model + " " + what.strategy + " " + what.objective);
    std::optional<Program> program = compile(what);
    ASSERT_TRUE(program) << diags_.render();
    const std::vector<Tensor> inputs = inputs_of(program->built.plan);
    const std::vector<Tensor> expected = run(program->built.plan, *program->jit, inputs);
    const std::string file = write(*program);
    runtime::Result<runtime::Package> first = runtime::read_package(file);
    runtime::Result<runtime::Package> second = runtime::read_package(file);
    ASSERT_TRUE(first && second) << (first ? second : first).message();
    // Nothing of the compiler is needed any more.
    program.reset();
    expect_identical(run(first->plan, *first->code, inputs), expected);
    expect_identical(run(second->plan, *second->code, inputs), expected);
    EXPECT_EQ(first->threads, kThreads);
    EXPECT_EQ(first->placed, "text");
    // What was read can be written again.
    const std::string again = path("again.collage");
    ASSERT_TRUE(write_package(again, *first));
    runtime::Result<runtime::Package> third = runtime::read_package(again);
    ASSERT_TRUE(third) << third.message();
    expect_identical(run(third->plan, *third->code, inputs), expected);
  }
}

TEST_F(Packages, EqualCompilationsGiveEqualFiles) {
  std::vector<std::string> contents;
  for (int i = 0; i < 2; ++i) {
    std::optional<Program> program = compile({"examples/digits/digits.ir", {"rules/host.rules"}});
    ASSERT_TRUE(program) << diags_.render();
    std::ifstream stream(write(*program), std::ios::binary);
    contents.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  EXPECT_FALSE(contents[0].empty());
  EXPECT_TRUE(contents[0] == contents[1]);
}

/// A byte that nobody reads, between sections, may change. Any other change is refused.
TEST_F(Packages, DamageIsRefusedOrHarmless) {
  std::optional<Program> program = compile({"examples/digits/digits.ir", {"rules"}});
  ASSERT_TRUE(program) << diags_.render();
  const std::vector<Tensor> inputs = inputs_of(program->built.plan);
  const std::vector<Tensor> expected = run(program->built.plan, *program->jit, inputs);
  std::ifstream stream(write(*program), std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  constexpr int kRounds = 2000;
  std::mt19937_64 random(7);
  int refused = 0, harmless = 0;
  const std::string file = path("damaged.collage");
  for (int round = 0; round < kRounds; ++round) {
    std::string bytes = whole;
    const bool is_cut = round % 10 == 0;
    // Half of the damage is where nearly every byte counts.
    const size_t most = round % 2 == 0 ? bytes.size() : std::min<size_t>(bytes.size(), 512);
    const size_t at = random() % most;
    if (is_cut) {
      bytes.resize(at);
    } else {
      bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(1 + random() % 255));
    }
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
    runtime::Result<runtime::Package> package = runtime::read_package(file);
    if (!package) {
      EXPECT_FALSE(package.message().empty());
      ++refused;
      continue;
    }
    ASSERT_FALSE(is_cut) << "cut at " << at;
    ++harmless;
    SCOPED_TRACE("byte " + std::to_string(at));
    expect_identical(run(package->plan, *package->code, inputs), expected);
  }
  EXPECT_EQ(refused + harmless, kRounds);
  EXPECT_GT(refused, kRounds / 2);
}

}  // namespace
}  // namespace collage::program
