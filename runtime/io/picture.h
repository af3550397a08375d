// SPDX-License-Identifier: Apache-2.0
// Pictures as model inputs: PNG, JPEG, and PGM or PPM, recognised by their first bytes, not by their names.
#pragma once

#include <string>

#include "runtime/core/status.h"
#include "runtime/core/tensor.h"

namespace collage::runtime {

/// u8[H, W, C] with C = 1 (grey) or 3 (red, green, blue). Transparent pixels are blended with black. A damaged file is
/// a failure.
Result<Tensor> read_picture(const std::string& path);

/// `picture` (u8[H, W, C]) as f32 of `shape`: [N, C, H, W] with N = 1, [C, H, W] or [H, W]. Resized where the sizes
/// differ (mean over the covered area where it shrinks, bilinear where it grows), grey made from colour and colour from
/// grey as needed (ITU-R BT.601); every value is multiplied by `scale`.
Result<Tensor> picture_to_input(const Tensor& picture, const Shape& shape, double scale);

}  // namespace collage::runtime
