// SPDX-License-Identifier: Apache-2.0
// See regions.h.
#include "compiler/place/exact/regions.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

namespace collage::place {
namespace {

/// A unit that touches at most this many regions is joined with every subset of them; one that touches more, with all,
/// all but one, one, or none.
constexpr size_t kMaxRegionsForSubsets = 8;

bool contains(const std::vector<Position>& sorted, Position item) {
  return std::binary_search(sorted.begin(), sorted.end(), item);
}

bool intersect(const std::vector<Position>& a, const std::vector<Position>& b) {
  return std::any_of(a.begin(), a.end(), [&](Position item) { return contains(b, item); });
}

void insert(std::vector<Position>& sorted, Position item) {
  const auto at = std::lower_bound(sorted.begin(), sorted.end(), item);
  if (at == sorted.end() || *at != item) sorted.insert(at, item);
}

void insert_all(std::vector<Position>& sorted, const std::vector<Position>& items) {
  for (Position item : items) insert(sorted, item);
}

/// Whether something was there to erase.
bool erase_all(std::vector<Position>& sorted, const std::vector<Position>& items) {
  return std::erase_if(sorted, [&](Position item) { return contains(items, item); }) > 0;
}

bool is_one(FormatMask formats) {
  return std::has_single_bit(formats);
}

/// Both touch a value, not in the same format.
bool disagree(const std::vector<OpenRegion::Held>& a, const std::vector<OpenRegion::Held>& b) {
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].value != b[j].value) {
      a[i].value < b[j].value ? ++i : ++j;
      continue;
    }
    if (a[i].formats != b[j].formats || !is_one(a[i].formats)) return true;
    ++i, ++j;
  }
  return false;
}

/// One writes what the other reads.
bool exchange(const std::vector<OpenRegion::Held>& a, const std::vector<OpenRegion::Held>& b) {
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].value != b[j].value) {
      a[i].value < b[j].value ? ++i : ++j;
      continue;
    }
    if (a[i].formats == b[j].formats && is_one(a[i].formats) && a[i].read != b[j].read) return true;
    ++i, ++j;
  }
  return false;
}

/// A value that is written inside counts as written.
void merge_held(std::vector<OpenRegion::Held>& into, const std::vector<OpenRegion::Held>& from) {
  into.insert(into.end(), from.begin(), from.end());
  std::sort(into.begin(), into.end());
  into.erase(std::unique(into.begin(), into.end(), [](const auto& a, const auto& b) { return a.value == b.value; }),
             into.end());
}

}  // namespace

bool Covered::holds(Position node) const {
  return node < position || contains(later, node);
}

std::vector<std::vector<OpenRegionId>> RegionRules::choices(const OpenRegions& regions, const IndexedCandidate& move,
                                                            bool& all) const {
  all = true;
  std::vector<std::vector<OpenRegionId>> result;
  if (move.region_owner.is_valid()) {
    const std::vector<OpenRegion::Held> touched = held_by(move);
    std::vector<OpenRegionId> near;
    for (OpenRegionId r : regions.ids()) {
      const OpenRegion& region = regions[r];
      if (region.region_owner != move.region_owner || !exchange(region.held, touched) || disagree(region.held, touched))
        continue;
      if (std::any_of(move.nodes.begin(), move.nodes.end(), [&](Position node) { return is_lost(region, node); }))
        continue;
      near.push_back(r);
    }
    if (near.size() <= kMaxRegionsForSubsets) {
      for (uint32_t set = (1u << near.size()) - 1; set > 0; --set) {
        std::vector<OpenRegionId>& subset = result.emplace_back();
        for (size_t i = 0; i < near.size(); ++i) {
          if ((set >> i & 1) != 0) subset.push_back(near[i]);
        }
      }
    } else {
      all = false;
      result.push_back(near);
      for (size_t i = 0; i < near.size(); ++i) {
        std::vector<OpenRegionId>& others = result.emplace_back(near);
        others.erase(others.begin() + i);
      }
      for (OpenRegionId r : near) result.push_back({r});
    }
  }
  result.emplace_back();
  return result;
}

OpenRegion RegionRules::made_of(const IndexedCandidate& move, const Covered& covered) const {
  OpenRegion region;
  region.first = move.nodes.front();
  region.region_owner = move.region_owner;
  for (Position node : move.nodes) {
    for (Position other : problem_.graph.predecessors[node]) {
      if (!covered.holds(other)) insert(region.before, other);
    }
    for (Position other : problem_.graph.successors[node]) {
      if (!covered.holds(other)) insert(region.after, other);
    }
  }
  if (move.region_owner.is_valid()) region.held = held_by(move);
  return region;
}

