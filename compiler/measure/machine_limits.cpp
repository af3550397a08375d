// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/machine_limits.h"

#include <algorithm>

namespace collage::measure {

place::MachineLimits machine_limits(const runtime::HostCapabilities& host, int threads) {
  const int cores = std::max(1, threads);
  return {host.flops_per_second(cores), host.bytes_per_second(cores)};
}

place::MachineLimits machine_limits(int threads) {
  return machine_limits(runtime::host_capabilities(), threads);
}

}  // namespace collage::measure
