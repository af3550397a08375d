// SPDX-License-Identifier: Apache-2.0
// Models with open shapes through the C and C++ interface.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "include/collage/collage.hpp"

namespace {

class Dynamic : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = (std::filesystem::path(::testing::TempDir()) / ("collage_dynamic_" + std::to_string(::getpid()) + ".ir"))
                .string();
    std::ofstream(path_) << "model @m(%x: f32[batch, 3], %z: f32[batch, 3]) -> (%y: f32[batch, 2]) {\n"
                            "  %w = const dense f32[3, 2] [1, 0, 0, 1, 1, 1]\n"
                            "  %s = Sub(%x, %z)\n"
                            "  %m = MatMul(%s, %w)\n"
                            "  %y = Relu(%m)\n"
                            "}\n";
    compiler_.set("costs", "estimate").set("cache", "");
  }
  void TearDown() override { std::filesystem::remove(path_); }

  /// x counts from 0, z is 1.
  static void expect_right(collage::DynamicSession& session, int64_t batch) {
    const std::vector<int64_t> shape{batch, 3};
    std::vector<float> x(static_cast<size_t>(batch) * 3), z(x.size(), 1);
    std::iota(x.begin(), x.end(), 0.0F);
    const auto results =
        session.run({{COLLAGE_F32, 2, shape.data(), x.data()}, {COLLAGE_F32, 2, shape.data(), z.data()}});
    ASSERT_EQ(results.size(), 1U);
    EXPECT_EQ(results[0].dtype, COLLAGE_F32);
    ASSERT_EQ(results[0].rank, 2);
    EXPECT_EQ(results[0].shape[0], batch);
    EXPECT_EQ(results[0].shape[1], 2);
    const auto* y = static_cast<const float*>(results[0].data);
    for (size_t row = 0; row < static_cast<size_t>(batch); ++row) {
      const float a = x[3 * row] - 1, b = x[3 * row + 1] - 1, c = x[3 * row + 2] - 1;
      EXPECT_EQ(y[2 * row], std::max(a + c, 0.0F));
      EXPECT_EQ(y[2 * row + 1], std::max(b + c, 0.0F));
    }
  }

  std::string failure_of(collage::DynamicSession& session, const std::vector<collage::Array>& inputs) {
    compiler_.clear_diagnostics();
    try {
      session.run(inputs);
    } catch (const collage::Error& error) {
      return error.what();
    }
    return "none";
  }

  /// The warnings about what is not padded.
  std::vector<std::string> about_padding() const {
    std::vector<std::string> messages;
    for (const collage::Diagnostic& one : compiler_.diagnostics()) {
      if (one.code == "CG0435" && one.severity == COLLAGE_WARNING) messages.push_back(one.message);
    }
    return messages;
  }

  std::string path_;
  collage::Compiler compiler_;
};

TEST_F(Dynamic, EachShapeIsCompiledOnce) {
  collage::DynamicSession session(compiler_, path_, 2);
  EXPECT_EQ(session.inputs(), (std::vector<std::string>{"x", "z"}));
  for (const int64_t batch : {1, 4, 1, 4, 1}) expect_right(session, batch);
  EXPECT_EQ(session.made(), 2U);
  expect_right(session, 7);  // 4 is dropped, 1 was used later
  expect_right(session, 1);
  EXPECT_EQ(session.made(), 3U);
  expect_right(session, 4);
  EXPECT_EQ(session.made(), 4U);
}

TEST_F(Dynamic, SizesBetweenBucketsCompileNothing) {
  compiler_.set("buckets", "batch=4,8");
  collage::DynamicSession session(compiler_, path_, 4);
  for (const int64_t batch : {3, 1, 4, 2}) expect_right(session, batch);
  EXPECT_EQ(session.made(), 1U);
  for (const int64_t batch : {5, 7, 8}) expect_right(session, batch);
  EXPECT_EQ(session.made(), 2U);
  expect_right(session, 9);  // beyond all buckets
  EXPECT_EQ(session.made(), 3U);
  EXPECT_EQ(about_padding(), (std::vector<std::string>{}));
}

