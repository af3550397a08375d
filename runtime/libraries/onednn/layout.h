// SPDX-License-Identifier: Apache-2.0
// oneDNN's memory descriptors: layouts of f32 tensors.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/layout.h"
#include "runtime/core/shape.h"

namespace collage::runtime::onednn {

using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;

/// Row-major. A scalar is a vector of one element: oneDNN knows no rank 0.
Desc plain_desc(const Shape& shape);

/// Any layout of these dimensions: the primitive chooses.
Desc any_desc(const Dims& dims);

/// In a layout of runtime/core/layout.h that the rank has.
Desc desc_of(const Shape& shape, std::string_view layout);

/// The same tensor seen with other dimensions of equal count, without moving a byte; nothing where the layout does not
/// allow it.
std::optional<Desc> reshaped(const Desc& desc, const Dims& dims);

/// Dimension d of the result is dimension order[d] of `desc`, as in ONNX's Transpose.
Desc transposed(const Desc& desc, const std::vector<int64_t>& order);

/// True if the same bytes mean the same tensor. Strides of dimensions of extent 1 do not count.
bool same_layout(const Desc& a, const Desc& b);

/// Memory dimensions outermost first, blocked ones as capitals, then the blocks: `abcd`, `acdb`, `aBcd16b`.
std::string layout_text(const Desc& desc);

}  // namespace collage::runtime::onednn
