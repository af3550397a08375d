// SPDX-License-Identifier: Apache-2.0
// Storages: halves and quantised integers, element by element, and which of them lose something.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/core/stored_tensor.h"

namespace collage::runtime {
namespace {

const std::optional<Storage> kHalf = Storage{StorageType::F16};
const std::optional<Storage> kBrain = Storage{StorageType::BF16};

template <typename To, typename From>
std::vector<To> convert(DType dtype, const std::vector<From>& values, const std::optional<Storage>& from,
                        const std::optional<Storage>& to) {
  std::vector<To> result(values.size());
  convert_storage(dtype, static_cast<int64_t>(values.size()), reinterpret_cast<const std::byte*>(values.data()), from,
                  reinterpret_cast<std::byte*>(result.data()), to);
  return result;
}

std::vector<uint16_t> halves(const std::vector<float>& values, const std::optional<Storage>& storage = kHalf) {
  return convert<uint16_t>(DType::F32, values, std::nullopt, storage);
}

TEST(Storage, HalvesRoundToNearestEven) {
  EXPECT_EQ(halves({0.0f, -0.0f, 1.0f, -2.0f, 65504.0f}), (std::vector<uint16_t>{0, 0x8000, 0x3c00, 0xc000, 0x7bff}));
  // 2048 and 2050 are neighbours: 2049 is halfway and goes to the even one, as does 2051.
  EXPECT_EQ(halves({2049.0f, 2051.0f, 2049.5f}), (std::vector<uint16_t>{0x6800, 0x6802, 0x6801}));
  EXPECT_EQ(halves({65519.0f, 65520.0f, -1e30f}), (std::vector<uint16_t>{0x7bff, 0x7c00, 0xfc00}));
  // The smallest normal, the smallest of all, half of it, and a little more than that.
  EXPECT_EQ(halves({0x1p-14f, 0x1p-24f, 0x1p-25f, 0x1.8p-25f, 0x1p-40f}),
            (std::vector<uint16_t>{0x0400, 0x0001, 0x0000, 0x0001, 0x0000}));
  EXPECT_EQ(halves({std::numeric_limits<float>::infinity()}), (std::vector<uint16_t>{0x7c00}));
  EXPECT_TRUE(std::isnan(convert<float>(DType::F32, halves({NAN}), kHalf, std::nullopt)[0]));
}

TEST(Storage, EveryHalfComesBackAsItself) {
  for (const auto& storage : {kHalf, kBrain}) {
    std::vector<uint16_t> all(65536);
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
    std::vector<float> wide = convert<float>(DType::F32, all, storage, std::nullopt);
    std::vector<uint16_t> back = halves(wide, storage);
    for (size_t i = 0; i < all.size(); ++i) {
      if (std::isnan(wide[i])) continue;
      ASSERT_EQ(back[i], all[i]);
    }
  }
}

TEST(Storage, BrainFloatsAreTheUpperHalfOfFloats) {
  for (float value : {1.0f, -3.14159f, 1e-38f, 3e38f, 0x1.01p0f, 0x1.03p0f}) {
    uint32_t bits = 0;
    std::memcpy(&bits, &value, 4);
    uint32_t rounded = bits + 0x7fff + ((bits >> 16) & 1);
    EXPECT_EQ(halves({value}, kBrain)[0], rounded >> 16) << value;
  }
}

TEST(Storage, QuantisedIntegers) {
  Storage storage{StorageType::I8, Quantisation{0.5, 3}};
  std::vector<float> values = {0.0f, 1.0f, -1.0f, 0.25f, 0.75f, 1000.0f, -1000.0f, NAN};
  std::vector<int8_t> stored = convert<int8_t>(DType::F32, values, std::nullopt, storage);
  EXPECT_EQ(stored, (std::vector<int8_t>{3, 5, 1, 3, 5, 127, -128, 0}));
  EXPECT_EQ(convert<float>(DType::F32, stored, storage, std::nullopt),
            (std::vector<float>{0.0f, 1.0f, -1.0f, 0.0f, 1.0f, 62.0f, -65.5f, -1.5f}));
}

TEST(Storage, IntegersSaturateAndStayExact) {
  std::vector<int64_t> wide = {1, -1, 300, INT64_MIN, (int64_t{1} << 60) + 1};
  EXPECT_EQ(convert<int8_t>(DType::I64, wide, std::nullopt, Storage{StorageType::I8}),
            (std::vector<int8_t>{1, -1, 127, -128, 127}));
  std::vector<int8_t> small = {-128, 0, 127};
  auto as_float = convert<float>(DType::I8, small, std::nullopt, Storage{StorageType::F32});
  EXPECT_EQ(as_float, (std::vector<float>{-128, 0, 127}));
  EXPECT_EQ(convert<int8_t>(DType::I8, as_float, Storage{StorageType::F32}, std::nullopt), small);
}

TEST(Storage, WhatLosesSomething) {
  auto loses = [](DType dtype, StorageType type) { return is_lossy(dtype, Storage{type}); };
  EXPECT_TRUE(loses(DType::F32, StorageType::F16));
  EXPECT_TRUE(loses(DType::F32, StorageType::BF16));
  EXPECT_FALSE(loses(DType::F32, StorageType::F64));
  EXPECT_TRUE(loses(DType::F64, StorageType::F32));
  EXPECT_FALSE(loses(DType::I8, StorageType::I32));
  EXPECT_FALSE(loses(DType::I8, StorageType::F16));
  EXPECT_FALSE(loses(DType::U8, StorageType::BF16));
  EXPECT_TRUE(loses(DType::U8, StorageType::I8));
  EXPECT_TRUE(loses(DType::I16, StorageType::F16));
  EXPECT_FALSE(loses(DType::I32, StorageType::F64));
  EXPECT_TRUE(loses(DType::I64, StorageType::F64));
  EXPECT_TRUE(is_lossy(DType::F32, Storage{StorageType::I32, Quantisation{0.1, 0}}));
}

TEST(Storage, WhatCannotBe) {
  EXPECT_EQ(storage_mismatch(DType::F32, Storage{StorageType::I8}),
            "is f32, and i8 holds such numbers with a scale only");
  EXPECT_EQ(storage_mismatch(DType::I8, Storage{StorageType::I8, Quantisation{}}), "is i8, and a scale is for floats");
  EXPECT_EQ(storage_mismatch(DType::Bool, Storage{StorageType::U8}), "is bool, which memory holds as bool only");
  EXPECT_EQ(storage_mismatch(DType::I8, Storage{StorageType::F16}), "");
  EXPECT_EQ(canonical_storage(DType::F32, Storage{StorageType::F32}), std::nullopt);
  EXPECT_EQ(canonical_storage(DType::F32, kHalf), kHalf);
}

TEST(Storage, TextAndSize) {
  EXPECT_EQ(to_string(*kHalf), "f16");
  EXPECT_EQ(to_string(Storage{StorageType::I8, Quantisation{0.05, 0}}), "i8 scale 0.05");
  EXPECT_EQ(to_string(Storage{StorageType::U8, Quantisation{0.25, 128}}), "u8 scale 0.25 zero 128");
  EXPECT_EQ(stored_bytes(DType::F32, {2, 3}, kHalf), 12u);
  EXPECT_EQ(stored_bytes(DType::F32, {2, 3}, std::nullopt), 24u);
}

TEST(Storage, LayoutAndStorageChangeTogether) {
  std::vector<float> plain = {0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<uint16_t> there(8);
  Shape shape{1, 2, 2, 2};
  rewrite(DType::F32, shape, reinterpret_cast<const std::byte*>(plain.data()), {},
          reinterpret_cast<std::byte*>(there.data()), {"NHWC", kHalf});
  EXPECT_EQ(there, halves({0, 4, 1, 5, 2, 6, 3, 7}));
  std::vector<float> back(8);
  rewrite(DType::F32, shape, reinterpret_cast<const std::byte*>(there.data()), {"NHWC", kHalf},
          reinterpret_cast<std::byte*>(back.data()), {});
  EXPECT_EQ(back, plain);
}

TEST(StoredTensor, BytesAreThoseOfTheStorageOrTheEncoding) {
  EXPECT_EQ((StoredTensor{DType::F32, {2, 3}}).bytes(), 24u);
  EXPECT_EQ((StoredTensor{DType::F32, {2, 3}, {"plain", kHalf}}).bytes(), 12u);
  EXPECT_EQ((StoredTensor{DType::F32, {2, 3}, {}, "bf16", 12}).bytes(), 12u);
  EXPECT_TRUE(TensorForm().is_plain());
  EXPECT_FALSE((TensorForm{"NHWC"}).is_plain());
  EXPECT_FALSE((TensorForm{"plain", kHalf}).is_plain());
}

}  // namespace
}  // namespace collage::runtime
