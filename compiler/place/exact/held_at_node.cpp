// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/exact/held_at_node.h"

#include <algorithm>
#include <bit>

namespace collage::place {
namespace {

/// A candidate with which others may run in another order (held_at_node.h).
bool may_change_order(const std::vector<NodeId>& nodes, NodeId node, const Sides& sides,
                      const Table<NodeId, char>& depends, const NodeGraph& graph) {
  const auto is_before = [&](NodeId own) { return sides.is_before[own] != 0; };
  if (std::binary_search(nodes.begin(), nodes.end(), node)) {
    const auto end = std::upper_bound(nodes.begin(), nodes.end(), node);
    const size_t from_first = node.slot() - nodes.front().slot() + 1;
    const auto is_ready = [&](NodeId other) {
      return is_before(other) || std::binary_search(nodes.begin(), nodes.end(), other);
    };
    const auto waits = [&](NodeId own) {
      const std::vector<NodeId>& read = graph.predecessors[own];
      return !std::all_of(read.begin(), read.end(), is_ready);
    };
    return from_first != static_cast<size_t>(end - nodes.begin()) || !std::all_of(nodes.begin(), end, is_before) ||
           std::any_of(end, nodes.end(), waits);
  }
  if (std::all_of(nodes.begin(), nodes.end(), is_before)) return false;
  if (std::any_of(nodes.begin(), nodes.end(), is_before)) return true;
  return nodes.front() < node &&
         std::none_of(nodes.begin(), nodes.end(), [&](NodeId own) { return depends[own] != 0; });
}

}  // namespace

HeldAtNode::HeldAtNode(const Problem& problem, const NodeGraph& graph, const MemoryLimits& memory, InstanceId instance,
                       NodeId node, const Table<NodeId, Position>& position_of)
    : arrived_(position_of[node]), effects_(1), effect_of_(problem.candidates.size(), 0) {
  list_effects(problem, memory, instance, node, position_of, sides_by_paths(graph, node));
}

HeldAtNode::HeldAtNode(const Problem& problem, const NodeGraph& graph, const MemoryLimits& memory, InstanceId instance,
                       NodeId node, const Table<NodeId, Position>& position_of, const std::vector<NodeId>& earlier)
    : arrived_(position_of[node]), effects_(1), effect_of_(problem.candidates.size(), 0) {
  for (NodeId other = 0; other < node; other = advance(other, 1)) arrived_ = std::max(arrived_, position_of[other]);
  counts_ = advance(arrived_, 1);
  const Sides sides = sides_of_run(problem.node_count, node, earlier);
  list_effects(problem, memory, instance, node, position_of, sides);
  const Table<NodeId, char> depends = sides_by_paths(graph, node).is_after;
  for (CandidateId c : problem.candidates.ids()) {
    if (may_change_order(problem.candidates[c].nodes, node, sides, depends, graph)) effect_on(c).voids = true;
  }
}

/// The effect of a candidate; it is made if there is none so far.
HeldAtNode::Effect& HeldAtNode::effect_on(CandidateId candidate) {
  uint32_t& index = effect_of_[candidate];
  if (index == 0) {
    index = static_cast<uint32_t>(effects_.size());
    effects_.emplace_back();
  }
  return effects_[index];
}

void HeldAtNode::list_effects(const Problem& problem, const MemoryLimits& memory, InstanceId instance, NodeId node,
                              const Table<NodeId, Position>& position_of, const Sides& sides) {
  last_ = arrived_;
  std::vector<ValueBeside> beside = values_beside(problem, node, sides);
  std::stable_sort(beside.begin(), beside.end(), [&](const ValueBeside& a, const ValueBeside& b) {
    return problem.values[a.value].bytes > problem.values[b.value].bytes;
  });
  if (beside.size() > kMost) beside.resize(kMost);
  Table<NodeId, uint64_t> writes(problem.node_count, 0), early(problem.node_count, 0), before(problem.node_count, 0),
      late(problem.node_count, 0);
  Table<ProblemValueId, uint64_t> bit_of(problem.values.size(), 0);
  for (const ValueBeside& of : beside) {
    const ProblemValue& value = problem.values[of.value];
    const uint64_t bit = uint64_t{1} << bytes_.size();
    bit_of[of.value] = bit;
    bytes_.push_back(value.bytes);
    Position decided;
    if (value.writer.is_valid()) {
      may_stay_ |= bit;
      writes[value.writer] |= bit;
      decided = position_of[value.writer];
    }
    for (NodeId reader : value.readers) {
      const bool is_late = std::binary_search(of.late.begin(), of.late.end(), reader);
      (is_late ? late : early)[reader] |= bit;
      last_ = std::max(last_, position_of[reader]);
      if (!is_late && decided.is_valid()) decided = std::max(decided, position_of[reader]);
    }
    for (NodeId reader : of.before) before[reader] |= bit;
    if (decided.is_valid()) decided_.emplace_back(decided, bit);
  }
  std::sort(decided_.begin(), decided_.end());
  for (size_t i = 1; i < decided_.size(); ++i) decided_[i].second |= decided_[i - 1].second;
  for (CandidateId c : problem.candidates.ids()) {
    const std::vector<NodeId>& nodes = problem.candidates[c].nodes;
    const bool is_here = memory.instance_of(c) == instance;
    const bool has_node = is_here && std::binary_search(nodes.begin(), nodes.end(), node);
    Effect effect;
    uint64_t written = 0;
    for (NodeId own : nodes) {
      written |= writes[own];
      if (is_here) {
        effect.arrives |= before[own];
        effect.needs |= late[own];
      } else {
        effect.leaves |= early[own];
      }
    }
    if (is_here && !has_node) effect.arrives |= written;
    if (!is_here || has_node) effect.leaves |= written;
    if (has_node) {
      // The values that the candidate makes are in memory when its own entry says, which may be never.
      effect.arrives &= ~written;
      effect.needs &= ~written;
      for (ProblemValueId v : memory.held_at(c, node)) {
        effect.holds |= bit_of[v];
        if (bit_of[v] == 0) effect.own += problem.values[v].bytes;
      }
    }
    if (effect.exists()) effect_on(c) = effect;
  }
}

void HeldAtNode::choose(CandidateId candidate, HeldBits& bits) const {
  const uint32_t index = effect_of_[candidate];
  if (index == 0) return;
  const Effect& effect = effects_[index];
  bits.is_void = bits.is_void || effect.voids;
  bits.stays &= ~effect.leaves;
  bits.arrived |= effect.arrives;
  bits.own += effect.own;
  bits.bytes += effect.own;
  hold(effect.holds | (effect.needs & bits.arrived), bits);
}

void HeldAtNode::pass(Position next, HeldBits& bits) const {
  const auto later =
      std::partition_point(decided_.begin(), decided_.end(), [&](const auto& d) { return d.first < next; });
  if (later != decided_.begin()) hold(bits.stays & (later - 1)->second, bits);
}

void HeldAtNode::hold(uint64_t values, HeldBits& bits) const {
  bits.bytes += bytes_of(values & ~bits.held);
  bits.held |= values;
}

/// The difference of a value is at most
///
///     its bytes    if only `a` holds it, or neither does and `a` has a fact of it that `b` has not
///     - its bytes  if only `b` holds it, and `a` cannot any more
///     0            otherwise
bool HeldAtNode::ends_with_no_more(const HeldBits& a, const HeldBits& b, Position next) const {
  if (a.is_void || b.is_void) return a.is_void;
  if (a.held == b.held && a.arrived == b.arrived && a.stays == b.stays) return a.own <= b.own;
  const uint64_t facts = (a.arrived & ~b.arrived) | (a.stays & ~b.stays);
  const uint64_t more = (a.held & ~b.held) | (facts & ~a.held & ~b.held);
  const uint64_t possible = arrived_ < next ? a.held | a.arrived | a.stays : ~uint64_t{0};
  return a.own + bytes_of(more) <= b.own + bytes_of(b.held & ~possible);
}

int64_t HeldAtNode::bytes_of(uint64_t values) const {
  int64_t bytes = 0;
  for (; values != 0; values &= values - 1) bytes += bytes_[static_cast<size_t>(std::countr_zero(values))];
  return bytes;
}

}  // namespace collage::place
