// SPDX-License-Identifier: Apache-2.0
#include "compiler/search/lower_limits.h"

#include <algorithm>
#include <set>

#include "runtime/core/host_space.h"

namespace collage::search {
namespace {

constexpr size_t kNoLimit = INT64_MAX;  // bytes are signed in the problem

place::MemoryLimit& limit_of(const std::string& instance, std::vector<place::MemoryLimit>& limits) {
  const auto found = std::find_if(limits.begin(), limits.end(),
                                  [&](const place::MemoryLimit& limit) { return limit.instance == instance; });
  return found != limits.end() ? *found : limits.emplace_back(place::MemoryLimit{instance, kNoLimit});
}

/// Devices that values reach, or leave, through `instance`.
std::set<std::string> neighbours(const ir::Placement& placement, const std::string& instance) {
  std::set<std::string> spaces;
  for (const ir::Conversion& conversion : placement.conversions) {
    if (conversion.from.space == instance) spaces.insert(conversion.to.space);
    if (conversion.to.space == instance) spaces.insert(conversion.from.space);
  }
  std::erase_if(spaces, [](const std::string& space) { return runtime::is_host_space(space); });
  spaces.erase(instance);
  return spaces;
}

}  // namespace

void lower_limits(const ir::Placement& placement, const std::vector<plan::DeviceMemory>& devices, int attempt,
                  std::vector<place::MemoryLimit>* limits) {
  for (const plan::DeviceMemory& device : devices) {
    const bool has_partition =
        std::any_of(placement.partitions.begin(), placement.partitions.end(),
                    [&](const ir::Partition& partition) { return ir::runs_on(partition.instance, device.instance); });
    size_t& bytes = limit_of(device.instance, *limits).bytes;
    const size_t missing = static_cast<size_t>(attempt + 1) * (device.bytes - device.capacity);
    bytes -= std::min(bytes, missing);
    if (has_partition) continue;
    for (const std::string& neighbour : neighbours(placement, device.instance)) limit_of(neighbour, *limits).bytes = 0;
  }
}

void take_all_memory(const place::Problem& problem, std::vector<place::MemoryLimit>* limits) {
  for (const place::Owner& owner : problem.owners) {
    if (!runtime::is_host_space(owner.instance)) limit_of(owner.instance, *limits).bytes = 0;
  }
}

}  // namespace collage::search
