// SPDX-License-Identifier: Apache-2.0
// One model loaded on several equal sets of devices, for Requests.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/exec/recovery.h"

namespace collage::runtime {

/// A loaded program for each set. `instances` is `npu=3,dsp=1`: how many there are (plans_for_instances in relocate.h);
/// empty: as many as the plan uses, which is one set. `threads` of the host for each run. A set that loses a device
/// moves what it ran, without the compiler.
Result<std::vector<std::shared_ptr<Recovery>>> open_device_sets(const Plan& plan, std::shared_ptr<const Code> code,
                                                                int threads, const std::string& instances,
                                                                const LoadOptions& options);

}  // namespace collage::runtime
