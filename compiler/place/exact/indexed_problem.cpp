// SPDX-License-Identifier: Apache-2.0
// See indexed_problem.h.
#include "compiler/place/exact/indexed_problem.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <tuple>

#include "compiler/place/exact/search_order.h"
#include "compiler/place/problem/steiner.h"
#include "runtime/support/check.h"

namespace collage::place {
namespace {

Table<NodeId, Position> positions_of(const Table<Position, NodeId>& order) {
  Table<NodeId, Position> position(order.size());
  for (Position i : order.ids()) position[order[i]] = i;
  return position;
}

Neighbours<Position> renumbered(const NodeGraph& given, const Table<Position, NodeId>& order) {
  const Table<NodeId, Position> position = positions_of(order);
  Neighbours<Position> graph;
  for (NodeId node : order) {
    for (auto [from, to] :
         {std::pair(&given.successors, &graph.successors), std::pair(&given.predecessors, &graph.predecessors)}) {
      std::vector<Position> list;
      for (NodeId other : (*from)[node]) list.push_back(position[other]);
      std::sort(list.begin(), list.end());
      to->push_back(std::move(list));
    }
  }
  return graph;
}

}  // namespace

IndexedProblem::IndexedProblem(const Problem& problem)
    : IndexedProblem(problem, node_graph(problem), search_order(node_graph(problem))) {}

IndexedProblem::IndexedProblem(const Problem& problem, Table<Position, NodeId> given_order)
    : IndexedProblem(problem, node_graph(problem), std::move(given_order)) {}

IndexedProblem::IndexedProblem(const Problem& problem, const NodeGraph& given, Table<Position, NodeId> given_order)
    : node_count(problem.node_count),
      unit(problem.unit),
      host_plain(problem.host_plain),
      order(std::move(given_order)),
      graph(renumbered(given, order)),
      reach(graph),
      moves_at(problem.node_count),
      values_written(problem.node_count),
      values_read(problem.node_count),
      conversions(problem),
      symmetry(problem) {
  const Table<NodeId, Position> position = positions_of(order);
  for (ProblemValueId v : problem.values.ids()) {
    const ProblemValue& given_value = problem.values[v];
    SearchValue value;
    if (given_value.writer.is_valid()) {
      value.writer = position[given_value.writer];
      values_written[value.writer].push_back(v);
    }
    for (NodeId reader : given_value.readers) {
      value.readers.push_back(position[reader]);
      values_read[value.readers.back()].push_back(v);
    }
    std::sort(value.readers.begin(), value.readers.end());
    value.reader_wants.resize(value.readers.size());
    values.push_back(std::move(value));
  }
  add_moves(problem, position);
  check_wanted_formats();
  add_limits(problem);
  add_region_owners(problem);
}

namespace {

/// Ranks of strings: equal ones share one.
class Ranks {
 public:
  void add(const std::string& text) { ranks_.emplace(text, 0); }
  void number() {
    int next = 0;
    for (auto& [text, rank] : ranks_) rank = next++;
  }
  int of(const std::string& text) const { return ranks_.find(text)->second; }

 private:
  std::map<std::string, int> ranks_;
};

bool same_formats(const std::vector<ValueFormat>& a, const std::vector<ValueFormat>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const ValueFormat& x, const ValueFormat& y) {
    return x.value == y.value && x.format == y.format;
  });
}

int compare_formats(const std::vector<ValueFormat>& a, const std::vector<ValueFormat>& b) {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (a[i].value != b[i].value) return a[i].value < b[i].value ? -1 : 1;
    if (a[i].format != b[i].format) return a[i].format < b[i].format ? -1 : 1;
  }
  return a.size() == b.size() ? 0 : a.size() < b.size() ? -1 : 1;
}

}  // namespace

