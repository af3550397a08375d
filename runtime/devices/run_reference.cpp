// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/run_reference.h"

#include <exception>
#include <string>

#include "runtime/kernels/kernel.h"

namespace collage::runtime {

Status run_reference(std::string_view op, const AttrMap& attrs, std::span<const TensorView> inputs,
                     std::span<const TensorView> outputs) {
  std::string name(op);
  ReferenceKernel kernel = find_reference_kernel(op);
  if (kernel == nullptr) return Status::error("`" + name + "` has no reference kernel");
  try {
    Status status = kernel({inputs, outputs, attrs});
    return status ? status : Status::error("`" + name + "`: " + status.message());
  } catch (const std::exception& exception) {
    return Status::error("`" + name + "`: " + exception.what());
  }
}

}  // namespace collage::runtime
