// SPDX-License-Identifier: Apache-2.0
// Kernels whose result holds the operand's elements in the same order.
#include <cstring>

#include "runtime/kernels/kernels.h"

namespace collage::runtime {
namespace {

Status copy_elements(const KernelArgs& args) {
  const TensorView& to = args.outputs[0];
  if (!to.is_absent() && to.bytes() > 0) std::memmove(to.data, args.inputs[0].data, to.bytes());
  return Status::ok();
}

}  // namespace

Status kernel_Identity(const KernelArgs& args) {
  return copy_elements(args);
}
Status kernel_Reshape(const KernelArgs& args) {
  return copy_elements(args);
}
Status kernel_Flatten(const KernelArgs& args) {
  return copy_elements(args);
}
Status kernel_Squeeze(const KernelArgs& args) {
  return copy_elements(args);
}
Status kernel_Unsqueeze(const KernelArgs& args) {
  return copy_elements(args);
}

/// The same bits. A bool is 0 or 1, whatever other bits were.
Status kernel_BitCast(const KernelArgs& args) {
  if (args.outputs[0].dtype != DType::Bool) return copy_elements(args);
  auto y = args.outputs[0].as<uint8_t>();
  for (size_t i = 0; i < y.size(); ++i) y[i] = args.inputs[0].as<uint8_t>()[i] != 0 ? 1 : 0;
  return Status::ok();
}

Status kernel_Dropout(const KernelArgs& args) {
  if (args.outputs.size() > 1 && !args.outputs[1].is_absent()) {
    for (uint8_t& kept : args.outputs[1].as<uint8_t>()) kept = 1;
  }
  return copy_elements(args);
}

}  // namespace collage::runtime
