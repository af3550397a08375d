// SPDX-License-Identifier: Apache-2.0
// Devices without hardware: work on tensors of a device's memory, done by the host with the reference kernels. For
// simulated devices, and for a new kind of device until it computes itself.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/devices/address_space.h"

namespace collage::runtime {

/// Fails unless the tensor's layout, storage and encoding are possible and all of its bytes are allocated.
Status check_tensor(const DeviceTensor& tensor, const AddressSpace& addresses);

/// Device::reorder. `memory` is where the host keeps address 0 of the device.
Status emulate_reorder(const DeviceTensor& from, const DeviceTensor& to, const AddressSpace& addresses,
                       std::byte* memory);

/// One operator of a launch, in whatever formats its operands are. `rounds` says by input whether an f32 operand is
/// rounded to bf16 first; inputs beyond its end are not rounded.
Status emulate_op(const DeviceOp& op, const AddressSpace& addresses, std::byte* memory,
                  const std::vector<bool>& rounds = {});

}  // namespace collage::runtime
