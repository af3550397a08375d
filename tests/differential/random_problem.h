// SPDX-License-Identifier: Apache-2.0
// Random placement problems: graphs, owners, formats, conversions, candidates and costs.
#pragma once

#include <concepts>
#include <random>

#include "compiler/place/problem/problem.h"

namespace collage::place {

class RandomSource {
 public:
  explicit RandomSource(uint64_t seed) : engine_(seed) {}
  /// 0 … bound-1.
  template <std::integral Number>
  Number below(Number bound) {
    return static_cast<Number>(engine_() % static_cast<uint64_t>(bound));
  }
  bool chance(int percent) { return below(100) < percent; }
  template <typename I>
  I pick(IdRange<I> ids) {
    return advance(ids.front(), below(ids.last_plus_one().index - ids.front().index));
  }
  template <typename List>
  auto& pick(List& list) {
    return *(list.begin() + below(list.end() - list.begin()));
  }

 private:
  std::mt19937_64 engine_;
};

/// Any graph: values with several readers, nodes with several results, dead ends; candidates with several exits, also
/// not convex ones; some conversions missing or of no cost; limits on counts and conflicts now and then. Host
/// singletons cover every node, so there is a solution unless `keep_host` is false.
Problem random_problem(RandomSource& random, size_t node_count, bool keep_host = true);

/// Gives values and constants sizes, candidates constants that they share, and one or two instances little memory. How
/// little is drawn around what the parts need, so that some plans fit and some do not.
void add_memory(RandomSource& random, Problem& problem);

/// As `random_problem`, with formats that follow devices: each of up to three instances has its memory and one or two
/// layouts; copies go to the host and back, over peer links or not at all; costs grow with the bytes of the value.
Problem device_problem(RandomSource& random, size_t node_count);

/// One of these two, in turn with the seed, with little memory.
Problem problem_with_memory(RandomSource& random, uint64_t seed, size_t node_count);

/// Candidates that cover every node once, and nothing else: they may form cycles, break limits, or lack conversions. No
/// candidates if there was no cover along the way that was tried.
Solution random_cover(const Problem& problem, RandomSource& random);

/// Copies of the graph p0->q, p->q, p->s, r->q, r->s side by side or in a row, pairs cheaper than singletons, so that
/// choices about one pair decide which other pairs close a cycle.
Problem crossing_problem(RandomSource& random, size_t copies);

/// `length` pairs, each with a path into the next, so that all together close a ring and any fewer do not; pairs
/// cheaper than singletons.
Problem ring_problem(RandomSource& random, size_t length);

/// A random problem of which some owners join their candidates into regions: more expensive candidates, mostly single
/// nodes.
Problem joining_problem(RandomSource& random, size_t node_count);

}  // namespace collage::place
