// SPDX-License-Identifier: Apache-2.0
#include "compiler/search/lift_limits.h"

namespace collage::search {

LiftedSearch without_limits(const SearchInput& asked, const std::vector<Limit>& limits) {
  auto built = std::make_unique<place::BuiltProblem>(asked.priced != nullptr ? *asked.priced : asked.built);
  SearchInput input = with_problem(asked, *built);
  for (const Limit& limit : limits) {
    const auto is_meant = [&](const std::string& name) { return limit.of.empty() || limit.of == name; };
    if (limit.kind == LimitKind::Memory) {
      std::erase_if(input.limits, [&](const place::MemoryLimit& one) { return is_meant(one.instance); });
      continue;
    }
    place::Problem& problem = built->problem;
    for (place::Owner& owner : problem.owners) {
      const bool is_owner_meant = is_meant(owner.backend);
      if (limit.kind == LimitKind::MaxPartitions && is_owner_meant) owner.max_partitions.reset();
      if (limit.kind != LimitKind::Conflicts) continue;
      // Both sides list a conflict, whichever backend states it.
      std::erase_if(owner.conflicts,
                    [&](place::OwnerId other) { return is_owner_meant || is_meant(problem.owners[other].backend); });
    }
  }
  return {std::move(built), std::move(input)};
}

}  // namespace collage::search
