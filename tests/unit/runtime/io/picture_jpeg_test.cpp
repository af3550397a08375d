// SPDX-License-Identifier: Apache-2.0
// JPEG read back from what libjpeg writes, and damaged.
#include <cstdio>
#include <cstdlib>

// After cstdio, whose types it uses.
#include <jpeglib.h>

#include "tests/unit/runtime/io/picture_fixture.h"

namespace collage::runtime {
namespace {

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

TEST_F(PictureTest, DamagedJpegIsAnError) {
  expect_survives_damage(jpeg_bytes(16, 16, 3, ramp(768)), 8);
}

}  // namespace
}  // namespace collage::runtime