/// Sorts candidates by their first position, then by rank; leaves out those that another one makes useless.
std::vector<CandidateId> IndexedProblem::ranked_candidates(const Problem& problem,
                                                           const Table<NodeId, Position>& position) const {
  Ranks rules;
  for (const Candidate& candidate : problem.candidates) rules.add(candidate.rule);
  rules.number();
  std::vector<OwnerId> owners;
  for (OwnerId o : problem.owners.ids()) owners.push_back(o);
  std::sort(owners.begin(), owners.end(), [&](OwnerId a, OwnerId b) {
    const Owner& x = problem.owners[a];
    const Owner& y = problem.owners[b];
    return std::tie(x.backend, x.instance) < std::tie(y.backend, y.instance);
  });
  Table<OwnerId, size_t> owner_rank(owners.size());
  for (size_t i = 0; i < owners.size(); ++i) owner_rank[owners[i]] = i;

  struct Ranked {
    CandidateId candidate = 0;
    int rule = 0;
    size_t owner = 0;
  };
  Table<Position, std::vector<Ranked>> at(node_count);
  for (CandidateId c : problem.candidates.ids()) {
    const Candidate& candidate = problem.candidates[c];
    COLLAGE_CHECK(!candidate.nodes.empty(), "candidate {} has no nodes", c.index);
    if (candidate.cost >= Cost::max()) continue;
    Position first = at.next_id();
    for (NodeId node : candidate.nodes) first = std::min(first, position[node]);
    at[first].push_back({c, rules.of(candidate.rule), owner_rank[candidate.owner]});
  }
  std::vector<CandidateId> result;
  const auto candidate_of = [&](const Ranked& ranked) -> const Candidate& {
    return problem.candidates[ranked.candidate];
  };
  for (std::vector<Ranked>& here : at) {
    std::stable_sort(here.begin(), here.end(), [&](const Ranked& a, const Ranked& b) {
      if (a.rule != b.rule) return a.rule < b.rule;
      if (a.owner != b.owner) return a.owner < b.owner;
      const Candidate& x = candidate_of(a);
      const Candidate& y = candidate_of(b);
      if (x.nodes != y.nodes) return x.nodes < y.nodes;
      if (const int reads = compare_formats(x.reads, y.reads); reads != 0) return reads < 0;
      if (const int writes = compare_formats(x.writes, y.writes); writes != 0) return writes < 0;
      return x.cost < y.cost;
    });
    // The cheapest of those that differ in cost and rule only; of equally cheap ones the first.
    std::map<std::pair<OwnerId, std::vector<NodeId>>, std::vector<size_t>> alike;
    std::vector<char> is_useless(here.size(), 0);
    for (size_t i = 0; i < here.size(); ++i) {
      const Candidate& candidate = candidate_of(here[i]);
      std::vector<size_t>& others = alike[{candidate.owner, candidate.nodes}];
      const auto same = std::find_if(others.begin(), others.end(), [&](size_t other) {
        const Candidate& known = candidate_of(here[other]);
        return same_formats(known.reads, candidate.reads) && same_formats(known.writes, candidate.writes) &&
               known.constants == candidate.constants && known.may_join == candidate.may_join &&
               (known.kept == candidate.kept || !problem.owners[candidate.owner].memory);
      });
      if (same == others.end()) {
        others.push_back(i);
      } else if (candidate.cost < candidate_of(here[*same]).cost) {
        is_useless[*same] = 1;
        *same = i;
      } else {
        is_useless[i] = 1;
      }
    }
    for (size_t i = 0; i < here.size(); ++i) {
      if (is_useless[i] == 0) result.push_back(here[i].candidate);
    }
  }
  return result;
}

void IndexedProblem::add_moves(const Problem& problem, const Table<NodeId, Position>& position) {
  std::map<std::vector<Position>, MoveId> shapes;
  for (CandidateId c : ranked_candidates(problem, position)) {
    const Candidate& candidate = problem.candidates[c];
    IndexedCandidate move;
    move.source = c;
    move.cost = candidate.cost;
    move.least = candidate.cost;
    for (NodeId node : candidate.nodes) move.nodes.push_back(position[node]);
    std::sort(move.nodes.begin(), move.nodes.end());
    if (!is_convex(graph, reach, move.nodes) || !add_uses(candidate, move)) continue;
    move.opaque = !is_transparent(graph, reach, move.nodes);
    move.shape = moves.next_id();
    if (move.opaque) move.shape = shapes.emplace(move.nodes, move.shape).first->second;
    for (const ValueUse& use : move.uses) {
      if (use.written) continue;
      SearchValue& value = values[use.value];
      for (ReaderId r : value.readers.ids()) {
        if (std::binary_search(move.nodes.begin(), move.nodes.end(), value.readers[r])) {
          value.reader_wants[r] |= use.wanted;
        }
      }
    }
    moves_at[move.nodes.front()].push_back(moves.next_id());
    moves.push_back(std::move(move));
  }
}