TEST_F(Dynamic, WhatIsNotProvedIsCompiledForItself) {
  std::ofstream(path_) << "model @m(%x: f32[2, n]) -> (%y: f32[2, n]) {\n  %y = Softmax(%x)\n}\n";
  compiler_.set("buckets", "n=4");
  collage::DynamicSession session(compiler_, path_, 4);
  for (const int64_t n : {2, 3, 2, 4}) {
    const std::vector<int64_t> shape{2, n};
    const std::vector<float> x(static_cast<size_t>(n) * 2, 1.0F);
    const auto results = session.run({{COLLAGE_F32, 2, shape.data(), x.data()}});
    EXPECT_EQ(results[0].shape[1], n);
    EXPECT_NEAR(static_cast<const float*>(results[0].data)[0], 1.0F / static_cast<float>(n), 1e-6F);
  }
  EXPECT_EQ(session.made(), 3U);
  // Once, however often such sizes are met.
  EXPECT_EQ(about_padding(), (std::vector<std::string>{"n is not padded: node `y` (Softmax) normalises over it"}));
}

TEST_F(Dynamic, RefusesBucketsThatAreNone) {
  EXPECT_THROW(compiler_.set("buckets", "batch"), collage::Error);
  compiler_.set("buckets", "batch=4,8");
  EXPECT_THROW(compiler_.set("buckets", "batch=2"), collage::Error);
  compiler_.set("buckets", "").set("buckets", "batch=2");
}

TEST_F(Dynamic, RefusesBucketsOfWhatTheModelLacks) {
  for (const char* buckets : {"bacth=4", "x=4"}) {
    compiler_.set("buckets", "").set("buckets", buckets);
    EXPECT_THROW(collage::DynamicSession(compiler_, path_, 4), collage::Error) << buckets;
  }
  compiler_.clear_diagnostics();
  compiler_.set("buckets", "").set("buckets", "batch=4");
  collage::DynamicSession session(compiler_, path_, 4);
  expect_right(session, 3);
}

/// A mistake in a shape is no reason against padding, and does not take the place of one.
TEST_F(Dynamic, WrongInputsAreNotPadded) {
  compiler_.set("buckets", "batch=8");
  collage::DynamicSession session(compiler_, path_, 4);
  const std::vector<float> numbers(12);
  const std::vector<int64_t> good{2, 3}, wide{2, 4}, flat{6};
  const collage::Array x{COLLAGE_F32, 2, good.data(), numbers.data()};
  const std::string of_wide = failure_of(session, {x, {COLLAGE_F32, 2, wide.data(), numbers.data()}});
  EXPECT_NE(of_wide.find("is f32[2, 4], need f32[2, 3]"), std::string::npos) << of_wide;
  const std::string of_type = failure_of(session, {x, {COLLAGE_I32, 2, good.data(), numbers.data()}});
  EXPECT_NE(of_type.find("is i32[2, 3], need f32[2, 3]"), std::string::npos) << of_type;
  EXPECT_NE(failure_of(session, {x, {COLLAGE_F32, 1, flat.data(), numbers.data()}}), "none");
  EXPECT_EQ(about_padding(), (std::vector<std::string>{}));
  expect_right(session, 2);
  EXPECT_EQ(session.made(), 1U);
}

TEST_F(Dynamic, SaysWhatIsWrongWithInputs) {
  collage::DynamicSession session(compiler_, path_);
  const std::vector<float> numbers(12);
  const std::vector<int64_t> right{2, 3}, other{3, 3}, wide{2, 4}, flat{6}, negative{-2, 3};
  const collage::Array good{COLLAGE_F32, 2, right.data(), numbers.data()};
  const auto with = [&](int dtype, const std::vector<int64_t>& shape, const void* data) {
    return failure_of(session, {good, {dtype, static_cast<int32_t>(shape.size()), shape.data(), data}});
  };
  EXPECT_NE(failure_of(session, {good}).find("takes 2 inputs, not 1"), std::string::npos);
  EXPECT_NE(with(COLLAGE_I32, right, numbers.data()).find("input z: error: is i32[2, 3], need f32[2, 3]"),
            std::string::npos)
      << with(COLLAGE_I32, right, numbers.data());
  EXPECT_NE(with(COLLAGE_F32, other, numbers.data()), "none") << "batch is 2 and 3";
  EXPECT_NE(with(COLLAGE_F32, wide, numbers.data()), "none");
  EXPECT_NE(with(COLLAGE_F32, flat, numbers.data()), "none");
  EXPECT_NE(with(COLLAGE_F32, negative, numbers.data()).find("impossible shape"), std::string::npos);
  EXPECT_NE(with(COLLAGE_F32, right, nullptr).find("has no elements"), std::string::npos);
  EXPECT_NE(with(1000, right, numbers.data()).find("no dtype 1000"), std::string::npos);
  EXPECT_EQ(session.made(), 0U);
  expect_right(session, 2);
}

