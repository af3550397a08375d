// SPDX-License-Identifier: Apache-2.0
// Pictures from bytes, for the tests of every format.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "runtime/io/picture.h"

namespace collage::runtime {

class PictureTest : public ::testing::Test {
 protected:
  ~PictureTest() override { std::filesystem::remove(path()); }
  std::string path() const {
    const char* test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    return std::string(::testing::TempDir()) + "/collage_picture_" + test;
  }
  Result<Tensor> read(const std::string& bytes) {
    std::filesystem::remove(path());
    std::ofstream(path(), std::ios::binary) << bytes;
    return read_picture(path());
  }
  /// Cutting it short anywhere before the last `tail` bytes is an error; wrong bytes are an error or a picture.
  void expect_survives_damage(const std::string& good, size_t tail) {
    for (size_t length = 0; length + tail < good.size(); length += 1 + good.size() / 100) {
      EXPECT_FALSE(read(good.substr(0, length)).is_ok()) << length;
    }
    std::mt19937 random(3);
    for (int round = 0; round < 300; ++round) {
      std::string bad = good;
      for (int i = 0; i < 4; ++i) bad[random() % bad.size()] = static_cast<char>(random());
      Result<Tensor> picture = read(bad);
      if (picture) {
        EXPECT_EQ(picture->shape().size(), 3u);
      } else {
        EXPECT_FALSE(picture.message().empty());
      }
    }
  }
};

inline std::vector<uint8_t> ramp(size_t count) {
  std::vector<uint8_t> pixels(count);
  for (size_t i = 0; i < count; ++i) pixels[i] = static_cast<uint8_t>(i * 3);
  return pixels;
}

}  // namespace collage::runtime
