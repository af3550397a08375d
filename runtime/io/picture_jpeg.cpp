// SPDX-License-Identifier: Apache-2.0
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <string>

// After cstdio, whose types it uses.
#include <jpeglib.h>

#include "runtime/io/picture_formats.h"

namespace collage::runtime {
namespace {

// libjpeg reports an error by a jump. Nothing with a destructor lives between setjmp and the calls that may jump: what
// they fill is owned by the caller of `decode`.
struct JpegError {
  jpeg_error_mgr base;
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX];
};

void on_error(j_common_ptr info) {
  auto* error = reinterpret_cast<JpegError*>(info->err);
  info->err->format_message(info, error->message);
  std::longjmp(error->back, 1);
}

void on_message(j_common_ptr) {}

enum class Outcome { Ok, Damaged, TooLarge };

Outcome decode(std::string_view bytes, jpeg_decompress_struct& info, JpegError& error, Tensor& picture) {
  if (setjmp(error.back) != 0) return Outcome::Damaged;
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&info, TRUE);
  if (static_cast<int64_t>(info.image_width) * info.image_height > kMostPixels) return Outcome::TooLarge;
  info.out_color_space = info.jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_start_decompress(&info);
  picture = Tensor(DType::U8, {info.output_height, info.output_width, info.output_components});
  auto* rows = reinterpret_cast<JSAMPLE*>(picture.data());
  size_t row_bytes = static_cast<size_t>(info.output_width) * static_cast<size_t>(info.output_components);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = rows + info.output_scanline * row_bytes;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  return Outcome::Ok;
}

}  // namespace

Result<Tensor> decode_jpeg(std::string_view bytes) {
  jpeg_decompress_struct info = {};
  JpegError error = {};
  info.err = jpeg_std_error(&error.base);
  error.base.error_exit = on_error;
  error.base.output_message = on_message;
  Tensor picture;
  Outcome outcome = decode(bytes, info, error, picture);
  // A file that ends early is padded with grey by libjpeg, which only warns.
  bool is_short = outcome == Outcome::Ok && error.base.num_warnings > 0;
  jpeg_destroy_decompress(&info);
  switch (outcome) {
    case Outcome::TooLarge: return Status::error("the picture is too large");
    case Outcome::Damaged: return Status::error(std::string("damaged JPEG: ") + error.message);
    case Outcome::Ok: break;
  }
  if (is_short) return Status::error("damaged JPEG: it ends early or has corrupt data");
  return picture;
}

}  // namespace collage::runtime
