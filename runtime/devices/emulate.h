// SPDX-License-Identifier: Apache-2.0
// Devices without hardware: work on tensors of a device's memory, done by the host with the reference kernels. For
// simulated devices, and for a new kind of device until it computes itself.
#pragma once

#include <vector>

#include "runtime/devices/block_memory.h"

namespace collage::runtime {

/// DeviceQueue::reorder.
Status emulate_reorder(const DeviceTensor& from, const DeviceTensor& to, const BlockMemory& memory);

/// One operator of a launch, in whatever formats its operands are. Where its call says in what precision, floats are
/// rounded to nearest, ties to even, before and after; products are added up in f32 or better. `rounds` says by input
/// whether an f32 operand is rounded to bf16 first in any case; inputs beyond its end are not.
Status emulate_op(const DeviceOp& op, const BlockMemory& memory, const std::vector<bool>& rounds = {});

}  // namespace collage::runtime
