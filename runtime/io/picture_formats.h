// SPDX-License-Identifier: Apache-2.0
// One decoder per picture format; `read_picture` picks.
#pragma once

#include <string_view>

#include "runtime/core/status.h"
#include "runtime/core/tensor.h"

namespace collage::runtime {

/// Larger pictures are refused before memory is allocated.
inline constexpr int64_t kMostPixels = int64_t{1} << 26;

Result<Tensor> decode_png(std::string_view bytes);
Result<Tensor> decode_jpeg(std::string_view bytes);
/// PGM and PPM, as text (P2, P3) or binary (P5, P6); values are scaled to 0 … 255.
Result<Tensor> decode_pnm(std::string_view bytes);

}  // namespace collage::runtime
