// SPDX-License-Identifier: Apache-2.0
// The C interface as a program sees it: through its headers alone.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "include/collage/collage.hpp"

namespace {

constexpr const char* kModel = "examples/digits/digits.ir";
constexpr size_t kPixels = 64, kClasses = 10;

class Interface : public ::testing::Test {
 protected:
  void SetUp() override {
    compiler_ = collage_compiler_create(COLLAGE_ABI_VERSION);
    ASSERT_NE(compiler_, nullptr);
    ASSERT_EQ(collage_compiler_set(compiler_, "costs", "estimate"), 0);
    ASSERT_EQ(collage_compiler_set(compiler_, "cache", ""), 0);
  }
  void TearDown() override { collage_compiler_free(compiler_); }

  std::string messages() { return collage_diagnostics_text(compiler_); }
  std::string write(const std::string& name, const std::string& text) {
    std::string path = (std::filesystem::path(::testing::TempDir()) / (std::to_string(::getpid()) + name)).string();
    std::ofstream(path) << text;
    return path;
  }

  collage_compiler* compiler_ = nullptr;
};

TEST_F(Interface, RefusesAProgramOfAnotherVersion) {
  EXPECT_EQ(collage_compiler_create(COLLAGE_ABI_VERSION + 1), nullptr);
  EXPECT_STREQ(collage_compiler_version(), COLLAGE_VERSION);
  EXPECT_STREQ(collage_runtime_version(), COLLAGE_VERSION);
  EXPECT_EQ(collage_runtime_abi_version(), static_cast<uint32_t>(COLLAGE_ABI_VERSION));
}

TEST_F(Interface, RunsOnBuffersOfTheCallerAfterAllElseIsFreed) {
  collage_model* model = collage_model_load(compiler_, kModel);
  collage_placement* placement = collage_place(model);
  collage_executable* executable = collage_build(placement);
  ASSERT_NE(executable, nullptr) << messages();
  char error[256];
  collage_session* session = collage_session_create(executable, 1, error, sizeof(error));
  ASSERT_NE(session, nullptr) << error;
  EXPECT_EQ(collage_session_create(executable, 1025, error, sizeof(error)), nullptr);
  EXPECT_STREQ(error, "more than 1024 threads");
  ASSERT_EQ(collage_executable_input_count(executable), 1u);
  ASSERT_EQ(collage_executable_output_count(executable), 1u);
  const collage_port* input = collage_executable_input(executable, 0);
  EXPECT_STREQ(input->name, "image");
  EXPECT_EQ(input->dtype, COLLAGE_F32);
  ASSERT_EQ(input->rank, 4);
  EXPECT_EQ(input->shape[3], 8);
  EXPECT_EQ(input->bytes, kPixels * sizeof(float));
  EXPECT_EQ(collage_executable_input(executable, 1), nullptr);
  EXPECT_STREQ(collage_executable_output(executable, 0)->name, "logits");

  collage_executable_free(executable);
  collage_placement_free(placement);
  collage_model_free(model);
  collage_compiler_free(compiler_);
  compiler_ = nullptr;
  std::vector<float> image(kPixels, 0.5f), scores(kClasses, 0.0f);
  const void* inputs[] = {image.data()};
  void* outputs[] = {scores.data()};
  ASSERT_EQ(collage_session_run(session, inputs, outputs, error, sizeof(error)), 0) << error;
  const void* missing[] = {nullptr};
  EXPECT_NE(collage_session_run(session, missing, outputs, error, sizeof(error)), 0);
  EXPECT_NE(scores, std::vector<float>(kClasses, 0.0f));
  collage_session_free(session);
}

TEST_F(Interface, ExecutablesAreSavedAndLoaded) {
  const std::string path = (std::filesystem::path(::testing::TempDir()) / "digits.collage").string();
  std::vector<float> image(kPixels, 0.25f), built(kClasses), loaded(kClasses), again(kClasses);
  {
    collage_model* model = collage_model_load(compiler_, kModel);
    collage_placement* placement = collage_place(model);
    const collage::Executable executable(collage_build(placement));
    ASSERT_NE(executable.get(), nullptr) << messages();
    collage_placement_free(placement);
    collage_model_free(model);
    executable.save(path);
    collage::Session(executable).run({image.data()}, {built.data()});
  }
  collage::Executable executable = collage::Executable::load(path);
  EXPECT_STREQ(executable.input(0).name, "image");
  EXPECT_STREQ(executable.output(0).name, "logits");
  EXPECT_GT(executable.predicted_seconds(), 0);
  collage::Session(executable).run({image.data()}, {loaded.data()});
  EXPECT_EQ(loaded, built);
  // Over the file that is mapped: the new one takes its name, the old one stays where it is.
  executable.save(path);
  collage::Session(executable).run({image.data()}, {again.data()});
  EXPECT_EQ(again, built);
  collage::Session(collage::Executable::load(path)).run({image.data()}, {again.data()});
  EXPECT_EQ(again, built);
  std::filesystem::remove(path);
}

TEST_F(Interface, PackagesRunSideBySideInOneProcess) {
  const std::string doubling =
      write("doubling.ir", "model @m(%x: f32[64]) -> (%y: f32[64]) {\n  %y = Add(%x, %x)\n}\n");
  const auto package = [&](const std::string& model, const std::string& name) {
    const std::string path = (std::filesystem::path(::testing::TempDir()) / name).string();
    collage::Compiler().set("costs", "estimate").load(model).place().build().save(path);
    return path;
  };
  const std::string paths[] = {package(kModel, "side_digits.collage"), package(doubling, "side_doubling.collage")};
  const size_t sizes[] = {kClasses, kPixels};
  const std::vector<float> input(kPixels, 0.25f);
  // Alone, one after the other.
  std::vector<float> expected[2];
  for (int i : {0, 1}) {
    expected[i].resize(sizes[i]);
    collage::Session(collage::Executable::load(paths[i]), 1).run({input.data()}, {expected[i].data()});
  }
  EXPECT_EQ(expected[1], std::vector<float>(kPixels, 0.5f));
  // Both loaded at once, one of them twice, each run by a thread of its own.
  const int which[] = {0, 1, 0};
  std::vector<collage::Executable> loaded;
  for (int i : which) loaded.push_back(collage::Executable::load(paths[i]));
  std::vector<std::thread> threads;
  int wrong[3] = {};
  for (int t : {0, 1, 2}) {
    threads.emplace_back([&, t] {
      collage::Session session(loaded[t], 1 + t % 2);
      std::vector<float> output(sizes[which[t]]);
      for (int run = 0; run < 50; ++run) {
        session.run({input.data()}, {output.data()});
        wrong[t] += output != expected[which[t]];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int count : wrong) EXPECT_EQ(count, 0);
  for (const std::string& path : paths) std::filesystem::remove(path);
  std::filesystem::remove(doubling);
}

TEST_F(Interface, SavingAndLoadingSayWhatIsWrong) {
  char error[256];
  EXPECT_EQ(collage_executable_load(nullptr, error, sizeof(error)), nullptr);
  EXPECT_STREQ(error, "there is no path");
  EXPECT_EQ(collage_executable_load("no/such.collage", error, sizeof(error)), nullptr);
  EXPECT_STREQ(error, "'no/such.collage': cannot read: No such file or directory");
  EXPECT_EQ(collage_executable_load(kModel, error, sizeof(error)), nullptr);
  EXPECT_NE(std::string(error).find("is a model as text"), std::string::npos) << error;
  EXPECT_NE(collage_executable_save(nullptr, "x.collage", error, sizeof(error)), 0);
  EXPECT_STREQ(error, "there is no executable");
  EXPECT_THROW(collage::Executable::load(kModel), collage::Error);
}

// tests/c_requests/requests.c has the rest, in C.
TEST_F(Interface, RequestsAndKeptValuesInCpp) {
  const std::string path = write("state.ir",
                                 "model @state(%x: f32[4], %state: f32[4]) -> (%next: f32[4]) {\n"
                                 "  %next = Add(%state, %x)\n"
                                 "}\n");
  collage::Compiler compiler;
  compiler.set("costs", "estimate").set("cache", "");
  const collage::Executable executable = compiler.load(path).place().build();
  const std::vector<float> x{1, 2, 3, 4}, start(4, 10);
  std::vector<float> next(4);
  collage::Session session(executable, 1);
  EXPECT_THROW(session.keep(0, 2), collage::Error);
  session.keep(0, 1);
  EXPECT_THROW(session.read_kept(0, next.data()), collage::Error);
  session.run({x.data(), start.data()}, {nullptr});
  session.run({x.data(), nullptr}, {nullptr});
  session.read_kept(0, next.data());
  EXPECT_EQ(next, (std::vector<float>{12, 14, 16, 18}));
  session.restart_kept();
  EXPECT_THROW(session.run({x.data(), nullptr}, {nullptr}), collage::Error);

  constexpr size_t kCount = 20;
  std::vector<std::vector<float>> results(kCount, std::vector<float>(4));
  std::vector<std::unique_ptr<collage::Request>> answers;
  collage::Requests requests(executable, 2, 3, 1);
  for (std::vector<float>& result : results) {
    std::unique_ptr<collage::Request> request;
    while ((request = requests.submit({x.data(), start.data()}, {result.data()})) == nullptr) std::this_thread::yield();
    answers.push_back(std::move(request));
  }
  for (size_t i = 0; i < kCount; ++i) {
    answers[i]->wait();
    EXPECT_TRUE(answers[i]->is_done());
    EXPECT_EQ(results[i], (std::vector<float>{11, 12, 13, 14}));
  }
  EXPECT_THROW(requests.submit({x.data()}, {results[0].data()}), std::invalid_argument);
}

TEST_F(Interface, OneModelServesSeveralSettings) {
  collage_model* model = collage_model_load(compiler_, kModel);
  collage_placement* best = collage_place(model);
  ASSERT_EQ(collage_compiler_set(compiler_, "strategy", "single:host"), 0);
  collage_placement* host = collage_place(model);
  ASSERT_NE(host, nullptr) << messages();
  EXPECT_LE(collage_placement_value(best), collage_placement_value(host));
  EXPECT_LE(collage_placement_bound(best), collage_placement_value(best));
  char* text = collage_placement_text(host);
  EXPECT_EQ(std::string(text).find("placement 1"), 0u) << text;
  const std::string path = write("host.placement", text);
  collage_text_free(text);
  // What was saved can be followed.
  ASSERT_EQ(collage_compiler_set(compiler_, "strategy", "optimal"), 0);
  ASSERT_EQ(collage_compiler_set(compiler_, "placement", path.c_str()), 0);
  collage_placement* followed = collage_place(model);
  ASSERT_NE(followed, nullptr) << messages();
  EXPECT_GE(collage_placement_value(followed), collage_placement_value(best));
  for (collage_placement* placement : {best, host, followed}) collage_placement_free(placement);
  collage_model_free(model);
}

TEST_F(Interface, Explains) {
  collage_model* model = collage_model_load(compiler_, kModel);
  collage_placement* placement = collage_place(model);
  ASSERT_NE(placement, nullptr) << messages();
  char* why = collage_why(placement, "conv1");
  char* why_not = collage_why_not(placement, "conv1", "npu");
  char* json = collage_placement_json(placement);
  char* summary = collage_placement_summary(placement);
  ASSERT_TRUE(why && why_not && json && summary) << messages();
  EXPECT_EQ(std::string(why).find("%conv1 (Conv) runs on "), 0u) << why;
  EXPECT_NE(std::string(why_not).find("npu"), std::string::npos) << why_not;
  EXPECT_EQ(json[0], '{');
  EXPECT_NE(std::string(summary).find("digits"), std::string::npos);
  for (char* text : {why, why_not, json, summary}) collage_text_free(text);
  EXPECT_EQ(collage_why(placement, "no_such_node"), nullptr);
  EXPECT_EQ(collage_diagnostic_count(compiler_), 1u);
  collage_placement_free(placement);
  collage_model_free(model);
}

TEST_F(Interface, AnswersOnlyWhereTimesAddUp) {
  ASSERT_EQ(collage_compiler_set(compiler_, "objective", "makespan"), 0);
  collage_model* model = collage_model_load(compiler_, kModel);
  collage_placement* placement = collage_place(model);
  ASSERT_NE(placement, nullptr) << messages();
  EXPECT_EQ(collage_why(placement, "conv1"), nullptr);
  EXPECT_EQ(collage_why_not(placement, "conv1", "npu"), nullptr);
  EXPECT_EQ(collage_diagnostic_count(compiler_), 2u);
  EXPECT_NE(messages().find("`makespan` does not add up times"), std::string::npos) << messages();
  collage_placement_free(placement);
  collage_model_free(model);
}

/// A number of the JSON of a placement.
size_t number_of(const collage_placement* placement, const std::string& name) {
  char* json = collage_placement_json(placement);
  const std::string text = json;
  collage_text_free(json);
  const size_t at = text.find("\"" + name + "\": ");
  return at == std::string::npos ? 0 : std::stoul(text.substr(at + name.size() + 4));
}

TEST_F(Interface, MeasuresWhatAQuestionNeeds) {
  const std::string rules = write("measured.rules", R"(rules 1
backend host {
  runtime host_jit
  rule conv {
    match c = Conv(x, w)
    cost measured
  }
  rule conv_tanh {
    match t = Tanh(Conv(x, w))
    cost measured
  }
  rule tanh {
    match t = Tanh(x)
    cost measured
  }
}
)");
  const std::string path = write("measured.ir", R"(model @measured(%x: f32[1, 16, 8, 8]) -> (%y: f32[1, 16, 8, 8]) {
  %w = const random seed 1 : f32[16, 16, 3, 3]
  %c = Conv(%x, %w) {pads = [1, 1, 1, 1]}
  %y = Tanh(%c)
}
)");
  const char* paths[] = {rules.c_str()};
  ASSERT_EQ(collage_compiler_rules(compiler_, paths, 1), 0) << messages();
  ASSERT_EQ(collage_compiler_set(compiler_, "costs", "measured"), 0);
  EXPECT_NE(collage_compiler_set(compiler_, "costs", "guessed"), 0);
  ASSERT_EQ(collage_compiler_set(compiler_, "cost-db", ""), 0);
  ASSERT_EQ(collage_compiler_set(compiler_, "threads", "1"), 0);
  collage_model* model = collage_model_load(compiler_, path.c_str());
  collage_placement* placement = collage_place(model);
  ASSERT_NE(placement, nullptr) << messages();
  char* text = collage_placement_text(placement);
  const size_t measured = number_of(placement, "measured"), left = number_of(placement, "not_needed");
  EXPECT_GT(measured, 0u);
  char* why = collage_why(placement, "c");
  ASSERT_NE(why, nullptr) << messages();
  EXPECT_EQ(number_of(placement, "measured"), measured + left) << why;
  // The placement stays as it is.
  char* again = collage_placement_text(placement);
  EXPECT_STREQ(text, again);
  for (char* one : {text, why, again}) collage_text_free(one);
  collage_placement_free(placement);
  collage_model_free(model);
}

TEST_F(Interface, DiagnosticsAreData) {
  const std::string path = write("broken.ir", "model @m(%x: f32[4]) -> (%y: f32[4]) {\n  %y = Relux(%x)\n}\n");
  EXPECT_EQ(collage_model_load(compiler_, path.c_str()), nullptr);
  ASSERT_EQ(collage_diagnostic_count(compiler_), 1u);
  collage_diagnostic diagnostic;
  ASSERT_EQ(collage_diagnostic_get(compiler_, 0, &diagnostic), 0);
  EXPECT_EQ(diagnostic.severity, COLLAGE_ERROR);
  EXPECT_EQ(std::string(diagnostic.code).find("CG"), 0u);
  EXPECT_EQ(diagnostic.file, path);
  EXPECT_EQ(diagnostic.line, 2);
  EXPECT_EQ(diagnostic.column, 8);
  EXPECT_NE(std::string(diagnostic.message).find("Relux"), std::string::npos);
  // The texts live until the diagnostics are cleared, however often they are asked for.
  collage_diagnostic again;
  ASSERT_EQ(collage_diagnostic_get(compiler_, 0, &again), 0);
  EXPECT_EQ(again.file, diagnostic.file);
  EXPECT_EQ(again.message, diagnostic.message);
  EXPECT_NE(collage_diagnostic_get(compiler_, 1, &diagnostic), 0);
  collage_diagnostics_clear(compiler_);
  EXPECT_EQ(collage_diagnostic_count(compiler_), 0u);
  EXPECT_EQ(messages(), "");
}

TEST_F(Interface, RefusesSettingsThatDoNotExist) {
  EXPECT_NE(collage_compiler_set(compiler_, "stratgy", "optimal"), 0);
  EXPECT_NE(messages().find("did you mean `strategy`?"), std::string::npos) << messages();
  EXPECT_NE(collage_compiler_set(compiler_, "threads", "0"), 0);
  EXPECT_NE(collage_compiler_set(compiler_, "costs", "free"), 0);
  EXPECT_NE(collage_compiler_set(compiler_, "objective", "beauty"), 0);
  EXPECT_NE(collage_compiler_set(compiler_, "shape", "x"), 0);
  EXPECT_EQ(collage_compiler_set(compiler_, "budget", "0.5"), 0);
  EXPECT_EQ(collage_diagnostic_count(compiler_), 5u) << messages();
}

TEST_F(Interface, RefusesAStrategyThatMeasures) {
  EXPECT_NE(collage_compiler_set(compiler_, "strategy", "evolve"), 0);
  EXPECT_NE(messages().find("`evolve` runs the placements that it compares"), std::string::npos) << messages();
  // The one before holds.
  collage_model* model = collage_model_load(compiler_, kModel);
  collage_placement* placement = collage_place(model);
  ASSERT_NE(placement, nullptr) << messages();
  EXPECT_GT(collage_placement_bound(placement), 0);
  collage_placement_free(placement);
  collage_model_free(model);
}

TEST_F(Interface, ARefusedValueChangesNothing) {
  const char* rules[] = {"tests/filetests/driver/Inputs/library.rules"};
  ASSERT_EQ(collage_compiler_rules(compiler_, rules, 1), 0) << messages();
  ASSERT_EQ(collage_compiler_set(compiler_, "strict", "true"), 0);
  for (const char* name : {"strict", "budget", "max-states", "numerics", "threads"}) {
    EXPECT_NE(collage_compiler_set(compiler_, name, "much"), 0) << name;
  }
  collage_diagnostics_clear(compiler_);
  collage_model* model = collage_model_load(compiler_, kModel);
  EXPECT_EQ(collage_place(model), nullptr);
  EXPECT_NE(messages().find("backend `fancy` is absent"), std::string::npos) << messages();
  collage_model_free(model);
}

TEST_F(Interface, NullHandlesFailAndNothingElse) {
  EXPECT_EQ(collage_model_load(nullptr, kModel), nullptr);
  EXPECT_EQ(collage_place(nullptr), nullptr);
  EXPECT_EQ(collage_build(nullptr), nullptr);
  char error[8];
  EXPECT_EQ(collage_session_create(nullptr, 0, error, sizeof(error)), nullptr);
  EXPECT_EQ(std::strlen(error), sizeof(error) - 1);
  EXPECT_EQ(collage_session_create(nullptr, 0, nullptr, 0), nullptr);
  EXPECT_NE(collage_session_run(nullptr, nullptr, nullptr, nullptr, 0), 0);
  EXPECT_EQ(collage_tensor_read("no/such.npy", error, sizeof(error)), nullptr);
  collage_compiler_free(nullptr);
  collage_model_free(nullptr);
  collage_placement_free(nullptr);
  collage_executable_free(nullptr);
  collage_session_free(nullptr);
  collage_tensor_free(nullptr);
  collage_text_free(nullptr);
}

TEST_F(Interface, RulesReplaceThoseThatAreFound) {
  ASSERT_EQ(collage_compiler_rules(compiler_, nullptr, 0), 0);
  collage_model* model = collage_model_load(compiler_, kModel);
  collage_placement* placement = collage_place(model);
  ASSERT_NE(placement, nullptr) << messages();
  EXPECT_EQ(collage_why_not(placement, "conv1", "npu"), nullptr);
  EXPECT_NE(messages().find("no backend `npu`"), std::string::npos) << messages();
  collage_placement_free(placement);
  collage_model_free(model);
}

/// The scores of a black picture.
std::vector<float> scores_of(const collage::Executable& executable) {
  collage::Session session(executable, 1);
  std::vector<float> image(kPixels, 0.25f), scores(kClasses);
  for (int i = 0; i < 20; ++i) session.run({image.data()}, {scores.data()});
  return scores;
}

TEST(Threads, CompilersAndSessionsAreIndependent) {
  std::vector<std::vector<float>> scores(4);
  std::vector<std::thread> threads;
  for (auto& result : scores) {
    threads.emplace_back([&result] {
      collage::Compiler compiler;
      result = scores_of(compiler.set("costs", "estimate").load(kModel).place().build());
    });
  }
  for (std::thread& thread : threads) thread.join();
  collage::Compiler compiler;
  const collage::Executable executable = compiler.set("costs", "estimate").load(kModel).place().build();
  std::vector<std::vector<float>> shared(4);
  threads.clear();
  for (auto& result : shared) threads.emplace_back([&] { result = scores_of(executable); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : scores) EXPECT_EQ(result, scores[0]);
  for (const auto& result : shared) EXPECT_EQ(result, scores[0]);
}

TEST(Buffers, AlignedOrNotGiveTheSameResult) {
  collage::Compiler compiler;
  const collage::Executable executable = compiler.set("costs", "estimate").load(kModel).place().build();
  collage::Session session(executable, 1);
  alignas(64) float image[kPixels + 16];
  alignas(64) float scores[kClasses + 16];
  std::vector<float> expected;
  for (size_t shift : {0, 1, 16, 3, 0}) {
    for (size_t i = 0; i < kPixels; ++i) image[shift + i] = static_cast<float>(i % 16);
    for (float& score : scores) score = -1;
    session.run({image + shift}, {scores + shift});
    const std::vector<float> got(scores + shift, scores + shift + kClasses);
    if (expected.empty()) expected = got;
    EXPECT_EQ(got, expected) << shift;
    for (size_t i = 0; i < kClasses + 16; ++i) {
      if (i >= shift && i < shift + kClasses) continue;
      EXPECT_EQ(scores[i], -1) << "only the buffer is written";
    }
    for (size_t i = 0; i < kPixels; ++i) ASSERT_EQ(image[shift + i], static_cast<float>(i % 16));
  }
}

TEST(Cpp, FailuresAreExceptions) {
  collage::Compiler compiler;
  try {
    compiler.load("no/such/model.ir");
    FAIL();
  } catch (const collage::Error& error) {
    EXPECT_NE(std::string(error.what()).find("cannot read"), std::string::npos) << error.what();
  }
  ASSERT_EQ(compiler.diagnostics().size(), 1u);
  EXPECT_EQ(compiler.diagnostics()[0].file, "no/such/model.ir");
  EXPECT_EQ(compiler.diagnostics()[0].line, 0);
}

TEST(Cpp, AnErrorHasTheDiagnosticsOfItsStepAlone) {
  collage::Compiler compiler;
  EXPECT_THROW(compiler.load("no/such/model.ir"), collage::Error);
  try {
    compiler.set("strategi", "greedy");
    FAIL();
  } catch (const collage::Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.find("no/such/model.ir"), std::string::npos) << text;
    EXPECT_EQ(text.rfind("strategi: error: no such setting", 0), 0u) << text;
    EXPECT_NE(text.back(), '\n') << text;
  }
  EXPECT_EQ(compiler.diagnostics().size(), 2u);
}

TEST(Cpp, RulesAreOnePathOrSeveral) {
  collage::Compiler compiler;
  compiler.file("a.rules", "rules 1\n").file("b.rules", "rules 1\n");
  const std::string path = "a.rules";
  compiler.rules("a.rules").rules(path).rules({"a.rules"}).rules({"a.rules", "b.rules"});
  EXPECT_THROW(compiler.rules("no/such.rules"), collage::Error);
}

}  // namespace
