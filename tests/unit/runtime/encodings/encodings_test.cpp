// SPDX-License-Identifier: Apache-2.0
// Encodings of constants: contents, sizes, refusals, and that decoding undoes them.
#include "runtime/encodings/encodings.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace collage::runtime {
namespace {

Tensor counting(Shape shape) {
  Tensor tensor(DType::F32, std::move(shape));
  float next = 0;
  for (float& value : tensor.as<float>()) value = next++;
  return tensor;
}

std::vector<float> floats(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

TEST(Encodings, LayoutsMoveElements) {
  // OIHW 2 x 2 x 1 x 2: element (o, i, 0, w) is 4 o + 2 i + w.
  Tensor w = counting({2, 2, 1, 2});
  auto ohwi = encode_constant(w, "OHWI");
  ASSERT_TRUE(ohwi) << ohwi.message();
  EXPECT_EQ(floats(*ohwi), (std::vector<float>{0, 2, 1, 3, 4, 6, 5, 7}));
  auto hwio = encode_constant(w, "HWIO");
  ASSERT_TRUE(hwio);
  EXPECT_EQ(floats(*hwio), (std::vector<float>{0, 4, 2, 6, 1, 5, 3, 7}));
  auto transposed = encode_constant(counting({2, 3}), "transpose");
  ASSERT_TRUE(transposed);
  EXPECT_EQ(floats(*transposed), (std::vector<float>{0, 3, 1, 4, 2, 5}));
}

TEST(Encodings, Bf16RoundsToNearestEven) {
  EXPECT_EQ(round_to_bf16(1.0f), 1.0f);
  EXPECT_EQ(round_to_bf16(1.0f + 0x1p-8f), 1.0f);  // half way: to the even mantissa
  EXPECT_EQ(round_to_bf16(1.0f + 0x1p-7f + 0x1p-8f), 1.0f + 0x1p-6f);
  EXPECT_EQ(round_to_bf16(-3.14159274f), -3.140625f);
  EXPECT_TRUE(std::isnan(round_to_bf16(std::nanf(""))));
  EXPECT_EQ(round_to_bf16(std::numeric_limits<float>::max()), std::numeric_limits<float>::infinity());
}

TEST(Encodings, RunsOfBytesAreShort) {
  Tensor zeros(DType::F32, {100});  // 400 bytes: runs of 255 and 145
  auto bytes = encode_constant(zeros, "rle");
  ASSERT_TRUE(bytes);
  ASSERT_EQ(bytes->size(), 4U);
  EXPECT_EQ(static_cast<int>((*bytes)[0]), 255);
  EXPECT_EQ(static_cast<int>((*bytes)[2]), 145);
}

TEST(Encodings, DecodingUndoesChains) {
  Tensor w = counting({3, 2, 2, 4});  // whole numbers below 256: bf16 keeps them
  for (const char* chain : {"OHWI", "HWIO", "HWOI", "IHWO", "IOHW", "rle", "bf16", "OHWI+bf16+rle", "HWIO+rle"}) {
    auto bytes = encode_constant(w, chain);
    ASSERT_TRUE(bytes) << chain << ": " << bytes.message();
    auto back = decode_constant(*bytes, DType::F32, w.shape(), chain);
    ASSERT_TRUE(back) << chain << ": " << back.message();
    EXPECT_TRUE(identical(*back, w)) << chain;
  }
  EXPECT_EQ(encode_constant(w, "bf16")->size(), w.bytes() / 2);
}

TEST(Encodings, SizesAreKnownWithoutElements) {
  const Tensor w = counting({3, 2, 2, 4});
  for (const char* chain : {"OHWI", "bf16", "OHWI+bf16"}) {
    EXPECT_EQ(least_encoded_bytes(DType::F32, w.shape(), chain), encode_constant(w, chain)->size()) << chain;
  }
  // One byte again and again: a count and the byte for 255 of them.
  const Tensor zero(DType::F32, {1000});
  EXPECT_EQ(least_encoded_bytes(DType::F32, zero.shape(), "rle"), encode_constant(zero, "rle")->size());
  EXPECT_LE(least_encoded_bytes(DType::F32, w.shape(), "bf16+rle"), encode_constant(w, "bf16+rle")->size());
  EXPECT_EQ(least_encoded_bytes(DType::F32, w.shape(), "zip"), w.bytes());
}

TEST(Encodings, RefusalsSayWhatDoesNotFit) {
  auto message = [](const Tensor& tensor, const char* chain) {
    auto bytes = encode_constant(tensor, chain);
    return bytes ? std::string("encoded") : bytes.message();
  };
  EXPECT_EQ(message(counting({2, 3}), "OHWI"), "`OHWI` needs 4 dimensions, the constant has 2");
  EXPECT_EQ(message(Tensor(DType::I64, {2}), "bf16"), "`bf16` needs a constant of f32");
  EXPECT_EQ(message(counting({2, 3}), "rle+transpose"), "`transpose` cannot follow `rle`");
  EXPECT_EQ(message(counting({2, 3}), "zip"), "there is no encoding `zip`");
}

TEST(Encodings, DamagedBytesAreRefused) {
  auto message = [](std::vector<unsigned char> bytes, const char* chain) {
    std::vector<std::byte> block(bytes.size());
    std::memcpy(block.data(), bytes.data(), bytes.size());
    auto tensor = decode_constant(block, DType::F32, {2}, chain);
    return tensor ? std::string("decoded") : tensor.message();
  };
  EXPECT_EQ(message({8, 0}, "rle"), "decoded");
  EXPECT_EQ(message({9, 0}, "rle"), "rle: a run of an impossible length");
  EXPECT_EQ(message({0, 0}, "rle"), "rle: a run of an impossible length");
  EXPECT_EQ(message({7, 0}, "rle"), "rle: bytes are missing");
  EXPECT_EQ(message({8}, "rle"), "rle: a run without its byte");
  EXPECT_EQ(message({1, 2, 3}, "bf16"), "bf16: the number of bytes is wrong");
}

}  // namespace
}  // namespace collage::runtime
