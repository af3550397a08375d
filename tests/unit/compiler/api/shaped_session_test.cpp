// SPDX-License-Identifier: Apache-2.0
// Packages of several shapes, which `collagec --buckets` writes, through the C and C++ interface.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "include/collage/collage.hpp"

namespace {

namespace fs = std::filesystem;

class Shaped : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("collage_shaped_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    std::ofstream(folder_ / "m.ir") << "model @m(%x: f32[batch, 3]) -> (%y: f32[batch, 2]) {\n"
                                       "  %w = const dense f32[3, 2] [1, 0, 0, 1, 1, 1]\n"
                                       "  %m = MatMul(%x, %w)\n"
                                       "  %y = Relu(%m)\n"
                                       "}\n";
    compile("batch=2,6");
  }
  void compile(const std::string& buckets) const {
    const std::string command = std::string(COLLAGE_COMMAND) + " " + (folder_ / "m.ir").string() +
                                " --costs=estimate --cache= --threads 1 --buckets " + buckets + " -o " + path() +
                                " > /dev/null";
    ASSERT_EQ(std::system(command.c_str()), 0);  // NOLINT(concurrency-mt-unsafe)
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path() const { return (folder_ / "m.collage").string(); }

  static void expect_right(collage::ShapedSession& session, int64_t batch) {
    const std::vector<int64_t> shape{batch, 3};
    std::vector<float> x(static_cast<size_t>(batch) * 3);
    std::iota(x.begin(), x.end(), -4.0F);
    const auto results = session.run({{COLLAGE_F32, 2, shape.data(), x.data()}});
    ASSERT_EQ(results.size(), 1U);
    ASSERT_EQ(results[0].rank, 2);
    EXPECT_EQ(results[0].shape[0], batch);
    const auto* y = static_cast<const float*>(results[0].data);
    for (size_t row = 0; row < static_cast<size_t>(batch); ++row) {
      EXPECT_EQ(y[2 * row], std::max(x[3 * row] + x[3 * row + 2], 0.0F));
      EXPECT_EQ(y[2 * row + 1], std::max(x[3 * row + 1] + x[3 * row + 2], 0.0F));
    }
  }

  static std::string failure_of(collage::ShapedSession& session, const std::vector<collage::Array>& inputs) {
    try {
      session.run(inputs);
    } catch (const collage::Error& error) {
      return error.what();
    }
    return "none";
  }

  fs::path folder_;
};

TEST_F(Shaped, TakesTheSpecialisationOfTheInputs) {
  const collage::Executable executable = collage::Executable::load(path());
  EXPECT_EQ(executable.shape_count(), 2U);
  EXPECT_EQ(executable.shape_name(0), "batch=2");
  EXPECT_EQ(executable.shape_name(1), "batch=6");
  for (const size_t kept : {1U, 8U}) {
    collage::ShapedSession session(executable, 0, kept);
    const std::pair<int64_t, size_t> sizes[] = {{2, 0}, {1, 0}, {3, 1}, {6, 1}, {5, 1}, {2, 0}};
    for (const auto& [batch, taken] : sizes) {
      expect_right(session, batch);
      EXPECT_EQ(session.taken(), taken);
    }
  }
}

TEST_F(Shaped, RefusesOtherInputs) {
  collage::ShapedSession session(collage::Executable::load(path()));
  const std::vector<float> x(64);
  const std::array<int64_t, 2> large{7, 3}, other{2, 4}, good{2, 3};
  EXPECT_EQ(failure_of(session, {{COLLAGE_F32, 2, large.data(), x.data()}}),
            "the model was not compiled for x [7, 3], but for batch=2; batch=6");
  EXPECT_EQ(failure_of(session, {{COLLAGE_F32, 2, other.data(), x.data()}}),
            "the model was not compiled for x [2, 4], but for batch=2; batch=6");
  EXPECT_EQ(failure_of(session, {{COLLAGE_F64, 2, good.data(), x.data()}}), "input `x` is of another dtype than f32");
  EXPECT_EQ(failure_of(session, {{COLLAGE_F32, 2, nullptr, x.data()}}), "input `x` has no shape");
  EXPECT_EQ(failure_of(session, {{COLLAGE_F32, 2, good.data(), nullptr}}), "a buffer is missing");
  EXPECT_EQ(failure_of(session, {}), "the model takes 1 inputs, not 0");
  expect_right(session, 2);
}

TEST_F(Shaped, OneSpecialisationIsAnExecutable) {
  const collage::Executable executable = collage::Executable::load(path());
  EXPECT_THROW(collage::Session{executable}, collage::Error);
  const collage::Executable six = executable.shape(1);
  EXPECT_EQ(six.shape_count(), 1U);
  EXPECT_EQ(six.shape_name(0), "");
  EXPECT_EQ(six.input(0).shape[0], 6);
  const std::vector<float> x(18, 1.0F);
  std::vector<float> y(12);
  collage::Session(six).run({x.data()}, {y.data()});
  EXPECT_EQ(y, std::vector<float>(12, 2.0F));
  collage::ShapedSession session(six);
  expect_right(session, 6);
  EXPECT_THROW(executable.shape(2), collage::Error);
  EXPECT_THROW(executable.shape_name(2), std::out_of_range);
}

TEST_F(Shaped, APackageOfOneBucketPadsAndIsOfOneShape) {
  compile("batch=6");
  const collage::Executable executable = collage::Executable::load(path());
  EXPECT_EQ(executable.shape_count(), 1U);
  EXPECT_EQ(executable.shape_name(0), "batch=6");
  collage::ShapedSession shaped(executable);
  for (const int64_t batch : {6, 1, 5}) expect_right(shaped, batch);
  const std::vector<float> x(18, 1.0F);
  std::vector<float> y(12);
  collage::Session(executable).run({x.data()}, {y.data()});
  EXPECT_EQ(y, std::vector<float>(12, 2.0F));
}

/// A row that the first specialisation does not have tells which of them was profiled.
TEST_F(Shaped, AProfileIsOfTheSpecialisationOfTheInputs) {
  std::ofstream(folder_ / "m.ir") << "model @g(%x: f32[batch, 3], %i: i64[1]) -> (%y: f32[1, 3]) {\n"
                                     "  %y = Gather(%x, %i)\n"
                                     "}\n";
  compile("batch=2,6");
  const collage::Executable executable = collage::Executable::load(path());
  const collage::Compiler compiler;
  const std::vector<float> x(21, 1.0F);
  const std::array<int64_t, 2> two{2, 3}, six{6, 3}, seven{7, 3};
  const std::array<int64_t, 1> one{1}, row{5};
  const auto profile = [&](const collage::Executable& of, const int64_t* shape) -> std::string {
    try {
      return compiler.profile_arrays_json(
          of, {{COLLAGE_F32, 2, shape, x.data()}, {COLLAGE_I64, 1, one.data(), row.data()}});
    } catch (const collage::Error& error) {
      return error.what();
    }
  };
  EXPECT_NE(profile(executable, six.data()).find("\"rows\""), std::string::npos) << profile(executable, six.data());
  EXPECT_NE(profile(executable.shape(1), six.data()).find("\"rows\""), std::string::npos);
  EXPECT_NE(profile(executable, two.data()).find("index 5 is out of range"), std::string::npos);
  EXPECT_NE(profile(executable, seven.data()).find("the model was not compiled for x [7, 3]"), std::string::npos);
  EXPECT_NE(profile(executable, nullptr).find("input `x` has no shape"), std::string::npos);
  EXPECT_EQ(collage_profile_arrays_json(nullptr, executable.get(), nullptr, 0), nullptr);
}

TEST_F(Shaped, IsSavedWhole) {
  const std::string again = (folder_ / "again.collage").string();
  collage::Executable::load(path()).save(again);
  const collage::Executable executable = collage::Executable::load(again);
  EXPECT_EQ(executable.shape_count(), 2U);
  collage::ShapedSession session(executable);
  expect_right(session, 5);
}

TEST_F(Shaped, SessionsOfOneExecutableRunAtOnce) {
  const collage::Executable executable = collage::Executable::load(path());
  std::vector<std::thread> threads;
  for (int64_t first = 1; first <= 4; ++first) {
    threads.emplace_back([&executable, first] {
      collage::ShapedSession session(executable, 1);
      for (int64_t batch = first; batch < first + 3; ++batch) expect_right(session, batch);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Shaped, NullHandlesFailAndNothingElse) {
  char error[64];
  EXPECT_EQ(collage_executable_shape_count(nullptr), 0U);
  EXPECT_EQ(collage_executable_shape_name(nullptr, 0), nullptr);
  EXPECT_EQ(collage_executable_shape(nullptr, 0, error, sizeof(error)), nullptr);
  EXPECT_EQ(collage_shaped_session_create(nullptr, 0, 1, error, sizeof(error)), nullptr);
  EXPECT_NE(collage_shaped_session_run(nullptr, nullptr, 0, error, sizeof(error)), 0);
  EXPECT_EQ(collage_shaped_session_result_count(nullptr), 0U);
  EXPECT_EQ(collage_shaped_session_result(nullptr, 0), nullptr);
  EXPECT_EQ(collage_shaped_session_taken(nullptr), 0U);
  collage_shaped_session_free(nullptr);
}

}  // namespace