/// More formats of one value at once than `cheapest_arborescence` takes: solutions that want them all are not seen.
/// Every reader is in one candidate, which wants a few.
void IndexedProblem::check_wanted_formats() {
  Table<ProblemValueId, size_t> most(values.size(), 1);
  for (const IndexedCandidate& move : moves) {
    for (const ValueUse& use : move.uses) {
      size_t& known = most[use.value];
      known = std::max<size_t>(known, std::popcount(use.wanted));
    }
  }
  for (ProblemValueId v : values.ids()) {
    const size_t at_once = values[v].readers.size() * most[v] + 1;
    if (std::min(at_once, conversions.wanted_formats(v)) > kMaxWantedFormats) complete = false;
  }
}

bool IndexedProblem::add_uses(const Candidate& candidate, IndexedCandidate& move) {
  const auto inside = [&](Position node) { return std::binary_search(move.nodes.begin(), move.nodes.end(), node); };
  std::vector<ProblemValueId> touched;
  for (Position node : move.nodes) {
    for (const auto* list : {&values_written, &values_read}) {
      const std::vector<ProblemValueId>& here = (*list)[node];
      touched.insert(touched.end(), here.begin(), here.end());
    }
  }
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  move.uses.reserve(touched.size());
  for (ProblemValueId v : touched) {
    const SearchValue& value = values[v];
    ValueUse use;
    use.value = v;
    use.written = inside(value.writer);
    if (use.written) {
      for (const ValueFormat& write : candidate.writes) {
        if (write.value == v) use.format = write.format;
      }
      const bool leaves = conversions.base(v) != 0 || !std::all_of(value.readers.begin(), value.readers.end(), inside);
      COLLAGE_CHECK(use.format.is_valid() || !leaves, "candidate {} does not say how it writes value {}",
                    move.source.index, v.index);
    } else {
      for (const ValueFormat& read : candidate.reads) {
        if (read.value != v) continue;
        const FormatMask bit = conversions.bit(v, read.format);
        if (bit == 0) {
          complete = false;
          return false;
        }
        use.wanted |= bit;
      }
      COLLAGE_CHECK(use.wanted != 0, "candidate {} does not say how it reads value {}", move.source.index, v.index);
    }
    move.uses.push_back(use);
  }
  return true;
}

void IndexedProblem::add_limits(const Problem& problem) {
  std::map<std::string, CounterId> counters;
  Table<OwnerId, std::set<OwnerId>> conflicts(problem.owners.size());
  for (OwnerId o : problem.owners.ids()) {
    const Owner& owner = problem.owners[o];
    if (owner.max_partitions) {
      const auto [it, is_new] = counters.emplace(owner.backend, counter_limits.next_id());
      if (is_new) counter_limits.push_back(*owner.max_partitions);
      int& limit = counter_limits[it->second];
      limit = std::min(limit, *owner.max_partitions);
    }
    for (OwnerId other : owner.conflicts) {
      conflicts[o].insert(other);
      conflicts[other].insert(o);
    }
  }
  Table<OwnerId, FlagId> flags(problem.owners.size());
  for (OwnerId o : problem.owners.ids()) {
    if (!conflicts[o].empty()) flags[o] = FlagId(flag_count++);
  }
  for (IndexedCandidate& move : moves) {
    const OwnerId o = problem.candidates[move.source].owner;
    const auto counter = counters.find(problem.owners[o].backend);
    if (problem.owners[o].max_partitions && counter != counters.end()) move.counter = counter->second;
    move.flag = flags[o];
    for (OwnerId other : conflicts[o]) move.conflicts.push_back(flags[other]);
  }
}

