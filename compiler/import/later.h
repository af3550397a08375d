// SPDX-License-Identifier: Apache-2.0
// Rewrites of `upgrade.cpp` for operators that came with opset 10 or later.
#pragma once

#include "compiler/import/emitter.h"

namespace collage::import {

/// CenterCropPad(x[4, 4], [2, 7])  =>  Pad(x, [-1, 1, -1, 2])
bool center_crop_pad(PendingNode& node, Emitter& emitter);

/// Opset 20: the axis of DFT became an operand.  DFT(x, _, -2)  =>  DFT(x) {axis = -2}
bool dft_axis(PendingNode& node, Emitter& emitter);

/// Opset 20 renamed the modes.  {mode = "linear"}  =>  {mode = "bilinear"} of pictures
bool grid_sample_modes(PendingNode& node, Emitter& emitter);

/// Before opset 16 RoiAlign did not shift regions by half a pixel.
bool roi_align_coordinates(PendingNode& node, Emitter& emitter);

/// RandomNormal() {shape = [2, 3], dtype = 1}  =>  RandomNormalLike(0: u8[2, 3]) {dtype = 1}, with a seed
bool random_like(PendingNode& node, Emitter& emitter);

/// A random operator without `seed` gets one that follows from the name of its result: each operator has other numbers,
/// and a model the same in every run.
bool name_seed(PendingNode& node, Emitter& emitter);

/// Resize, opset 11 and later: reports scales beside sizes.
bool one_of_scales_and_sizes(PendingNode& node, Emitter& emitter);

/// Opset 18: Resize may name the axes of its scales and sizes, and keep the ratio of extents.
///
///     scales = [2.0] of axes = [1] in rank 3                 =>  scales = [1.0, 2.0, 1.0]
///     f32[4, 6] to sizes = [7, 8] {… = "not_larger"}         =>  sizes = [5, 8], scales = [1.333…, 1.333…]
bool resize_all_axes(PendingNode& node, Emitter& emitter);

}  // namespace collage::import
