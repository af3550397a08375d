// SPDX-License-Identifier: Apache-2.0
// Pictures: every format read back from what the libraries write, damage, and how a picture becomes an input.
#include "runtime/io/picture.h"

#include <gtest/gtest.h>
#include <jpeglib.h>
#include <png.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

namespace collage::runtime {
namespace {

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

std::string png_bytes(int width, int height, uint32_t format, const std::vector<uint8_t>& pixels) {
  png_image image;
  std::memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<uint32_t>(width);
  image.height = static_cast<uint32_t>(height);
  image.format = format;
  png_alloc_size_t size = 0;
  EXPECT_NE(png_image_write_to_memory(&image, nullptr, &size, 0, pixels.data(), 0, nullptr), 0);
  std::string bytes(size, '\0');
  EXPECT_NE(png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.data(), 0, nullptr), 0);
  return bytes;
}

std::string jpeg_bytes(int width, int height, int channels, const std::vector<uint8_t>& pixels) {
  jpeg_compress_struct info = {};
  jpeg_error_mgr error = {};
  info.err = jpeg_std_error(&error);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = channels;
  info.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 100, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<JSAMPLE*>(&pixels[info.next_scanline * static_cast<size_t>(width * channels)]);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  std::string bytes(reinterpret_cast<char*>(memory), size);
  jpeg_destroy_compress(&info);
  std::free(memory);
  return bytes;
}

std::vector<uint8_t> ramp(size_t count) {
  std::vector<uint8_t> pixels(count);
  for (size_t i = 0; i < count; ++i) pixels[i] = static_cast<uint8_t>(i * 3);
  return pixels;
}

TEST_F(PictureTest, PngGreyAndColour) {
  auto grey = read(png_bytes(4, 3, PNG_FORMAT_GRAY, ramp(12)));
  ASSERT_TRUE(grey.is_ok()) << grey.message();
  EXPECT_EQ(grey->shape(), (Shape{3, 4, 1}));
  EXPECT_EQ(grey->as<uint8_t>()[11], 33);
  auto colour = read(png_bytes(2, 2, PNG_FORMAT_RGB, ramp(12)));
  ASSERT_TRUE(colour.is_ok()) << colour.message();
  EXPECT_EQ(colour->shape(), (Shape{2, 2, 3}));
  EXPECT_EQ(colour->as<uint8_t>()[7], 21);
}

TEST_F(PictureTest, PngTransparencyLiesOverBlack) {
  auto picture = read(png_bytes(1, 1, PNG_FORMAT_RGBA, {200, 100, 50, 0}));
  ASSERT_TRUE(picture.is_ok()) << picture.message();
  EXPECT_EQ(picture->shape(), (Shape{1, 1, 3}));
  for (uint8_t value : picture->as<uint8_t>()) EXPECT_EQ(value, 0);
}

TEST_F(PictureTest, JpegGreyAndColour) {
  std::vector<uint8_t> flat(8 * 8 * 3, 120);
  auto grey = read(jpeg_bytes(8, 8, 1, flat));
  ASSERT_TRUE(grey.is_ok()) << grey.message();
  EXPECT_EQ(grey->shape(), (Shape{8, 8, 1}));
  EXPECT_NEAR(grey->as<uint8_t>()[20], 120, 1);
  auto colour = read(jpeg_bytes(8, 8, 3, flat));
  ASSERT_TRUE(colour.is_ok()) << colour.message();
  EXPECT_EQ(colour->shape(), (Shape{8, 8, 3}));
}

TEST_F(PictureTest, PnmTextAndBinary) {
  auto text = read("P2 # a comment\n3 1\n# another\n15\n0 7\n15\n");
  ASSERT_TRUE(text.is_ok()) << text.message();
  EXPECT_EQ(text->shape(), (Shape{1, 3, 1}));
  EXPECT_EQ(text->as<uint8_t>()[1], 119);
  EXPECT_EQ(text->as<uint8_t>()[2], 255);
  auto binary = read(std::string("P6\n1 2\n255\n\x01\x02\x03\x04\x05\xff", 17));
  ASSERT_TRUE(binary.is_ok()) << binary.message();
  EXPECT_EQ(binary->shape(), (Shape{2, 1, 3}));
  EXPECT_EQ(binary->as<uint8_t>()[5], 255);
  auto wide = read(std::string("P5\n1 1\n65535\n\x80\x00", 15));
  ASSERT_TRUE(wide.is_ok()) << wide.message();
  EXPECT_EQ(wide->as<uint8_t>()[0], 128);
}

TEST_F(PictureTest, DamageIsAnError) {
  expect_survives_damage(png_bytes(16, 16, PNG_FORMAT_RGB, ramp(768)), 20);  // checksum and end marker
  expect_survives_damage(jpeg_bytes(16, 16, 3, ramp(768)), 8);
  std::string pgm = "P5\n16 16\n255\n";
  pgm.append(256, 'x');
  expect_survives_damage(pgm, 0);
  for (const char* bad : {"", "P5", "P5\n", "P5 4", "P5 0 4 255 ", "P2 99999999 99999999 255 ", "P2 2 1 9 3 10",
                          "P5 99999999999999999999 1 255 ", "GIF89a", "P7 1 1 255 x", "P2 -1 1 255 1"}) {
    auto picture = read(bad);
    EXPECT_FALSE(picture.is_ok()) << bad;
  }
  EXPECT_FALSE(read_picture(path() + ".none").is_ok());
}

Tensor picture(const Shape& shape, const std::vector<uint8_t>& pixels) {
  Tensor tensor(DType::U8, shape);
  std::copy(pixels.begin(), pixels.end(), tensor.as<uint8_t>().begin());
  return tensor;
}

TEST(PictureToInputTest, ScalesAndKeepsPlace) {
  auto input = picture_to_input(picture({1, 2, 1}, {0, 255}), {1, 1, 1, 2}, 1.0 / 255);
  ASSERT_TRUE(input.is_ok()) << input.message();
  EXPECT_EQ(input->as<float>()[0], 0.0f);
  EXPECT_EQ(input->as<float>()[1], 1.0f);
}

TEST(PictureToInputTest, ColourBecomesPlanesOrGrey) {
  Tensor colour = picture({1, 2, 3}, {10, 20, 30, 40, 50, 60});
  auto planes = picture_to_input(colour, {3, 1, 2}, 1.0);
  ASSERT_TRUE(planes.is_ok()) << planes.message();
  auto values = planes->as<float>();
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()), (std::vector<float>{10, 40, 20, 50, 30, 60}));
  auto grey = picture_to_input(colour, {1, 2}, 1.0);
  ASSERT_TRUE(grey.is_ok());
  EXPECT_NEAR(grey->as<float>()[0], 0.299 * 10 + 0.587 * 20 + 0.114 * 30, 1e-4);
  auto spread = picture_to_input(picture({1, 1, 1}, {7}), {1, 3, 1, 1}, 1.0);
  ASSERT_TRUE(spread.is_ok());
  EXPECT_EQ(spread->as<float>()[2], 7.0f);
}