std::vector<OpenRegion::Held> RegionRules::held_by(const IndexedCandidate& move) const {
  std::vector<OpenRegion::Held> held;
  for (const ValueUse& use : move.uses) {
    if (!use.written) {
      held.push_back({use.value, true, use.wanted});
    } else if (use.format.is_valid()) {
      held.push_back({use.value, false, problem_.conversions.bit(use.value, use.format)});
    }
  }
  return held;
}

bool RegionRules::choose(const OpenRegions& regions, const IndexedCandidate& move, std::span<const OpenRegionId> joined,
                         const Covered& covered, OpenRegions& after) const {
  OpenRegion added = made_of(move, covered);
  const std::vector<OpenRegion::Held> touched = added.held;
  std::vector<Position> names;
  for (OpenRegionId r : joined) insert(names, regions[r].first);
  after.clear();
  for (const OpenRegion& region : regions) {
    if (!contains(names, region.first)) {
      after.push_back(region);
      continue;
    }
    added.first = std::min(added.first, region.first);
    merge_held(added.held, region.held);
    insert_all(added.before, region.before);
    insert_all(added.after, region.after);
    insert_all(added.beyond, region.beyond);
    insert_all(added.reaches, region.reaches);
    insert_all(added.apart, region.apart);
  }
  if (intersect(added.apart, names)) return false;
  for (std::vector<Position>* list : {&added.before, &added.after, &added.beyond}) erase_all(*list, move.nodes);

  // First the regions that the new one reaches, then those that reach it.
  for (const OpenRegion& other : after) {
    if (!intersect(move.nodes, other.before)) continue;
    insert(added.reaches, other.first);
    insert_all(added.reaches, other.reaches);
  }
  if (intersect(added.reaches, names)) return false;
  for (OpenRegion& other : after) {
    const bool reaches =
        intersect(move.nodes, other.after) || intersect(move.nodes, other.beyond) || intersect(other.reaches, names);
    const bool is_reached = contains(added.reaches, other.first);
    if (reaches && is_reached) return false;
    for (std::vector<Position>* list : {&other.before, &other.after, &other.beyond}) erase_all(*list, move.nodes);
    if (is_reached) {
      insert_all(added.beyond, other.after);
      insert_all(added.beyond, other.beyond);
    }
    erase_all(other.reaches, names);
    if (reaches) insert(other.reaches, added.first);
    const bool was_apart = erase_all(other.apart, names);
    const bool parts =
        other.region_owner.is_valid() && other.region_owner == added.region_owner && disagree(other.held, touched);
    if (was_apart || parts) {
      insert(other.apart, added.first);
      insert(added.apart, other.first);
    }
  }
  for (OpenRegion& other : after) {
    if (!contains(other.reaches, added.first)) continue;
    insert_all(other.reaches, added.reaches);
    insert_all(other.beyond, added.after);
    insert_all(other.beyond, added.beyond);
  }
  after.push_back(std::move(added));
  if (std::any_of(after.begin(), after.end(), [&](const OpenRegion& r) { return waits_for_itself(r); })) return false;
  close(after, covered);
  std::sort(after.begin(), after.end(), [](const OpenRegion& a, const OpenRegion& b) {
    return std::tie(a.region_owner, a.held, a.before, a.after, a.beyond, a.first) <
           std::tie(b.region_owner, b.held, b.before, b.after, b.beyond, b.first);
  });
  return true;
}

/// A path leaves it through another partition and leads to a node before it.
bool RegionRules::waits_for_itself(const OpenRegion& region) const {
  return std::any_of(region.before.begin(), region.before.end(), [&](Position node) { return is_lost(region, node); });
}

/// The node can not be part of the region.
bool RegionRules::is_lost(const OpenRegion& region, Position node) const {
  return std::any_of(region.beyond.begin(), region.beyond.end(),
                     [&](Position from) { return problem_.reach.reaches(from, node); });
}

