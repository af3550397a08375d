// SPDX-License-Identifier: Apache-2.0
// Gather: [outer, extent, inner] by indices -> [outer, indices, inner].
#include <cstring>

#include "runtime/kernels/axis_split.h"
#include "runtime/kernels/kernels.h"

namespace collage::runtime {

Status kernel_Gather(const KernelArgs& args) {
  const TensorView& data = args.inputs[0];
  const TensorView& indices = args.inputs[1];
  const TensorView& result = args.outputs[0];
  AxisSplit split(data.shape, args.attrs.get_int("axis", 0));
  size_t bytes = static_cast<size_t>(split.inner) * size_of(data.dtype);
  int64_t count = indices.count();
  for (int64_t k = 0; k < count; ++k) {
    int64_t index = element_as_int(indices, k);
    if (index < -split.extent || index >= split.extent) {
      return Status::error("index " + std::to_string(index) + " is out of range for an axis of extent " +
                           std::to_string(split.extent));
    }
    if (index < 0) index += split.extent;
    for (int64_t o = 0; o < split.outer && bytes > 0; ++o) {
      std::memcpy(result.data + static_cast<size_t>(o * count + k) * bytes,
                  data.data + static_cast<size_t>(o * split.extent + index) * bytes, bytes);
    }
  }
  return Status::ok();
}

}  // namespace collage::runtime
