// SPDX-License-Identifier: Apache-2.0
#include "compiler/search/binding_limits.h"

#include <algorithm>

#include "compiler/search/placement_search.h"

namespace collage::search {
namespace {

/// Limits of rules that are active, then those of memory.
std::vector<BindingLimit> limits_of(const SearchInput& input) {
  std::vector<BindingLimit> limits;
  for (const std::string& backend : place::backend_names(input.built.problem)) {
    const ir::Backend* rules = input.rules.find(backend);
    if (rules == nullptr) continue;
    if (rules->max_partitions) {
      limits.push_back({{LimitKind::MaxPartitions, backend}, *rules->max_partitions, rules->max_partitions_span, {}});
    }
    if (!rules->conflicts.empty()) limits.push_back({{LimitKind::Conflicts, backend}, 0, rules->span, {}});
  }
  for (const place::MemoryLimit& memory : input.limits) {
    limits.push_back({{LimitKind::Memory, memory.instance}, static_cast<int64_t>(memory.bytes), {}, {}});
  }
  return limits;
}

}  // namespace

std::vector<BindingLimit> binding_limits(const SearchInput& input, const FoundPlacement& found) {
  // A placement over very many instances is not searched again.
  if (!found.solution.is_limited || input.objective->is_concurrent() || input.built.spread) return {};
  std::vector<BindingLimit> binding;
  for (BindingLimit& limit : limits_of(input)) {
    LiftedSearch lifted = without_limits(input, {limit.what});
    lifted.input.options.is_probe = true;
    const auto solution = PlacementSearch(lifted.input).solve(*lifted.built);
    if (!solution || solution->cost >= found.solution.cost) continue;
    limit.gain = found.solution.cost - solution->cost;
    binding.push_back(std::move(limit));
  }
  std::stable_sort(binding.begin(), binding.end(),
                   [](const BindingLimit& a, const BindingLimit& b) { return a.gain > b.gain; });
  return binding;
}

}  // namespace collage::search
