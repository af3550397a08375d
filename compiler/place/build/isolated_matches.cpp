// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/build/isolated_matches.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace collage::place {

void find_isolated_matches(Problem* problem) {
  using Place = std::tuple<OwnerId, ProblemValueId, FormatId>;
  std::set<Place> read, written;
  for (const Candidate& candidate : problem->candidates) {
    if (!candidate.may_join) continue;
    for (const ValueFormat& item : candidate.reads) read.emplace(candidate.owner, item.value, item.format);
    for (const ValueFormat& item : candidate.writes) written.emplace(candidate.owner, item.value, item.format);
  }
  for (Candidate& candidate : problem->candidates) {
    const auto meets = [&](const std::vector<ValueFormat>& list, const std::set<Place>& others) {
      return std::any_of(list.begin(), list.end(), [&](const ValueFormat& item) {
        return others.contains({candidate.owner, item.value, item.format});
      });
    };
    candidate.may_join = candidate.may_join && (meets(candidate.reads, written) || meets(candidate.writes, read));
  }
}

}  // namespace collage::place
