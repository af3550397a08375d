// SPDX-License-Identifier: Apache-2.0
// Kernels of devices that compute in another precision than the model: results differ from those of f32 exactly as
// rounding says.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/conformance/device_rig.h"

namespace collage::runtime::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

LoweringCall call_in(std::optional<StorageType> precision) {
  LoweringCall call;
  call.rule = "r";
  call.kind = "sim";
  call.precision = precision;
  return call;
}

class Precision : public DeviceConformance {
 protected:
  /// One operator of two operands.
  std::vector<float> result(const std::string& op, const std::vector<float>& a, const std::vector<float>& b,
                            const Shape& shape_a, const Shape& shape_b, const Shape& shape_y,
                            std::optional<StorageType> precision) {
    auto device = make();
    const LoweringCall call = call_in(precision);
    const OpCall described{op, {}, {}, {}};
    const DeviceTensor x = put(*device, a, shape_a), w = put(*device, b, shape_b);
    const DeviceTensor y = put(*device, std::vector<float>(static_cast<size_t>(element_count(shape_y)), 99), shape_y);
    const Status status = device->launch(std::vector<DeviceOp>{{&described, {x, w}, {y}, &call}}, {});
    EXPECT_TRUE(status) << (status ? "" : status.message());
    std::vector<std::byte> kept(a.size() * sizeof(float));
    EXPECT_TRUE(device->copy_out(x.address, kept));
    EXPECT_TRUE(std::ranges::equal(kept, bytes_of(a))) << "operands stay as they are";
    return get(*device, y);
  }
};

TEST_P(Precision, OperandsAndResultsAreRoundedToNearestEven) {
  if (!GetParam().computes()) GTEST_SKIP() << "`" << GetParam().name() << "` computes nothing";
  const auto sum = [&](float a, float b, std::optional<StorageType> precision) {
    return result("Add", {a}, {b}, {1}, {1}, {1}, precision)[0];
  };
  EXPECT_EQ(sum(256, 1, {}), 257);
  EXPECT_EQ(sum(256, 1, StorageType::BF16), 256) << "halfway between 256 and 258: the even one";
  EXPECT_EQ(sum(258, 1, StorageType::BF16), 260) << "halfway between 258 and 260";
  EXPECT_EQ(sum(257, 2, StorageType::BF16), 258) << "257 is read as 256";
  EXPECT_EQ(sum(2048, 1, StorageType::F16), 2048);
  EXPECT_EQ(sum(2050, 1, StorageType::F16), 2052);
  EXPECT_EQ(sum(60000, 10000, StorageType::F16), kInfinity) << "more than f16 holds";
  EXPECT_EQ(sum(60000, 10000, StorageType::BF16), 69632);
  EXPECT_EQ(sum(1e-8f, 0, StorageType::F16), 0) << "less than half of the least f16";
  EXPECT_TRUE(std::signbit(sum(-0.0f, -0.0f, StorageType::F16)));
  EXPECT_TRUE(std::isnan(sum(std::nanf(""), 1, StorageType::BF16)));
}

TEST_P(Precision, ProductsAreAddedUpBeforeTheyAreRounded) {
  if (!GetParam().computes()) GTEST_SKIP() << "`" << GetParam().name() << "` computes nothing";
  // In bf16 a sum of ones would stop at 256.
  const std::vector<float> ones(1000, 1);
  EXPECT_EQ(result("MatMul", ones, ones, {1, 1000}, {1000, 1}, {1, 1}, StorageType::BF16)[0], 1000);
  EXPECT_EQ(result("MatMul", {257, 1}, {1, 1}, {1, 2}, {2, 1}, {1, 1}, StorageType::BF16)[0], 256);
  EXPECT_EQ(result("MatMul", {257, 1}, {1, 1}, {1, 2}, {2, 1}, {1, 1}, {})[0], 258);
}

