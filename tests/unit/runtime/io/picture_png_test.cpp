// SPDX-License-Identifier: Apache-2.0
// PNG read back from what libpng writes, and damaged.
#include <png.h>

#include <cstring>

#include "tests/unit/runtime/io/picture_fixture.h"

namespace collage::runtime {
namespace {

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

TEST_F(PictureTest, DamagedPngIsAnError) {
  expect_survives_damage(png_bytes(16, 16, PNG_FORMAT_RGB, ramp(768)), 20);  // checksum and end marker
}

}  // namespace
}  // namespace collage::runtime
