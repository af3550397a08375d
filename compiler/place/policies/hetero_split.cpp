// SPDX-License-Identifier: Apache-2.0
// See hetero_split.h.
#include "compiler/place/policies/hetero_split.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "runtime/support/check.h"

namespace collage::place {
namespace {

using SubGraphId = Id<struct SubGraphTag>;
using EntryId = Id<struct EntryTag>;

/// Where values come into a sub-graph: along an edge, or as an input of the model for one reader or more.
struct Entry {
  SubGraphId into;
  SubGraphId from;  ///< none: an input of the model
  BlockId writer;   ///< none likewise
  BlockId reader;   ///< of an edge
};

/// A set of entries as bits.
class EntrySet {
 public:
  explicit EntrySet(size_t count = 0) : words_((count + 63) / 64) {}
  void insert(EntryId entry) { words_[entry.slot() / 64] |= uint64_t{1} << (entry.slot() % 64); }
  bool contains(EntryId entry) const { return (words_[entry.slot() / 64] >> (entry.slot() % 64) & 1) != 0; }
  bool empty() const {
    return std::all_of(words_.begin(), words_.end(), [](uint64_t word) { return word == 0; });
  }
  EntrySet& operator|=(const EntrySet& other) {
    for (size_t w = 0; w < words_.size(); ++w) words_[w] |= other.words_[w];
    return *this;
  }
  bool intersects(const EntrySet& other) const {
    for (size_t w = 0; w < words_.size(); ++w) {
      if ((words_[w] & other.words_[w]) != 0) return true;
    }
    return false;
  }

 private:
  std::vector<uint64_t> words_;
};

class HeteroSplit {
 public:
  HeteroSplit(const Problem& problem, const Blocks& blocks, const Table<NodeId, OwnerId>& owners)
      : problem_(problem),
        blocks_(blocks),
        order_(blocks.in_order()),
        affinity_(blocks.name_count()),
        writers_(blocks.name_count()),
        readers_(blocks.name_count()),
        sub_graph_(blocks.name_count()) {
    for (BlockId unit : order_) {
      affinity_[unit] = owners[blocks.nodes(unit).front()];
      writers_[unit] = blocks.writers(unit);
      readers_[unit] = blocks.readers(unit);
    }
  }

  std::vector<std::vector<BlockId>> run() {
    do {
      connect();
    } while (cut_detours());
    for (;;) {
      connect();
      const std::set<SubGraphId> circular = in_circles();
      if (circular.empty()) break;
      isolate_one(circular);
    }
    std::map<SubGraphId, std::vector<BlockId>> members;
    for (BlockId unit : order_) members[sub_graph_[unit]].push_back(unit);
    std::vector<std::vector<BlockId>> result;
    for (auto& [sub_graph, units] : members) result.push_back(std::move(units));
    return result;
  }

 private:
  bool is_inside(BlockId writer, BlockId reader) const {
    return affinity_[writer] == affinity_[reader] && !cut_.contains({writer, reader});
  }

  /// Names sub-graphs in the order of their first unit.
  void connect() {
    SubGraphId next = 0;
    for (BlockId unit : order_) sub_graph_[unit] = {};
    for (BlockId first : order_) {
      if (sub_graph_[first].is_valid()) continue;
      std::vector<BlockId> open = {first};
      sub_graph_[first] = next;
      while (!open.empty()) {
        const BlockId unit = open.back();
        open.pop_back();
        const auto visit = [&](BlockId other, bool is_connected) {
          if (!is_connected || sub_graph_[other].is_valid()) return;
          sub_graph_[other] = next;
          open.push_back(other);
        };
        for (BlockId writer : writers_[unit]) visit(writer, is_inside(writer, unit));
        for (BlockId reader : readers_[unit]) visit(reader, is_inside(unit, reader));
      }
      next = support::advance(next, 1);
    }
  }

  /// Step 1, once. False if nothing was cut.
  bool cut_detours() {
    const Table<EntryId, Entry> entries = find_entries();
    Table<BlockId, EntrySet> own(blocks_.name_count()), back(blocks_.name_count());
    for (BlockId unit : order_) {
      own[unit] = back[unit] = EntrySet(entries.size());
      for (EntryId e : entries.ids()) {
        if (!upstream_[unit].contains(e)) continue;
        if (entries[e].into == sub_graph_[unit]) own[unit].insert(e);
        if (entries[e].from == sub_graph_[unit]) back[unit].insert(e);
      }
    }
    bool cuts = false;
    for (BlockId unit : order_) {
      if (back[unit].empty()) continue;
      EntrySet shared(entries.size());  // the entries of what the unit waits for
      for (EntryId e : entries.ids()) {
        if (back[unit].contains(e)) shared |= own[entries[e].writer];
        const bool comes_back = entries[e].from.is_valid() && entries[e].from != sub_graph_[unit];
        if (comes_back && own[unit].contains(e)) shared |= own[entries[e].reader];
      }
      for (BlockId writer : writers_[unit]) {
        if (back[unit].intersects(back[writer]) || !shared.intersects(own[writer])) continue;
        if (affinity_[writer] == affinity_[unit]) cuts |= cut_.emplace(writer, unit).second;
      }
    }
    return cuts;
  }