TEST_P(Precision, EachOperatorRoundsInItsTurn) {
  if (!GetParam().computes()) GTEST_SKIP() << "`" << GetParam().name() << "` computes nothing";
  auto device = make();
  const LoweringCall call = call_in(StorageType::BF16);
  const OpCall add{"Add", {}, {}, {}};
  const DeviceTensor x = put(*device, {256}, {1}), one = put(*device, {1}, {1});
  const DeviceTensor between = put(*device, {0}, {1}), y = put(*device, {0}, {1});
  ASSERT_TRUE(device->launch(
      std::vector<DeviceOp>{{&add, {x, one}, {between}, &call}, {&add, {between, one}, {y}, &call}}, {}));
  EXPECT_EQ(get(*device, y), (std::vector<float>{256})) << "f32 in between would give 258";
}

TEST_P(Precision, OperatorsWithoutAFloatResultAreExact) {
  if (!GetParam().computes()) GTEST_SKIP() << "`" << GetParam().name() << "` computes nothing";
  auto device = make();
  const LoweringCall call = call_in(StorageType::BF16);
  const OpCall less{"Less", {}, {}, {}};
  const DeviceTensor a = put(*device, {256}, {1}), b = put(*device, {257}, {1});
  const DeviceTensor y{allocate(*device, 1), {DType::Bool, {1}}};
  ASSERT_TRUE(device->launch(std::vector<DeviceOp>{{&less, {a, b}, {y}, &call}}, {}));
  std::byte got{};
  ASSERT_TRUE(device->copy_out(y.address, {&got, 1}));
  EXPECT_EQ(got, std::byte{1}) << "rounded, they would be equal";
}

TEST_P(Precision, AnotherTypeIsRefused) {
  if (!GetParam().computes()) GTEST_SKIP() << "`" << GetParam().name() << "` computes nothing";
  auto device = make();
  const LoweringCall call = call_in(StorageType::I8);
  const OpCall neg{"Neg", {}, {}, {}};
  const DeviceTensor x = put(*device, {1}, {1});
  EXPECT_FALSE(device->launch(std::vector<DeviceOp>{{&neg, {x}, {x}, &call}}, {}));
}

/// i8 with sums in i32, rounded once to the scale of the result: 127 * 127 * 64 is far more than 16 bits hold.
TEST_P(Precision, IntegersAreAddedUpInI32AndRequantised) {
  if (!GetParam().computes()) GTEST_SKIP() << "`" << GetParam().name() << "` computes nothing";
  auto device = make();
  constexpr int64_t kInner = 64;
  const auto bytes = [&](const std::vector<int8_t>& values, Shape shape) {
    DeviceTensor tensor{allocate(*device, values.size()), {DType::I8, std::move(shape)}};
    EXPECT_TRUE(device->copy_in(std::as_bytes(std::span(values)), tensor.address));
    return tensor;
  };
  const DeviceTensor a = bytes(std::vector<int8_t>(kInner, 127), {1, kInner});
  std::vector<int8_t> weights(2 * kInner, 127);
  for (size_t k = 0; k < kInner; ++k) weights[2 * k + 1] = k % 2 == 0 ? -128 : 125;
  const DeviceTensor b = bytes(weights, {kInner, 2});
  const DeviceTensor one = put(*device, {1}, {}), ys = put(*device, {127.0f * 130}, {});
  const DeviceTensor zero = bytes({0}, {}), yz = bytes({-3}, {});
  const DeviceTensor y = bytes({99, 99}, {1, 2});
  // The precision of floats is none of its business.
  const LoweringCall call = call_in(StorageType::BF16);
  const OpCall product{"QLinearMatMul", {}, {}, {}};
  const Status status =
      device->launch(std::vector<DeviceOp>{{&product, {a, one, zero, b, one, zero, ys, yz}, {y}, &call}}, {});
  ASSERT_TRUE(status) << (status ? "" : status.message());
  std::vector<int8_t> got(2);
  ASSERT_TRUE(device->copy_out(y.address, std::as_writable_bytes(std::span(got))));
  const auto requantised = [](double sum) { return static_cast<int>(std::nearbyint(sum / (127.0 * 130))) - 3; };
  EXPECT_EQ(got[0], requantised(127.0 * 127 * kInner));
  EXPECT_EQ(got[1], requantised(127.0 * (kInner / 2) * (125 - 128)));
}

INSTANTIATE_TEST_SUITE_P(AllKinds, Precision, testing::ValuesIn(variants()),
                         [](const auto& row) { return row.param.test_name(); });

}  // namespace
}  // namespace collage::runtime::test