TEST(PictureToInputTest, ResizingKeepsFlatAreasAndBrightness) {
  std::vector<uint8_t> half(64, 0);
  for (size_t i = 0; i < 64; ++i) half[i] = i % 8 < 4 ? 0 : 200;
  auto small = picture_to_input(picture({8, 8, 1}, half), {1, 1, 2, 2}, 1.0);
  ASSERT_TRUE(small.is_ok());
  EXPECT_NEAR(small->as<float>()[0] + small->as<float>()[1], 200.0, 1e-3);
  EXPECT_LT(small->as<float>()[0], 50.0f);
  auto large = picture_to_input(picture({1, 2, 1}, {0, 100}), {1, 4}, 1.0);
  ASSERT_TRUE(large.is_ok());
  auto values = large->as<float>();
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()), (std::vector<float>{0, 25, 75, 100}));
}

TEST(PictureToInputTest, RefusesShapesThatAreNoPicture) {
  Tensor grey = picture({1, 1, 1}, {7});
  for (const Shape& shape :
       {Shape{}, Shape{4}, Shape{2, 1, 4, 4}, Shape{1, 2, 4, 4}, Shape{1, 1, 0, 4}, Shape{1, 1, 1, 4, 4}}) {
    EXPECT_FALSE(picture_to_input(grey, shape, 1.0).is_ok()) << to_string(shape);
  }
}

}  // namespace
}  // namespace collage::runtime
