// SPDX-License-Identifier: Apache-2.0
// See subproblem.h.
#include "compiler/place/problem/subproblem.h"

namespace collage::place {

std::vector<int> all_candidates(const Problem& problem) {
  return candidates_where(problem, [](int) { return true; });
}

std::vector<int> candidates_where(const Problem& problem, const std::function<bool(int)>& keep) {
  std::vector<int> kept;
  for (int c = 0; c < static_cast<int>(problem.candidates.size()); ++c) {
    if (keep(c)) kept.push_back(c);
  }
  return kept;
}

Problem part_of(const Problem& problem, const std::vector<int>& kept) {
  Problem part;
  part.node_count = problem.node_count;
  part.values = problem.values;
  part.formats = problem.formats;
  part.host_plain = problem.host_plain;
  part.owners = problem.owners;
  part.constant_bytes = problem.constant_bytes;
  for (int c : kept) part.candidates.push_back(problem.candidates[static_cast<size_t>(c)]);
  return part;
}

void name_whole(const std::vector<int>& kept, Solution& solution) {
  for (int& c : solution.chosen) c = kept[static_cast<size_t>(c)];
  for (Certificate::Round& round : solution.certificate.rounds) {
    for (Certificate::Share& share : round.shares) share.candidate = kept[static_cast<size_t>(share.candidate)];
  }
}

}  // namespace collage::place
