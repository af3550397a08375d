// SPDX-License-Identifier: Apache-2.0
// Geometry of sliding windows: ONNX's `kernel_shape`, `strides`, `dilations`, `pads`, `auto_pad`, `ceil_mode` (and for
// transposed convolution `output_padding`, `output_shape`) made explicit, once for shape functions, kernels and
// lowerings.
//
// Output position o of spatial dimension d reads input o * strides[d] + tap * dilations[d] - pads_begin[d] for every
// tap; of a transposed window, input position i writes output i * strides[d] + tap * dilations[d] - pads_begin[d].
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/core/attributes.h"
#include "runtime/core/shape.h"

namespace collage::runtime {

/// The largest stride, dilation or pad that is accepted, so that products with any dimension stay within 64 bits.
inline constexpr int64_t kMaxWindowValue = int64_t{1} << 20;

/// Spatial dimensions only, outermost first.
struct Window {
  Shape input;
  Shape kernel;
  Ints strides;
  Ints dilations;
  Ints pads_begin;
  Ints pads_end;
  Shape output;

  size_t rank() const { return kernel.size(); }
};

/// Why a window is illegal. `attr` is empty where the shapes are at fault.
struct WindowProblem {
  std::string_view attr;
  std::string message;
};

/// Resolves the window of a convolution or pool. `input` and `kernel` have the same rank. `*window` is complete if
/// there is no problem.
std::optional<WindowProblem> resolve_window(const Shape& input, const Shape& kernel, const AttrMap& attrs,
                                            Window* window);

/// Resolves the window of a transposed convolution.
std::optional<WindowProblem> resolve_transposed_window(const Shape& input, const Shape& kernel, const AttrMap& attrs,
                                                       Window* window);

/// The shape, with batch and channels, of what a MaxPool with these attributes made `pooled` of, if nothing was cut
/// off.
std::optional<WindowProblem> resolve_unpooled_shape(const Shape& pooled, const AttrMap& attrs, Shape* shape);

/// [begin, end)
struct IndexRange {
  int64_t begin = 0;
  int64_t end = 0;
};

/// The indices i in [0, count) with 0 <= i * stride + offset < limit. `stride` >= 1.
IndexRange indices_inside(int64_t count, int64_t stride, int64_t offset, int64_t limit);

}  // namespace collage::runtime
