// SPDX-License-Identifier: Apache-2.0
// Decoders of the picture formats that this build lacks: each fails with a message that says so.
#include "runtime/core/built_without.h"
#include "runtime/io/picture_formats.h"

namespace collage::runtime {

#if !COLLAGE_HAS_JPEG
Result<Tensor> decode_jpeg(std::string_view) {
  return Status::error(built_without("libjpeg", "JPEG"));
}
#endif

#if !COLLAGE_HAS_PNG
Result<Tensor> decode_png(std::string_view) {
  return Status::error(built_without("libpng", "PNG"));
}
#endif

}  // namespace collage::runtime
