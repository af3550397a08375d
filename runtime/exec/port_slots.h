// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs in memory of the caller: where the bound steps hold the address of a port's buffer, so that a run
// can put another one there.
#pragma once

#include <vector>

#include "runtime/exec/bound_steps.h"

namespace collage::runtime {

/// True if the buffer of the port may be elsewhere for a run: no other buffer is made of its bytes, and no other port
/// has it.
bool may_lie_elsewhere(const Plan& plan, const PlanPort& port);

class PortSlots {
 public:
  /// All places in `steps`, which must not be moved or changed afterwards.
  PortSlots(const Plan& plan, std::vector<BoundStep>& steps, BufferId buffer);

  void set(std::byte* address);

 private:
  std::vector<void**> in_tables_;
  std::vector<std::byte**> in_steps_;
};

}  // namespace collage::runtime