bool RegionRules::is_joinable(const OpenRegion& region, const Covered& covered) const {
  if (!region.region_owner.is_valid()) return false;
  const RegionOwner& region_owner = problem_.region_owners[region.region_owner];
  return std::any_of(region.held.begin(), region.held.end(), [&](const OpenRegion::Held& held) {
    if (!is_one(held.formats)) return false;
    const SearchValue& value = problem_.values[held.value];
    const RegionOwner::Uses& uses = region_owner.uses[held.value];
    if (held.read) {
      return value.writer.is_valid() && !covered.holds(value.writer) && (uses.written & held.formats) != 0 &&
             !is_lost(region, value.writer);
    }
    for (ReaderId r : value.readers.ids()) {
      const Position reader = value.readers[r];
      if (!covered.holds(reader) && (uses.read[r] & held.formats) != 0 && !is_lost(region, reader)) return true;
    }
    return false;
  });
}

/// Forgets what no future depends on.
void RegionRules::close(OpenRegions& regions, const Covered& covered) const {
  std::vector<Position> closed, gone;
  for (OpenRegion& region : regions) {
    if (region.region_owner.is_valid()) {
      const Table<ProblemValueId, RegionOwner::Uses>& uses = problem_.region_owners[region.region_owner].uses;
      std::erase_if(region.held, [&](const OpenRegion::Held& held) {
        const SearchValue& value = problem_.values[held.value];
        const bool writer_open = value.writer.is_valid() && !covered.holds(value.writer);
        if (held.read && !writer_open && !uses[held.value].varied) return true;
        return !(held.read && writer_open) && std::all_of(value.readers.begin(), value.readers.end(),
                                                          [&](Position reader) { return covered.holds(reader); });
      });
      if (!is_joinable(region, covered)) {
        region.region_owner = {};
        region.held.clear();
        region.apart.clear();
        insert(closed, region.first);
      }
    }
    if (!region.region_owner.is_valid() && region.before.empty()) insert(gone, region.first);
  }
  std::erase_if(regions.items(), [&](const OpenRegion& region) { return contains(gone, region.first); });
  for (OpenRegion& region : regions) {
    erase_all(region.reaches, gone);
    erase_all(region.apart, closed);
  }
}

/// In a part with open regions, later units may all be joined with them: their shares of a launch are not paid. Open
/// regions may be joined with each other; those that cannot be end in as many.
Cost RegionRules::may_save(const OpenRegions& regions, const Covered& covered) const {
  struct Part {
    int64_t count = 0;
    std::vector<const OpenRegion*> separate;
  };
  std::map<std::pair<RegionOwnerId, RegionPartId>, Part> open;
  for (const OpenRegion& region : regions) {
    if (!region.region_owner.is_valid()) continue;
    const RegionOwner& region_owner = problem_.region_owners[region.region_owner];
    Part& part = open[{region.region_owner, region_owner.part_of[region.first]}];
    ++part.count;
    const bool from_all = std::all_of(part.separate.begin(), part.separate.end(), [&](const OpenRegion* other) {
      return contains(region.reaches, other->first) || contains(other->reaches, region.first) ||
             contains(region.apart, other->first);
    });
    if (from_all) part.separate.push_back(&region);
  }
  int64_t saved = 0;
  for (const auto& [key, part] : open) {
    const RegionOwner& region_owner = problem_.region_owners[key.first];
    const std::vector<Position>& nodes = region_owner.parts[key.second];
    int64_t later = nodes.end() - std::lower_bound(nodes.begin(), nodes.end(), covered.position);
    for (Position node : covered.later) later -= contains(nodes, node) ? 1 : 0;
    saved += region_owner.saved.count() * (part.count - std::ssize(part.separate));
    saved += region_owner.saved.count() * later / std::ssize(nodes);
  }
  return problem_.cost_of(saved);
}

void RegionRules::add_to_key(const OpenRegions& regions, std::vector<int64_t>& key) {
  const auto add_names = [&](const std::vector<Position>& names) {
    key.push_back(-1);
    for (OpenRegionId r : regions.ids()) {
      if (contains(names, regions[r].first)) key.push_back(r.index);
    }
  };
  for (const OpenRegion& region : regions) {
    key.insert(key.end(), {-3, region.region_owner.index});
    for (const OpenRegion::Held& held : region.held) {
      key.insert(key.end(), {held.value.index, held.read ? 1 : 0, static_cast<int64_t>(held.formats)});
    }
    for (const std::vector<Position>* list : {&region.before, &region.after, &region.beyond}) {
      key.push_back(-1);
      for (Position node : *list) key.push_back(node.index);
    }
    add_names(region.reaches);
    add_names(region.apart);
  }
}

}  // namespace collage::place
