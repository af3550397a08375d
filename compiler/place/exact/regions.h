// SPDX-License-Identifier: Apache-2.0
// Regions of large engines (problem.h) in a partial solution: which of them a unit may join, and what their futures
// depend on.
//
// Regions join where they meet: a unit is joined at once with all regions of its final one that it exchanges a value
// with. So each final solution has one way to it, and two regions of one final region never have a path between them
// through covered nodes. A region is open while
//   - an uncovered node could still be joined to it: some unit of its owner with that node writes or reads one of its
//     values in the very format;
//   - or an uncovered node has an edge into it: with what is chosen there it could close a cycle. This holds for any
//     other chosen candidate as well: it is kept as a region that nothing can join.
// Of an open region the future sees only the uncovered nodes around it, the values at its rim, and which other open
// ones it reaches. `beyond` are the nodes that must never join it: a path through another partition leads there.
//
//     region { a; b }, a -> x on another engine -> y   =>   after: none, beyond: y
#pragma once

#include <span>
#include <vector>

#include "compiler/place/exact/indexed_problem.h"

namespace collage::place {

struct OpenRegion {
  /// A value at its rim.
  struct Held {
    int value = 0;
    bool read = false;       ///< written otherwise
    FormatMask formats = 0;  ///< one, or it is joined with no other region that touches the value

    friend auto operator<=>(const Held&, const Held&) = default;
  };

  int first = 0;            ///< its smallest node: a name, not part of keys
  int region_owner = -1;    ///< -1: nothing can join it any more
  std::vector<Held> held;   ///< by value
  std::vector<int> before;  ///< uncovered nodes with an edge into it
  std::vector<int> after;   ///< uncovered nodes with an edge from it
  std::vector<int> beyond;  ///< uncovered nodes with an edge from another partition that it reaches
  // Names, ascending.
  std::vector<int> reaches;  ///< open regions that it reaches through covered nodes
  std::vector<int> apart;    ///< with which it touches a value in different formats
};

/// What has been covered.
struct Covered {
  int position = 0;               ///< all before it is covered
  const std::vector<int>& later;  ///< beyond it, ascending

  bool holds(int node) const;
};

class RegionRules {
 public:
  explicit RegionRules(const IndexedProblem& problem) : problem_(problem) {}

  /// Some owner's candidates may be joined.
  bool apply() const { return !problem_.region_owners.empty(); }

  /// Sets of open regions that the unit may be joined with, by index; some may turn out to close a cycle. The last is
  /// empty. `all`: no set was left out.
  std::vector<std::vector<int>> choices(const std::vector<OpenRegion>& regions, const IndexedCandidate& move,
                                        bool& all) const;

  /// Open regions after the move was chosen and joined with some of them. `covered`: with the move. False: a cycle, or
  /// one that nothing can avoid any more.
  bool choose(const std::vector<OpenRegion>& regions, const IndexedCandidate& move, std::span<const int> joined,
              const Covered& covered, std::vector<OpenRegion>& after) const;

  /// What joins with open regions can save at most that the least costs of later units do not count.
  Duration may_save(const std::vector<OpenRegion>& regions, const Covered& covered) const;

  static void add_to_key(const std::vector<OpenRegion>& regions, std::vector<int64_t>& key);

 private:
  OpenRegion made_of(const IndexedCandidate& move, const Covered& covered) const;
  std::vector<OpenRegion::Held> held_by(const IndexedCandidate& move) const;
  bool is_joinable(const OpenRegion& region, const Covered& covered) const;
  bool waits_for_itself(const OpenRegion& region) const;
  bool is_lost(const OpenRegion& region, int node) const;
  void close(std::vector<OpenRegion>& regions, const Covered& covered) const;

  const IndexedProblem& problem_;
};

}  // namespace collage::place
