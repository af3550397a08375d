// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/search/memory_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <set>

#include "compiler/place/problem/memory_limits.h"
#include "compiler/support/size_text.h"
#include "runtime/core/host_space.h"

namespace collage::driver {
namespace {

/// More are counted.
constexpr size_t kShownMemories = 4;

const place::MemoryLimit* limit_on(const SearchInput& input, const std::string& instance) {
  const auto at = std::find_if(input.limits.begin(), input.limits.end(),
                               [&](const place::MemoryLimit& limit) { return limit.instance == instance; });
  return at == input.limits.end() ? nullptr : &*at;
}

/// Of all instances in their order; nothing where one has no limit.
std::optional<std::vector<place::MemoryLimit>> all_limits(const SearchInput& input) {
  std::vector<place::MemoryLimit> all;
  std::set<std::string> seen;
  for (const place::Owner& owner : input.built.problem.owners) {
    if (!owner.members.empty() || !seen.insert(owner.instance).second) continue;
    const place::MemoryLimit* limit = limit_on(input, owner.instance);
    if (limit == nullptr) return std::nullopt;
    all.push_back(*limit);
  }
  return all;
}

/// What the node that works with most does even by its most sparing candidate.
int64_t most_at_work(const place::Problem& problem) {
  const place::MemoryLimits limits(problem);
  place::Table<ir::NodeId, int64_t> least(problem.node_count, std::numeric_limits<int64_t>::max());
  for (place::CandidateId c : problem.candidates.ids()) {
    const int64_t bytes = limits.working_bytes(c);
    for (ir::NodeId node : problem.candidates[c].nodes) least[node] = std::min(least[node], bytes);
  }
  return least.empty() ? 0 : *std::max_element(least.begin(), least.end());
}

}  // namespace

bool has_limited_host(const SearchInput& input) {
  return std::any_of(input.limits.begin(), input.limits.end(),
                     [](const place::MemoryLimit& limit) { return runtime::is_host_space(limit.instance); });
}

std::string shortage_text(const SearchInput& input) {
  const std::optional<std::vector<place::MemoryLimit>> limits = all_limits(input);
  if (!limits) return "";
  const place::Problem& problem = input.built.problem;
  const auto constants =
      static_cast<size_t>(std::accumulate(problem.constant_bytes.begin(), problem.constant_bytes.end(), int64_t{0}));
  const auto working = static_cast<size_t>(most_at_work(problem));
  size_t room = 0;
  std::string has;
  for (size_t i = 0; i < limits->size(); ++i) {
    const place::MemoryLimit& limit = (*limits)[i];
    room += limit.bytes;
    if (i < kShownMemories)
      has += fmt::format("{}`{}` has {}", i == 0 ? "" : ", ", limit.instance, support::size_text(limit.bytes));
  }
  if (limits->size() > kShownMemories)
    has += fmt::format(" and {} more, {} in all", limits->size() - kShownMemories, support::size_text(room));
  if (constants + working <= room) return "";
  return fmt::format("the constants of the model take {} and its largest operator works with {}; {}: {} are missing",
                     support::size_text(constants), support::size_text(working), has,
                     support::size_text(constants + working - room));
}

std::string excess_text(const std::vector<plan::DeviceMemory>& exceeded) {
  std::string text;
  for (size_t i = 0; i < std::min(exceeded.size(), kShownMemories); ++i) {
    const plan::DeviceMemory& one = exceeded[i];
    text += fmt::format("{}`{}` has {} and the best placement found needs {} there", i == 0 ? "" : ", ", one.instance,
                        support::size_text(one.capacity), support::size_text(one.bytes));
  }
  return text;
}

}  // namespace collage::driver
