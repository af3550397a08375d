// SPDX-License-Identifier: Apache-2.0
// Elements of files: packed ones, and numbers that are read in a wider dtype.
#include "runtime/io/element_formats.h"

#include <gtest/gtest.h>

#include <numeric>

#include "runtime/core/element.h"
#include "runtime/io/npy.h"
#include "runtime/io/safetensors.h"

namespace collage::runtime {
namespace {

TEST(PackedElements, FirstElementHasTheLowestBits) {
  Tensor tensor(DType::I4, {3});
  for (int64_t i = 0; i < 3; ++i) set_element(tensor.view(), i, static_cast<double>(i) - 2);  // -2, -1, 0
  EXPECT_EQ(pack(tensor), std::string("\xfe\x00", 2));
  Tensor pairs(DType::U2, {5});
  for (int64_t i = 0; i < 5; ++i) set_element(pairs.view(), i, static_cast<double>(i % 4));
  EXPECT_EQ(pack(pairs), std::string("\xe4\x00", 2));
}

TEST(PackedElements, EveryDtypeComesBack) {
  for (DType dtype : all_dtypes()) {
    SCOPED_TRACE(name_of(dtype));
    Tensor tensor(dtype, {7});
    for (int64_t i = 0; i < 7; ++i)
      set_element(tensor.view(), i, dtype == DType::F8E8M0 ? 2 : static_cast<double>(i % 2));
    const std::string bytes = pack(tensor);
    EXPECT_EQ(bytes.size(), packed_bytes(dtype, 7));
    EXPECT_TRUE(identical(unpack(dtype, {7}, bytes.data()), tensor));
  }
}

TEST(Widened, ExactlyOrNotAtAll) {
  Tensor half(DType::F16, {2});
  set_element(half.view(), 0, 0.1);
  set_element(half.view(), 1, -65504);
  std::optional<Tensor> wide = widened(half, DType::F32);
  ASSERT_TRUE(wide);
  EXPECT_EQ(wide->as<float>()[0], 0x1.998p-4F);
  EXPECT_EQ(wide->as<float>()[1], -65504);
  wide = widened(half, DType::F16);
  ASSERT_TRUE(wide);
  EXPECT_EQ(wide->data(), half.data());
  EXPECT_FALSE(widened(half, DType::BF16));
  EXPECT_FALSE(widened(Tensor(DType::F32, {1}), DType::F16));
  EXPECT_FALSE(widened(Tensor(DType::I8, {1}), DType::F32));
}

TEST(TensorFiles, KeepNarrowAndUnsignedElements) {
  const std::string folder = testing::TempDir();
  NamedTensors tensors;
  for (DType dtype : {DType::F16, DType::BF16, DType::U16, DType::U32, DType::U64, DType::F8E4M3FN, DType::F8E5M2}) {
    Tensor tensor(dtype, {3});
    for (int64_t i = 0; i < 3; ++i) set_element(tensor.view(), i, static_cast<double>(i) * 2);
    tensors.emplace(name_of(dtype), tensor);
  }
  ASSERT_TRUE(write_safetensors(folder + "narrow.safetensors", tensors).is_ok());
  Result<NamedTensors> back = read_safetensors(folder + "narrow.safetensors");
  ASSERT_TRUE(back.is_ok()) << back.message();
  for (const auto& [name, tensor] : tensors) EXPECT_TRUE(identical(back->at(name), tensor)) << name;
  for (const char* name : {"f16", "u16", "u64"}) {
    ASSERT_TRUE(write_npy(folder + "narrow.npy", tensors.at(name)).is_ok());
    Result<Tensor> read = read_npy(folder + "narrow.npy");
    ASSERT_TRUE(read.is_ok()) << read.message();
    EXPECT_TRUE(identical(*read, tensors.at(name))) << name;
  }
}

TEST(TensorFiles, SayWhatTheyCannotHold) {
  const std::string folder = testing::TempDir();
  EXPECT_EQ(write_npy(folder + "b.npy", Tensor(DType::BF16, {1})).message(),
            "a .npy file has no element type for bf16");
  const std::string path = folder + "i.safetensors";
  EXPECT_EQ(write_safetensors(path, {{"a", Tensor(DType::I4, {1})}}).message(),
            "cannot write '" + path + "': a .safetensors file has no element type for i4");
}

}  // namespace
}  // namespace collage::runtime
