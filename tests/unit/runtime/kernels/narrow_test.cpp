// SPDX-License-Identifier: Apache-2.0
// Operators on f16, bf16 and unsigned integers, and conversions to and from the dtypes of quantisation.
#include "runtime/core/element.h"
#include "tests/unit/runtime/kernels/fixture.h"

namespace collage::runtime {
namespace {

Tensor numbers(DType dtype, Shape shape, const std::vector<double>& values) {
  Tensor result(dtype, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i) set_element(result.view(), static_cast<int64_t>(i), values[i]);
  return result;
}

std::vector<double> values_of(const Tensor& tensor) {
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.count(); ++i) values.push_back(element_as_double(tensor.view(), i));
  return values;
}

Attrs to(DType dtype) {
  return {{"to", int64_t{onnx_of(dtype)}}};
}

TEST(NarrowFloatKernels, EachOperatorRoundsOnce) {
  // 2048 + 1 is halfway between two f16; 2049 + 2 would be 2052 from the unrounded sum and 2050 from the rounded one.
  Tensor sum = run("Add", {numbers(DType::F16, {2}, {2048, 60000}), numbers(DType::F16, {2}, {1, 60000})})[0];
  EXPECT_EQ(sum.dtype(), DType::F16);
  EXPECT_EQ(values_of(sum), (std::vector<double>{2048, INFINITY}));
  // The sum of a reduction is rounded at its end only.
  Tensor ones = numbers(DType::BF16, {1000}, std::vector<double>(1000, 1));
  EXPECT_EQ(values_of(run("ReduceSum", {ones}, {{"keepdims", int64_t{0}}})[0]), (std::vector<double>{1000}));
  Tensor product = run("MatMul", {numbers(DType::F16, {1, 2}, {2048, 1}), numbers(DType::F16, {2, 1}, {1, 3})})[0];
  EXPECT_EQ(values_of(product), (std::vector<double>{2052}));
}

TEST(NarrowFloatKernels, ComparisonsAndMixedOperands) {
  Tensor less = run("Less", {numbers(DType::BF16, {2}, {1, 3}), numbers(DType::BF16, {2}, {2, 2})})[0];
  EXPECT_EQ(less.as<uint8_t>()[0], 1);
  EXPECT_EQ(less.as<uint8_t>()[1], 0);
  Tensor picked = run("Gather", {numbers(DType::F16, {3}, {1, 2, 3}), i64({2}, {2, 0})})[0];
  EXPECT_EQ(values_of(picked), (std::vector<double>{3, 1}));
  auto top = run("TopK", {numbers(DType::F16, {3}, {1, 3, 2}), i64({1}, {2})}, {}, 2);
  EXPECT_EQ(values_of(top[0]), (std::vector<double>{3, 2}));
  EXPECT_EQ(top[1].as<int64_t>()[0], 1);
}

TEST(NarrowFloatKernels, MovementKeepsBits) {
  Tensor nans(DType::F16, {2});
  nans.as<uint16_t>()[0] = 0x7d01;  // signalling
  nans.as<uint16_t>()[1] = 0x8000;
  EXPECT_TRUE(identical(run("Reshape", {nans, i64({1}, {2})})[0], nans));
  EXPECT_TRUE(identical(run("Concat", {nans}, {{"axis", int64_t{0}}})[0], nans));
}

TEST(UnsignedKernels, WrapAndCompareAsUnsigned) {
  Tensor big(DType::U64, {2});
  big.as<uint64_t>()[0] = UINT64_MAX;
  big.as<uint64_t>()[1] = 1;
  Tensor small(DType::U64, {2});
  small.as<uint64_t>()[0] = 2;
  small.as<uint64_t>()[1] = 3;
  EXPECT_EQ(run("Add", {big, small})[0].as<uint64_t>()[0], 1U);
  EXPECT_EQ(run("Div", {big, small})[0].as<uint64_t>()[0], UINT64_MAX / 2);
  EXPECT_EQ(run("Max", {big, small})[0].as<uint64_t>()[0], UINT64_MAX);
  EXPECT_EQ(run("Greater", {big, small})[0].as<uint8_t>()[0], 1);
  EXPECT_EQ(run("ReduceMax", {big}, {{"keepdims", int64_t{0}}})[0].as<uint64_t>()[0], UINT64_MAX);
  Tensor words = numbers(DType::U32, {1}, {4294967295.0});
  EXPECT_EQ(run("Mul", {words, words})[0].as<uint32_t>()[0], 1U);
  Tensor halves = numbers(DType::U16, {1}, {0x8001});
  EXPECT_EQ(run("BitShift", {halves, numbers(DType::U16, {1}, {1})}, {{"direction", std::string("LEFT")}})[0]
                .as<uint16_t>()[0],
            2);
  EXPECT_EQ(values_of(run("Cast", {big}, to(DType::F64))[0])[0], 0x1p64);
}

TEST(CastKernel, SaturatesFloat8OnlyIfAsked) {
  Tensor x = f32({3}, {1e6F, -INFINITY, 0.3F});
  EXPECT_EQ(values_of(run("Cast", {x}, to(DType::F8E4M3FN))[0]), (std::vector<double>{448, -448, 0.3125}));
  Attrs loose = to(DType::F8E5M2);
  loose.emplace_back("saturate", int64_t{0});
  EXPECT_EQ(values_of(run("Cast", {x}, loose)[0]), (std::vector<double>{INFINITY, -INFINITY, 0.3125}));
  Attrs down = to(DType::F8E8M0);
  down.emplace_back("round_mode", std::string("down"));
  EXPECT_EQ(values_of(run("Cast", {f32({2}, {1.9F, 8})}, down)[0]), (std::vector<double>{1, 8}));
  EXPECT_EQ(values_of(run("Cast", {f32({2}, {1.9F, 8})}, to(DType::F8E8M0))[0]), (std::vector<double>{2, 8}));
}

TEST(CastKernel, FloatsToFourBitsRoundToEvenAndWrap) {
  EXPECT_EQ(values_of(run("Cast", {f32({4}, {2.5F, -9, 8, 3.5F})}, to(DType::I4))[0]),
            (std::vector<double>{2, 7, -8, 4}));
  EXPECT_EQ(values_of(run("Cast", {f32({1}, {100})}, to(DType::F4E2M1))[0]), (std::vector<double>{6}));
}

TEST(CastKernel, IntegersOf64BitsRoundOnce) {
  // 2^62 + 2^54 is halfway between two bf16: one more makes it the upper one. A double does not hold that one.
  const int64_t middle = (int64_t{1} << 62) + (int64_t{1} << 54);
  const double lower = 0x1p62, upper = 0x1p62 + 0x1p55;
  EXPECT_EQ(values_of(run("Cast", {i64({4}, {middle, middle + 1, -middle, -middle - 1})}, to(DType::BF16))[0]),
            (std::vector<double>{lower, upper, -lower, -upper}));
  Tensor x(DType::U64, {3});
  x.as<uint64_t>()[0] = static_cast<uint64_t>(middle) * 2 + 1;
  x.as<uint64_t>()[1] = UINT64_MAX;
  x.as<uint64_t>()[2] = uint64_t{1} << 63;
  EXPECT_EQ(values_of(run("Cast", {x}, to(DType::BF16))[0]), (std::vector<double>{2 * upper, 0x1p64, 0x1p63}));
  EXPECT_EQ(values_of(run("Cast", {i64({1}, {(int64_t{1} << 53) + 1})}, to(DType::F8E8M0))[0]),
            (std::vector<double>{0x1p54}));
}

TEST(CastKernel, BetweenAllDtypes) {
  for (DType from : all_dtypes()) {
    for (DType into : all_dtypes()) {
      SCOPED_TRACE(testing::Message() << name_of(from) << " " << name_of(into));
      Tensor x = numbers(from, {2}, {1, 1});
      Tensor y = run("Cast", {x}, to(into))[0];
      EXPECT_EQ(y.dtype(), into);
      EXPECT_EQ(values_of(y), (std::vector<double>{1, 1}));
    }
  }
}

TEST(QuantizeKernels, BlocksHaveScalesOfTheirOwn) {
  Tensor x = f32({1, 4}, {1, 2, 3, 30});
  Tensor scale = f32({1, 2}, {1, 10});
  const Attrs blocks = {{"axis", int64_t{1}}, {"block_size", int64_t{2}}};
  Tensor zero = numbers(DType::U4, {1, 2}, {1, 2});
  Tensor q = run("QuantizeLinear", {x, scale, zero}, blocks)[0];
  EXPECT_EQ(q.dtype(), DType::U4);
  EXPECT_EQ(values_of(q), (std::vector<double>{2, 3, 2, 5}));
  EXPECT_EQ(values_of(run("DequantizeLinear", {q, scale, zero}, blocks)[0]), (std::vector<double>{1, 2, 0, 30}));
}

TEST(QuantizeKernels, ScaleSaysInWhatIsDivided) {
  // 1000 / 3 is 333.33 in f32 and 333.25 in f16.
  Tensor x = numbers(DType::F16, {1}, {1000});
  Tensor q = run("QuantizeLinear", {x, numbers(DType::F16, {}, {3}), numbers(DType::I16, {}, {0})})[0];
  EXPECT_EQ(values_of(q), (std::vector<double>{333}));
  Tensor wide = run("DequantizeLinear", {q, numbers(DType::F16, {}, {3})})[0];
  EXPECT_EQ(wide.dtype(), DType::F16);
  EXPECT_EQ(values_of(wide), (std::vector<double>{999}));
  Tensor as_f32 = run("DequantizeLinear", {q, numbers(DType::F16, {}, {3})}, {{"output_dtype", int64_t{1}}})[0];
  EXPECT_EQ(as_f32.dtype(), DType::F32);
  Tensor f8 = run("QuantizeLinear", {f32({2}, {1000, 1}), f32({}, {2}), numbers(DType::F8E4M3FN, {}, {0})})[0];
  EXPECT_EQ(values_of(f8), (std::vector<double>{448, 0.5}));
}

}  // namespace
}  // namespace collage::runtime
