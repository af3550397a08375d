// SPDX-License-Identifier: Apache-2.0
#include "compiler/search/candidate_placement.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/core/text.h"

namespace collage::search {

OfferVerdict judge_offer(const std::string& file, const ir::Placement& offered,
                         runtime::Result<FoundPlacement> followed, FoundPlacement* found) {
  OfferVerdict verdict;
  verdict.file = file;
  verdict.partitions = offered.partitions.size();
  if (!followed) {
    verdict.why_not = followed.message();
    return verdict;
  }
  verdict.predicted = followed->predicted;
  // What is measured are times; an energy is taken to be as uncertain as that at 1 W.
  verdict.noise = Cost::of(place::noise_between(followed->measured, found->measured).ps(), found->predicted.unit());
  if (followed->predicted - found->predicted <= verdict.noise) {
    verdict.is_kept = true;
    verdict.partitions_kept = verdict.partitions;
    verdict.searched = found->predicted;
    found->placement = std::move(followed->placement);
    found->measured = std::move(followed->measured);
    found->predicted = followed->predicted;
    found->chosen = std::move(followed->chosen);
    found->solution = std::move(followed->solution);
    found->problem = std::move(followed->problem);
    found->exceeded = std::move(followed->exceeded);
    found->program = std::move(followed->program);
    found->optimal = found->optimal && found->predicted == found->bound;
    return verdict;
  }
  for (const ir::Partition& mine : offered.partitions) {
    const auto& chosen = found->placement.partitions;
    verdict.partitions_kept +=
        static_cast<size_t>(std::any_of(chosen.begin(), chosen.end(), [&](const ir::Partition& other) {
          return other.nodes == mine.nodes && other.backend == mine.backend && other.instance == mine.instance;
        }));
  }
  return verdict;
}

std::string to_string(const OfferVerdict& verdict, Cost outcome) {
  if (!verdict.why_not.empty()) return fmt::format("{}: cannot be followed: {}", verdict.file, verdict.why_not);
  if (verdict.is_kept && verdict.searched < verdict.predicted) {
    const auto percent = [&](Cost part) { return place::percent_text(part.value() / verdict.predicted.value()); };
    return fmt::format("{}: kept the saved placement: the best differs by {}, noise is {}", verdict.file,
                       percent(verdict.predicted - verdict.searched), percent(verdict.noise));
  }
  if (verdict.is_kept) return fmt::format("{}: kept, nothing was found that costs less", verdict.file);
  const Cost gain = verdict.predicted - outcome;
  return fmt::format("{}: {} as it is; the search saves {} ({}) and keeps {} of its {}", verdict.file,
                     human(verdict.predicted), human(gain),
                     place::percent_text(gain.value() / verdict.predicted.value()), verdict.partitions_kept,
                     runtime::counted(verdict.partitions, "partition"));
}

}  // namespace collage::search
