// SPDX-License-Identifier: Apache-2.0
#include "compiler/search/plan_memory.h"

#include <algorithm>

#include "compiler/program/program.h"
#include "compiler/search/memory_text.h"

namespace collage::search {
namespace {

/// Devices, and hosts of a cluster, whose memory the outlined plan exceeds. `more`: bytes by instance that only code
/// shows.
std::vector<plan::DeviceMemory> exceeded(const SearchInput& input, const ir::Placement& placement,
                                         const std::map<std::string, int64_t>& more = {}) {
  const bool is_on_host = std::all_of(placement.partitions.begin(), placement.partitions.end(),
                                      [](const ir::Partition& partition) { return partition.instance == "host"; });
  if (input.limits.empty() || input.targets == nullptr || (is_on_host && !input.targets->is_cluster())) return {};
  std::vector<plan::DeviceMemory> devices = plan::count_device_memory(input.graph, placement, *input.targets);
  for (plan::DeviceMemory& device : devices) {
    const auto at = more.find(device.instance);
    if (at != more.end()) device.bytes += static_cast<size_t>(at->second);
  }
  std::erase_if(devices, [](const plan::DeviceMemory& device) { return !device.is_exceeded(); });
  return devices;
}

/// The placement, compiled, whatever memory it takes. Null where it cannot be built: building it says why.
std::shared_ptr<const program::Program> compile_anyhow(const SearchInput& input, const ir::Placement& placement,
                                                       bool* has_warnings) {
  support::SourceManager no_sources;
  support::Diagnostics unheard(no_sources);
  program::ProgramOptions options;
  options.cache = input.cache;
  options.listener = input.listener;
  options.excess = plan::MemoryExcess::Allowed;
  std::optional<program::Program> program =
      program::build_program(input.graph, placement, *input.targets, options, unheard);
  *has_warnings = !unheard.records().empty();
  return program ? std::make_shared<const program::Program>(std::move(*program)) : nullptr;
}

bool weighs_code(const SearchInput& input) {
  return input.compiles && input.targets != nullptr && input.targets->is_cluster() && has_limited_host(input);
}

/// Sets what the plan of a placement exceeds: by its outline, then, where it fits and hosts have limits, by its code.
/// Returns the code if that is too large.
std::shared_ptr<const program::Program> weigh(const SearchInput& input, FoundPlacement* found) {
  found->exceeded = exceeded(input, found->placement);
  if (!found->exceeded.empty() || !weighs_code(input)) return nullptr;
  bool has_warnings = false;
  std::shared_ptr<const program::Program> program = compile_anyhow(input, found->placement, &has_warnings);
  if (program == nullptr) return nullptr;
  found->exceeded = plan::device_memory(program->built.plan, *input.targets);
  std::erase_if(found->exceeded, [](const plan::DeviceMemory& memory) { return !memory.is_exceeded(); });
  if (!found->exceeded.empty()) return program;
  if (!has_warnings) found->program = std::move(program);
  return nullptr;
}

}  // namespace

std::map<std::string, int64_t> excess_of_plan(const SearchInput& input, const place::Solution& solution,
                                              const std::map<std::string, int64_t>& more) {
  std::vector<plan::DeviceMemory> devices;
  for (Joins joins : {Joins::Yes, Joins::No}) {
    devices = exceeded(input, joined_placement(input, solution, joins), more);
    if (devices.empty()) break;
  }
  std::map<std::string, int64_t> excess;
  for (const plan::DeviceMemory& device : devices) {
    excess[device.instance] = static_cast<int64_t>(device.bytes - device.capacity);
  }
  return excess;
}

WeighedPlacement weighed_placement(const SearchInput& input, const place::Solution& solution) {
  WeighedPlacement weighed{to_found_placement(input, solution, Joins::Yes), nullptr};
  std::shared_ptr<const program::Program> program = weigh(input, &weighed.found);
  if (weighed.found.exceeded.empty()) return weighed;
  FoundPlacement apart = to_found_placement(input, solution, Joins::No);
  const bool was_joined = apart.placement.partitions.size() > weighed.found.placement.partitions.size();
  weighed.apart = was_joined ? weigh(input, &apart) : std::move(program);
  if (!was_joined) return weighed;
  if (apart.exceeded.empty()) return {std::move(apart), nullptr};
  weighed.found.exceeded = std::move(apart.exceeded);
  return weighed;
}

}  // namespace collage::search