/// Fields of a message of protobuf, all of less than 128 bytes.
std::string field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}
std::string field(int number, int value) {
  return {static_cast<char>(number << 3), static_cast<char>(value)};
}

/// y = Add(x, w), f32[2] all, with w = 1, 1 as a default, as an .onnx file.
std::string model_with_default() {
  const std::string type = field(2, field(1, field(1, 1) + field(2, field(1, field(1, 2)))));
  const std::vector<float> ones = {1, 1};
  const std::string w = field(1, 2) + field(2, 1) + field(8, std::string("w")) +
                        field(9, std::string(reinterpret_cast<const char*>(ones.data()), 2 * sizeof(float)));
  const auto text = [](int number, const char* name) { return field(number, std::string(name)); };
  const std::string graph = field(1, text(1, "x") + text(1, "w") + text(2, "y") + text(4, "Add")) + text(2, "g") +
                            field(5, w) + field(11, text(1, "x") + type) + field(11, text(1, "w") + type) +
                            field(12, text(1, "y") + type);
  return field(1, 8) + field(7, graph) + field(8, field(2, 17));
}

TEST_F(Dynamic, ADefaultIsReplacedByASetting) {
  const std::string file = path_ + ".npy";
  std::string head = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  head.append(117 - head.size(), ' ').append("\n");
  const std::vector<float> w = {10, 20}, x = {1, 2};
  std::ofstream(file, std::ios::binary) << "\x93NUMPY\x01" << '\0' << '\x76' << '\0' << head
                                        << std::string(reinterpret_cast<const char*>(w.data()), 2 * sizeof(float));
  compiler_.file("<m>.onnx", model_with_default());
  const std::vector<int64_t> shape = {2};
  for (const bool is_replaced : {false, true}) {
    compiler_.set("default", is_replaced ? "w=" + file : "");
    collage::DynamicSession session(compiler_, "<m>.onnx");
    ASSERT_EQ(session.inputs(), std::vector<std::string>{"x"});
    const auto results = session.run({{COLLAGE_F32, 1, shape.data(), x.data()}});
    ASSERT_EQ(results.size(), 1U);
    const auto* y = static_cast<const float*>(results[0].data);
    EXPECT_EQ(y[0], is_replaced ? 11 : 2);
    EXPECT_EQ(y[1], is_replaced ? 22 : 3);
  }
  compiler_.set("default", "v=" + file);
  EXPECT_THROW(collage::DynamicSession(compiler_, "<m>.onnx"), collage::Error);
  std::filesystem::remove(file);
}

TEST_F(Dynamic, NullHandlesFailAndNothingElse) {
  EXPECT_EQ(collage_dynamic_session_create(nullptr, "m.ir", 1), nullptr);
  EXPECT_EQ(collage_dynamic_session_input_count(nullptr), 0U);
  EXPECT_EQ(collage_dynamic_session_input_name(nullptr, 0), nullptr);
  EXPECT_EQ(collage_dynamic_session_run(nullptr, nullptr, 0), 1);
  EXPECT_EQ(collage_dynamic_session_result(nullptr, 0), nullptr);
  EXPECT_EQ(collage_dynamic_session_result_name(nullptr, 0), nullptr);
  collage_dynamic_session_free(nullptr);
  EXPECT_THROW(collage::DynamicSession(compiler_, "no/such/model.ir"), collage::Error);
}

}  // namespace
