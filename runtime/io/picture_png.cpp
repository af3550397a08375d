// SPDX-License-Identifier: Apache-2.0
#include <png.h>

#include <cstring>

#include "runtime/io/picture_formats.h"

namespace collage::runtime {

// libpng's simplified interface: its errors come back as values.
Result<Tensor> decode_png(std::string_view bytes) {
  png_image image;
  std::memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  auto fail = [&image] {
    std::string message = image.message;
    png_image_free(&image);
    return Status::error("damaged PNG: " + message);
  };
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0) return fail();
  if (static_cast<int64_t>(image.width) * image.height > kMostPixels) {
    png_image_free(&image);
    return Status::error("the picture is too large");
  }
  bool is_grey = (image.format & PNG_FORMAT_FLAG_COLOR) == 0;
  image.format = is_grey ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  Tensor picture(DType::U8, {image.height, image.width, is_grey ? 1 : 3});
  png_color black = {0, 0, 0};
  if (png_image_finish_read(&image, &black, picture.data(), 0, nullptr) == 0) return fail();
  return picture;
}

}  // namespace collage::runtime
