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
// For an open region the future depends only on the uncovered nodes around it, the values at its rim, and which other
// open regions it reaches. `beyond` are the nodes that must never join it: a path through another partition leads
// there.
//
//     region { a; b }, a -> x on another engine -> y   =>   after: none, beyond: y
#pragma once

#include <span>
#include <vector>

#include "compiler/place/exact/indexed_problem.h"

namespace collage::place {

/// One of the regions open in one partial solution.
using OpenRegionId = Id<struct OpenRegion>;

struct OpenRegion {
  /// A value at its rim.
  struct Held {
    ProblemValueId value = 0;
    bool read = false;       ///< written otherwise
    FormatMask formats = 0;  ///< one, or it is joined with no other region that touches the value

    friend auto operator<=>(const Held&, const Held&) = default;
  };

  Position first = 0;            ///< its smallest node: a name, not part of keys
  RegionOwnerId region_owner;    ///< none: nothing can join it any more
  std::vector<Held> held;        ///< by value
  std::vector<Position> before;  ///< uncovered nodes with an edge into it
  std::vector<Position> after;   ///< uncovered nodes with an edge from it
  std::vector<Position> beyond;  ///< uncovered nodes with an edge from another partition that it reaches
  // Names, ascending.
  std::vector<Position> reaches;  ///< open regions that it reaches through covered nodes
  std::vector<Position> apart;    ///< with which it touches a value in different formats
};
using OpenRegions = Table<OpenRegionId, OpenRegion>;

/// The nodes that a partial solution covers.
struct Covered {
  Position position = 0;               ///< all before it is covered
  const std::vector<Position>& later;  ///< beyond it, ascending

  bool holds(Position node) const;
};

class RegionRules {
 public:
  explicit RegionRules(const IndexedProblem& problem) : problem_(problem) {}

  /// Some owner's candidates may be joined.
  bool apply() const { return !problem_.region_owners.empty(); }

  /// Sets of open regions that the unit may be joined with; some may turn out to close a cycle. The last is empty.
  /// `all`: no set was left out.
  std::vector<std::vector<OpenRegionId>> choices(const OpenRegions& regions, const IndexedCandidate& move,
                                                 bool& all) const;

  /// Open regions after the move was chosen and joined with some of them. `covered`: with the move. False: a cycle, or
  /// one that nothing can avoid any more.
  bool choose(const OpenRegions& regions, const IndexedCandidate& move, std::span<const OpenRegionId> joined,
              const Covered& covered, OpenRegions& after) const;

  /// The most that joining open regions can save beyond what the least costs of later units count.
  Cost may_save(const OpenRegions& regions, const Covered& covered) const;

  static void add_to_key(const OpenRegions& regions, std::vector<int64_t>& key);

 private:
  OpenRegion made_of(const IndexedCandidate& move, const Covered& covered) const;
  std::vector<OpenRegion::Held> held_by(const IndexedCandidate& move) const;
  bool is_joinable(const OpenRegion& region, const Covered& covered) const;
  bool waits_for_itself(const OpenRegion& region) const;
  bool is_lost(const OpenRegion& region, Position node) const;
  void close(OpenRegions& regions, const Covered& covered) const;

  const IndexedProblem& problem_;
};

}  // namespace collage::place
