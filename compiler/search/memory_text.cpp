// SPDX-License-Identifier: Apache-2.0
#include "compiler/search/memory_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "compiler/place/problem/shortage.h"
#include "runtime/core/host_space.h"
#include "runtime/support/size_text.h"

namespace collage::search {
namespace {

/// More are counted.
constexpr size_t kShownMemories = 4;

/// `` `host` has 2 GiB, `host[1]` has 2 GiB and 6 more, 16 GiB in all ``
std::string has_text(const std::vector<place::MemoryLimit>& memories) {
  size_t room = 0;
  std::string has;
  for (size_t i = 0; i < memories.size(); ++i) {
    room += memories[i].bytes;
    if (i < kShownMemories) {
      has +=
          fmt::format("{}`{}` has {}", i == 0 ? "" : ", ", memories[i].instance, support::size_text(memories[i].bytes));
    }
  }
  if (memories.size() > kShownMemories) {
    has += fmt::format(" and {} more, {} in all", memories.size() - kShownMemories, support::size_text(room));
  }
  return has;
}

}  // namespace

bool has_limited_host(const SearchInput& input) {
  return std::any_of(input.limits.begin(), input.limits.end(),
                     [](const place::MemoryLimit& limit) { return runtime::is_host_space(limit.instance); });
}

std::string shortage_text(const SearchInput& input) {
  const std::optional<place::Shortage> shortage = place::shortage_of(input.built.problem, input.limits);
  if (!shortage) return "";
  const std::string constants = support::size_text(shortage->constants),
                    working = support::size_text(shortage->working);
  const std::string what =
      shortage->node.is_valid()
          ? fmt::format("in one memory `%{}` needs {} of constants and a value of {}",
                        input.graph.node_name(shortage->node), constants, working)
          : fmt::format("the constants of the model take {} and its largest operator works with {}", constants,
                        working);
  return fmt::format("{}; {}: {} are missing", what, has_text(shortage->memories),
                     support::size_text(shortage->missing()));
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

}  // namespace collage::search
