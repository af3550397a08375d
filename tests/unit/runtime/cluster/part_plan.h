// SPDX-License-Identifier: Apache-2.0
// Parts of plans for several hosts, put together by hand, for tests.
#pragma once

#include <string>
#include <utility>

#include "runtime/core/host_space.h"
#include "tests/unit/runtime/exec/test_plan.h"

namespace collage::runtime::test {

/// The part of one host.
struct PartPlan : TestPlan {
  PartPlan(int host, int hosts) {
    plan.part = {host, hosts};
    for (int other = 0; other < hosts; ++other) {
      if (other == host) continue;
      const std::string space = other == 0 ? "host[0]" : host_space(other);
      DeviceSpec spec{space, std::string(kRemoteKind), {}, {{"host", 1e9, Duration::picoseconds(1'000'000)}}};
      spec.copy_queue = true;
      plan.spaces.push_back({space, 0, 0, 0});
      plan.devices.push_back(std::move(spec));
    }
  }

  BufferId here(const Shape& shape) { return buffer(0, shape); }
  void send(BufferId value, int host) { convert(value, there(value, host)); }
  void receive(int host, BufferId value) { convert(there(value, host), value); }

 private:
  BufferId there(BufferId value, int host) {
    const int space = host < plan.part.host ? host + 1 : host;
    const StoredTensor tensor = plan.buffers[static_cast<size_t>(value)].tensor;
    return buffer(space, tensor.shape, "plain", tensor.dtype);
  }
};

}  // namespace collage::runtime::test
