// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/host_constants.h"

#include "runtime/core/stored_tensor.h"

namespace collage::runtime {

void join_host_constants(Plan& plan) {
  if (plan.host_constants.first != nullptr) return;
  const auto region = std::make_shared<Tensor>(DType::U8, Shape{static_cast<int64_t>(plan.spaces[0].constant_bytes)});
  for (ConstantInit& init : plan.constants) {
    const Buffer& buffer = plan.buffers[static_cast<size_t>(init.buffer)];
    if (buffer.space != 0) continue;
    const Tensor data = std::exchange(init.data, Tensor());
    if (data.count() == 0) continue;
    rewrite(data.dtype(), data.shape(), data.data(), {}, region->data() + buffer.offset, buffer.tensor.form);
    data.release_pages();
  }
  std::erase_if(plan.constants,
                [&](const ConstantInit& init) { return plan.buffers[static_cast<size_t>(init.buffer)].space == 0; });
  plan.host_constants = {std::shared_ptr<const std::byte>(region, region->data()), region->bytes()};
}

}  // namespace collage::runtime
