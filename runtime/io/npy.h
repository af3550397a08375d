// SPDX-License-Identifier: Apache-2.0
// NumPy's `.npy`: versions 1 to 3, little endian, C or Fortran order in; version 1, C order out.
// f16 is read as f32. Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <string>
#include <string_view>

#include "runtime/core/status.h"
#include "runtime/core/tensor.h"

namespace collage::runtime {

Result<Tensor> read_npy(const std::string& path);
/// From bytes in memory. Messages do not name a file.
Result<Tensor> parse_npy(std::string_view bytes);
/// Whether these files have the element type.
bool has_npy_type(DType dtype);
Status write_npy(const std::string& path, const Tensor& tensor);

}  // namespace collage::runtime
