// SPDX-License-Identifier: Apache-2.0
// What an instance holds while one node r runs, as far as the candidates chosen so far say. Each value has
// three facts:
//
//   arrived   the value is in the instance's memory once r begins: its writer, or another node before r that reads it,
//             runs there
//   stays     it is there while r runs unless a later choice says otherwise: its writer runs there, or is not chosen
//             yet, and so does each of its readers that are not r or after it
//   held      it surely is there: a candidate with r holds it then, or it arrived and r or a node after it reads it
//             there, or it stays and all readers that are not r or after it are chosen
//
//     a -> r, b; r -> c; b -> c, all of `npu`, a's value v = the only one:
//     a chosen  {arrived, stays} => r chosen, which reads v  {held}
//     a chosen  {arrived, stays} => b elsewhere  {arrived} => r elsewhere {arrived}: v may be gone
//
// What is before and after r is known by paths, whatever is chosen. For one execution order of some solution
// more is known: nodes with smaller ids run before r, all others after it. Other solutions have this order, too, unless
// one of their candidates
//
//   - has nodes of both sides; the candidate of r may, if those up to r are all nodes from its first one to r, and the
//     rest reads nothing that other candidates make after r,
//   - or is after r, has a smaller id, and does not depend on r: the order of execution could take it first.
//
// For such candidates nothing counts as held, so a sum of this kind counts only once all nodes up to r are chosen. For
// the others it is exact. For values that the candidate of r does not hold itself, each sum counts at most the kMost
// largest.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "compiler/place/problem/live_values.h"
#include "compiler/place/problem/memory_limits.h"
#include "compiler/place/problem/quotient.h"

namespace collage::place {

/// A bit for each value.
struct HeldBits {
  uint64_t arrived = 0;
  uint64_t stays = 0;
  uint64_t held = 0;
  int64_t own = 0;       ///< bytes of other values that the candidate with the node holds
  int64_t bytes = 0;     ///< of `held`, and `own`
  bool is_void = false;  ///< it may run in another order
};

class HeldAtNode {
 public:
  using InstanceId = MemoryLimits::InstanceId;
  static constexpr size_t kMost = 64;

  /// By paths. `position_of`: nodes in the order in which a search covers them, a topological one.
  HeldAtNode(const Problem& problem, const NodeGraph& graph, const MemoryLimits& memory, InstanceId instance,
             NodeId node, const Table<NodeId, Position>& position_of);
  /// By a run with these nodes before `node`.
  HeldAtNode(const Problem& problem, const NodeGraph& graph, const MemoryLimits& memory, InstanceId instance,
             NodeId node, const Table<NodeId, Position>& position_of, const std::vector<NodeId>& earlier);

  /// Nothing is chosen.
  HeldBits begin() const { return {.stays = may_stay_}; }
  /// One more candidate is chosen.
  void choose(CandidateId candidate, HeldBits& bits) const;
  /// All positions before `next` are covered.
  void pass(Position next, HeldBits& bits) const;
  /// The bytes that every completion holds at least.
  int64_t surely(const HeldBits& bits, Position next) const { return bits.is_void || next < counts_ ? 0 : bits.bytes; }
  /// No candidate that covers `next` or what follows changes the bits.
  bool is_over(Position next) const { return last_ < next; }
  /// Whatever is chosen from `next` on, `a` ends with no more bytes than `b`. Both have chosen the same nodes.
  bool ends_with_no_more(const HeldBits& a, const HeldBits& b, Position next) const;

 private:
  struct Effect {
    uint64_t leaves = 0;   ///< these do not stay
    uint64_t arrives = 0;  ///< these are there
    uint64_t needs = 0;    ///< r or a descendant reads these there
    uint64_t holds = 0;    ///< while r runs
    int64_t own = 0;       ///< of other values, while r runs
    bool voids = false;

    bool exists() const { return leaves != 0 || arrives != 0 || needs != 0 || holds != 0 || own != 0; }
  };
  Effect& effect_on(CandidateId candidate);
  void list_effects(const Problem& problem, const MemoryLimits& memory, InstanceId instance, NodeId node,
                    const Table<NodeId, Position>& position_of, const Sides& sides);
  void hold(uint64_t values, HeldBits& bits) const;
  int64_t bytes_of(uint64_t values) const;

  std::vector<int64_t> bytes_;  ///< by bit
  uint64_t may_stay_ = 0;
  /// Values whose writer and early readers are at or before a position; ascending.
  std::vector<std::pair<Position, uint64_t>> decided_;
  Position arrived_;     ///< of the last node that is not after the node
  Position counts_ = 0;  ///< from here on
  Position last_;
  std::vector<Effect> effects_;  ///< the first is that of most candidates: none
  Table<CandidateId, uint32_t> effect_of_;
};

}  // namespace collage::place
