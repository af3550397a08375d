// SPDX-License-Identifier: Apache-2.0
// Decoders of the picture formats that this build lacks: each fails with a message that says so.
#include "runtime/io/picture_formats.h"

namespace collage::runtime {

#if !COLLAGE_HAS_JPEG
Result<Tensor> decode_jpeg(std::string_view) {
  return Status::error("this build of Collage reads no JPEG");
}
#endif

#if !COLLAGE_HAS_PNG
Result<Tensor> decode_png(std::string_view) {
  return Status::error("this build of Collage reads no PNG");
}
#endif

}  // namespace collage::runtime
