// SPDX-License-Identifier: Apache-2.0
// Faults injected into a simulated device, so that tests see what happens after one: attributes
// `fail_allocate_at`, `fail_copy_at`, `fail_launch_at` name the one operation of that kind, counted from 1, that fails.
#pragma once

#include <atomic>
#include <string_view>

#include "runtime/core/attributes.h"
#include "runtime/core/status.h"

namespace collage::runtime {

class FaultCounter {
 public:
  FaultCounter(const AttrMap& attrs, std::string_view attr) : attr_(attr), fail_at_(attrs.get_int(attr, 0)) {}

  /// Counts one operation.
  Status next() {
    if (++count_ != fail_at_) return Status::ok();
    return Status::error("injected fault: " + attr_ + " = " + std::to_string(fail_at_));
  }

 private:
  std::string attr_;
  int64_t fail_at_ = 0;
  std::atomic<int64_t> count_ = 0;
};

}  // namespace collage::runtime
