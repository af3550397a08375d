// SPDX-License-Identifier: Apache-2.0
#include "runtime/io/mapped_bytes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "runtime/core/tensor.h"
#include "runtime/io/file_bytes.h"

namespace collage::runtime {
namespace {

class MappedBytes : public ::testing::TestWithParam<Paging> {
 protected:
  void SetUp() override {
    path_ = (std::filesystem::path(::testing::TempDir()) / ("collage_mapped_" + std::to_string(::getpid()))).string();
    std::string bytes(kBytes, '\0');
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7 % 251);
    ASSERT_TRUE(write_file(path_, {bytes}));
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::shared_ptr<const std::byte> mapped(uint64_t offset, size_t bytes) const {
    Result<Descriptor> file = open_to_read(path_);
    EXPECT_TRUE(file) << file.message();
    auto memory = map_bytes(*file, offset, bytes, GetParam());
    EXPECT_TRUE(memory) << memory.message();
    return *memory;
  }

  static bool are_right(const uint8_t* bytes, uint64_t offset, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      if (bytes[i] != (offset + i) * 7 % 251) return false;
    }
    return true;
  }

  static constexpr size_t kBytes = 100'000;
  std::string path_;
};

INSTANTIATE_TEST_SUITE_P(All, MappedBytes, ::testing::Values(Paging::AtOnce, Paging::WhenTouched));

TEST_P(MappedBytes, StartAnywhereAndOutliveTheFile) {
  for (const uint64_t offset : {0, 1, 64, 4096, 12'345}) {
    const auto memory = mapped(offset, kBytes - offset);
    EXPECT_TRUE(are_right(reinterpret_cast<const uint8_t*>(memory.get()), offset, kBytes - offset)) << offset;
  }
  const auto memory = mapped(64, 5000);
  std::filesystem::remove(path_);
  EXPECT_TRUE(are_right(reinterpret_cast<const uint8_t*>(memory.get()), 64, 5000));
}

TEST_P(MappedBytes, OfATensorAreThereAfterTheirRelease) {
  const Tensor tensor(DType::U8, {60'000}, mapped(64, 60'000));
  for (int i = 0; i < 2; ++i) {
    tensor.release_pages();
    EXPECT_TRUE(are_right(tensor.as<uint8_t>().data(), 64, 60'000));
  }
  tensor.reshaped({300, 200}).release_pages();
  EXPECT_TRUE(are_right(tensor.as<uint8_t>().data(), 64, 60'000));
}

TEST(ReleasedPages, OfOwnMemoryStay) {
  const Tensor tensor(DType::U8, {1 << 20});
  for (uint8_t& byte : tensor.as<uint8_t>()) byte = 3;
  tensor.release_pages();
  for (const uint8_t byte : tensor.as<uint8_t>()) ASSERT_EQ(byte, 3);
}

}  // namespace
}  // namespace collage::runtime