void IndexedProblem::add_region_owners(const Problem& problem) {
  Table<OwnerId, RegionOwnerId> region_owner_of(problem.owners.size());
  for (IndexedCandidate& move : moves) {
    const Candidate& candidate = problem.candidates[move.source];
    const Owner& owner = problem.owners[candidate.owner];
    if (!candidate.may_join || !owner.joins) continue;
    RegionOwnerId& index = region_owner_of[candidate.owner];
    if (!index.is_valid()) {
      index = region_owners.add({*owner.joins, {}, {}, {}});
      for (const SearchValue& value : values) {
        region_owners.back().uses.push_back({Table<ReaderId, FormatMask>(value.readers.size()), 0, false});
      }
    }
    move.region_owner = index;
    COLLAGE_CHECK(move.cost >= *owner.joins, "candidate {} costs less than a join of it saves", move.source.index);
    for (const ValueUse& use : move.uses) {
      const SearchValue& value = values[use.value];
      RegionOwner::Uses& uses = region_owners[index].uses[use.value];
      if (use.written) {
        if (use.format.is_valid()) uses.written |= conversions.bit(use.value, use.format);
        // No candidate reads a format without a bit, but a reader of another one must not be joined with its writer.
        if (use.format.is_valid() && conversions.bit(use.value, use.format) == 0) uses.varied = true;
        continue;
      }
      for (ReaderId r : value.readers.ids()) {
        if (std::binary_search(move.nodes.begin(), move.nodes.end(), value.readers[r])) uses.read[r] |= use.wanted;
      }
    }
  }
  for (RegionOwnerId j : region_owners.ids()) {
    for (RegionOwner::Uses& uses : region_owners[j].uses) {
      FormatMask all = uses.written;
      for (FormatMask read : uses.read) all |= read;
      uses.varied |= (all & (all - 1)) != 0;
    }
    find_parts(problem, j);
  }
}

/// Nodes of one unit, and of units that may exchange a value, are in one part.
void IndexedProblem::find_parts(const Problem& problem, RegionOwnerId index) {
  RegionOwner& region_owner = region_owners[index];
  Table<Position, Position> root(node_count);
  const auto find = [&](Position node) {
    while (root[node] != node) node = root[node];
    return node;
  };
  const auto unite = [&](Position a, Position b) {
    for (Position node : {a, b}) {
      if (!root[node].is_valid()) root[node] = node;
    }
    const Position one = find(a), other = find(b), low = std::min(one, other);
    for (Position node : {a, b, one, other}) root[node] = low;
  };
  std::map<std::pair<ProblemValueId, FormatId>, Position> writers;  // a node with the writer
  for (const IndexedCandidate& move : moves) {
    if (move.region_owner != index) continue;
    for (Position node : move.nodes) unite(move.nodes.front(), node);
    for (const ValueUse& use : move.uses) {
      if (use.written && use.format.is_valid()) {
        writers.emplace(std::pair(use.value, use.format), move.nodes.front());
      }
    }
  }
  for (const IndexedCandidate& move : moves) {
    if (move.region_owner != index) continue;
    for (const ValueFormat& read : problem.candidates[move.source].reads) {
      const auto writer = writers.find({read.value, read.format});
      if (writer != writers.end()) unite(writer->second, move.nodes.front());
    }
  }
  region_owner.part_of.resize(node_count);
  std::map<Position, RegionPartId> part_of_root;
  for (Position node : root.ids()) {
    if (!root[node].is_valid()) continue;
    const auto [it, is_new] = part_of_root.emplace(find(node), region_owner.parts.next_id());
    if (is_new) region_owner.parts.push_back({});
    region_owner.parts[it->second].push_back(node);
    region_owner.part_of[node] = it->second;
  }
  for (IndexedCandidate& move : moves) {
    if (move.region_owner != index) continue;
    const std::vector<Position>& part = region_owner.parts[region_owner.part_of[move.nodes.front()]];
    const int64_t launch = region_owner.saved.count() * std::ssize(move.nodes) / std::ssize(part);
    move.least = move.cost - region_owner.saved + cost_of(launch);
  }
}

}  // namespace collage::place