  /// All entries, and for each unit those that it depends on.
  Table<EntryId, Entry> find_entries() {
    Table<EntryId, Entry> entries;
    Table<BlockId, std::vector<EntryId>> at(blocks_.name_count());
    for (BlockId unit : order_) {
      for (BlockId writer : writers_[unit]) {
        if (is_inside(writer, unit)) continue;
        at[unit].push_back(entries.add({sub_graph_[unit], sub_graph_[writer], writer, unit}));
      }
    }
    for (const ProblemValue& value : problem_.values) {
      if (value.writer.is_valid()) continue;
      std::map<SubGraphId, EntryId> known;
      for (BlockId unit : blocks_.of(value.readers)) {
        const auto [entry, is_new] = known.emplace(sub_graph_[unit], entries.next_id());
        if (is_new) entries.push_back({sub_graph_[unit], {}, {}, {}});
        at[unit].push_back(entry->second);
      }
    }
    upstream_.assign(blocks_.name_count(), EntrySet(entries.size()));
    for (BlockId unit : order_) {
      for (EntryId e : at[unit]) upstream_[unit].insert(e);
      for (BlockId writer : writers_[unit]) upstream_[unit] |= upstream_[writer];
    }
    return entries;
  }

  /// The sub-graphs that wait for themselves through others.
  std::set<SubGraphId> in_circles() const {
    std::map<SubGraphId, std::set<SubGraphId>> next;
    for (BlockId unit : order_) {
      for (BlockId reader : readers_[unit]) {
        if (sub_graph_[reader] != sub_graph_[unit]) next[sub_graph_[unit]].insert(sub_graph_[reader]);
      }
    }
    std::set<SubGraphId> circular;
    for (const auto& [start, first] : next) {
      std::set<SubGraphId> seen;
      std::vector<SubGraphId> open(first.begin(), first.end());
      while (!open.empty()) {
        const SubGraphId at = open.back();
        open.pop_back();
        if (!seen.insert(at).second) continue;
        if (const auto more = next.find(at); more != next.end()) {
          open.insert(open.end(), more->second.begin(), more->second.end());
        }
      }
      if (seen.contains(start)) circular.insert(start);
    }
    return circular;
  }

  /// Step 2, once.
  void isolate_one(const std::set<SubGraphId>& circular) {
    using Rank = std::tuple<bool, bool, size_t, size_t>;  // the least is cut
    std::optional<std::pair<Rank, BlockId>> best;
    for (size_t position = 0; position < order_.size(); ++position) {
      const BlockId unit = order_[position];
      if (!circular.contains(sub_graph_[unit])) continue;
      size_t inside = 0;
      bool reads_circle = false, shares_input = false;
      for (BlockId writer : writers_[unit]) {
        reads_circle |= sub_graph_[writer] != sub_graph_[unit] && circular.contains(sub_graph_[writer]);
        if (!is_inside(writer, unit)) continue;
        ++inside;
        shares_input |= readers_[writer].size() > 1;
      }
      if (inside == 0) continue;
      const std::pair ranked(Rank(!reads_circle, !shares_input, inside, position), unit);
      if (!best || ranked.first < best->first) best = ranked;
    }
    COLLAGE_CHECK(best.has_value(), "sub-graphs of single units wait for each other");
    for (BlockId writer : writers_[best->second]) {
      if (is_inside(writer, best->second)) cut_.emplace(writer, best->second);
    }
  }

  const Problem& problem_;
  const Blocks& blocks_;
  const std::vector<BlockId> order_;
  Table<BlockId, OwnerId> affinity_;
  Table<BlockId, std::vector<BlockId>> writers_, readers_;
  Table<BlockId, SubGraphId> sub_graph_;
  Table<BlockId, EntrySet> upstream_;  ///< the entries that a unit depends on
  std::set<std::pair<BlockId, BlockId>> cut_;
};

}  // namespace

std::vector<std::vector<BlockId>> hetero_sub_graphs(const Problem& problem, const Blocks& blocks,
                                                    const Table<NodeId, OwnerId>& owners) {
  return HeteroSplit(problem, blocks, owners).run();
}

}  // namespace collage::place
