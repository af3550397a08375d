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
#include "compiler/support/check.h"

namespace collage::place {
namespace {

std::vector<int> positions_of(const std::vector<int>& order) {
  std::vector<int> position(order.size());
  for (size_t i = 0; i < order.size(); ++i) position[static_cast<size_t>(order[i])] = static_cast<int>(i);
  return position;
}

NodeGraph renumbered(const NodeGraph& given, const std::vector<int>& order) {
  const std::vector<int> position = positions_of(order);
  NodeGraph graph;
  for (int node : order) {
    for (auto [from, to] :
         {std::pair(&given.successors, &graph.successors), std::pair(&given.predecessors, &graph.predecessors)}) {
      std::vector<int> list;
      for (int other : (*from)[static_cast<size_t>(node)]) list.push_back(position[static_cast<size_t>(other)]);
      std::sort(list.begin(), list.end());
      to->push_back(std::move(list));
    }
  }
  return graph;
}

}  // namespace

IndexedProblem::IndexedProblem(const Problem& problem)
    : IndexedProblem(problem, node_graph(problem), search_order(node_graph(problem))) {}

IndexedProblem::IndexedProblem(const Problem& problem, std::vector<int> given_order)
    : IndexedProblem(problem, node_graph(problem), std::move(given_order)) {}

IndexedProblem::IndexedProblem(const Problem& problem, const NodeGraph& given, std::vector<int> given_order)
    : node_count(problem.node_count),
      host_plain(problem.host_plain),
      order(std::move(given_order)),
      graph(renumbered(given, order)),
      reach(graph),
      moves_at(static_cast<size_t>(problem.node_count)),
      values_written(static_cast<size_t>(problem.node_count)),
      values_read(static_cast<size_t>(problem.node_count)),
      conversions(problem),
      symmetry(problem) {
  const std::vector<int> position = positions_of(order);
  for (size_t v = 0; v < problem.values.size(); ++v) {
    const ProblemValue& given_value = problem.values[v];
    SearchValue value;
    if (given_value.writer >= 0) {
      value.writer = position[static_cast<size_t>(given_value.writer)];
      values_written[static_cast<size_t>(value.writer)].push_back(static_cast<int>(v));
    }
    for (int reader : given_value.readers) {
      value.readers.push_back(position[static_cast<size_t>(reader)]);
      values_read[static_cast<size_t>(value.readers.back())].push_back(static_cast<int>(v));
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
std::vector<int> IndexedProblem::ranked_candidates(const Problem& problem, const std::vector<int>& position) const {
  Ranks rules;
  for (const Candidate& candidate : problem.candidates) rules.add(candidate.rule);
  rules.number();
  std::vector<int> owners(problem.owners.size());
  for (size_t o = 0; o < owners.size(); ++o) owners[o] = static_cast<int>(o);
  std::sort(owners.begin(), owners.end(), [&](int a, int b) {
    const Owner& x = problem.owners[static_cast<size_t>(a)];
    const Owner& y = problem.owners[static_cast<size_t>(b)];
    return std::tie(x.backend, x.instance) < std::tie(y.backend, y.instance);
  });
  std::vector<int> owner_rank(owners.size());
  for (size_t i = 0; i < owners.size(); ++i) owner_rank[static_cast<size_t>(owners[i])] = static_cast<int>(i);

  struct Ranked {
    int candidate = 0;
    int rule = 0;
    int owner = 0;
  };
  std::vector<std::vector<Ranked>> at(static_cast<size_t>(node_count));
  for (size_t c = 0; c < problem.candidates.size(); ++c) {
    const Candidate& candidate = problem.candidates[c];
    COLLAGE_CHECK(!candidate.nodes.empty(), "candidate {} has no nodes", c);
    if (candidate.cost >= Duration::max()) continue;
    int first = node_count;
    for (int node : candidate.nodes) first = std::min(first, position[static_cast<size_t>(node)]);
    at[static_cast<size_t>(first)].push_back(
        {static_cast<int>(c), rules.of(candidate.rule), owner_rank[static_cast<size_t>(candidate.owner)]});
  }
  std::vector<int> result;
  const auto candidate_of = [&](const Ranked& ranked) -> const Candidate& {
    return problem.candidates[static_cast<size_t>(ranked.candidate)];
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
    std::map<std::pair<int, std::vector<int>>, std::vector<size_t>> alike;
    std::vector<char> is_useless(here.size(), 0);
    for (size_t i = 0; i < here.size(); ++i) {
      const Candidate& candidate = candidate_of(here[i]);
      std::vector<size_t>& others = alike[{candidate.owner, candidate.nodes}];
      const auto same = std::find_if(others.begin(), others.end(), [&](size_t other) {
        const Candidate& known = candidate_of(here[other]);
        return same_formats(known.reads, candidate.reads) && same_formats(known.writes, candidate.writes) &&
               known.constants == candidate.constants && known.may_join == candidate.may_join;
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

void IndexedProblem::add_moves(const Problem& problem, const std::vector<int>& position) {
  std::map<std::vector<int>, int> shapes;
  for (int c : ranked_candidates(problem, position)) {
    const Candidate& candidate = problem.candidates[static_cast<size_t>(c)];
    IndexedCandidate move;
    move.source = c;
    move.cost = candidate.cost;
    move.least = candidate.cost;
    for (int node : candidate.nodes) move.nodes.push_back(position[static_cast<size_t>(node)]);
    std::sort(move.nodes.begin(), move.nodes.end());
    if (!is_convex(graph, reach, move.nodes) || !add_uses(candidate, move)) continue;
    move.opaque = !is_transparent(graph, reach, move.nodes);
    move.shape = static_cast<int>(moves.size());
    if (move.opaque) move.shape = shapes.emplace(move.nodes, move.shape).first->second;
    for (const ValueUse& use : move.uses) {
      if (use.written) continue;
      SearchValue& value = values[static_cast<size_t>(use.value)];
      for (size_t r = 0; r < value.readers.size(); ++r) {
        if (std::binary_search(move.nodes.begin(), move.nodes.end(), value.readers[r])) {
          value.reader_wants[r] |= use.wanted;
        }
      }
    }
    moves_at[static_cast<size_t>(move.nodes.front())].push_back(static_cast<int>(moves.size()));
    moves.push_back(std::move(move));
  }
}

/// More formats of one value at once than `cheapest_arborescence` takes: solutions that want them all are not seen.
/// Every reader is in one candidate, which wants a few.
void IndexedProblem::check_wanted_formats() {
  std::vector<size_t> most(values.size(), 1);
  for (const IndexedCandidate& move : moves) {
    for (const ValueUse& use : move.uses) {
      size_t& known = most[static_cast<size_t>(use.value)];
      known = std::max(known, static_cast<size_t>(std::popcount(use.wanted)));
    }
  }
  for (size_t v = 0; v < values.size(); ++v) {
    const size_t at_once = values[v].readers.size() * most[v] + 1;
    if (std::min(at_once, conversions.wanted_formats(static_cast<int>(v))) > kMaxWantedFormats) complete = false;
  }
}

bool IndexedProblem::add_uses(const Candidate& candidate, IndexedCandidate& move) {
  const auto inside = [&](int node) { return std::binary_search(move.nodes.begin(), move.nodes.end(), node); };
  std::vector<int> touched;
  for (int node : move.nodes) {
    for (const auto* list : {&values_written, &values_read}) {
      const std::vector<int>& here = (*list)[static_cast<size_t>(node)];
      touched.insert(touched.end(), here.begin(), here.end());
    }
  }
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  move.uses.reserve(touched.size());
  for (int v : touched) {
    const SearchValue& value = values[static_cast<size_t>(v)];
    ValueUse use;
    use.value = v;
    use.written = inside(value.writer);
    if (use.written) {
      for (const ValueFormat& write : candidate.writes) {
        if (write.value == v) use.format = write.format;
      }
      const bool leaves = conversions.base(v) != 0 || !std::all_of(value.readers.begin(), value.readers.end(), inside);
      COLLAGE_CHECK(use.format >= 0 || !leaves, "candidate {} does not say how it writes value {}", move.source, v);
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
      COLLAGE_CHECK(use.wanted != 0, "candidate {} does not say how it reads value {}", move.source, v);
    }
    move.uses.push_back(use);
  }
  return true;
}

void IndexedProblem::add_limits(const Problem& problem) {
  std::map<std::string, int> counters;
  std::vector<std::set<int>> conflicts(problem.owners.size());
  for (size_t o = 0; o < problem.owners.size(); ++o) {
    const Owner& owner = problem.owners[o];
    if (owner.max_partitions) {
      const auto [it, is_new] = counters.emplace(owner.backend, static_cast<int>(counter_limits.size()));
      if (is_new) counter_limits.push_back(*owner.max_partitions);
      int& limit = counter_limits[static_cast<size_t>(it->second)];
      limit = std::min(limit, *owner.max_partitions);
    }
    for (int other : owner.conflicts) {
      conflicts[o].insert(other);
      conflicts[static_cast<size_t>(other)].insert(static_cast<int>(o));
    }
  }
  std::vector<int> flags(problem.owners.size(), -1);
  for (size_t o = 0; o < problem.owners.size(); ++o) {
    if (!conflicts[o].empty()) flags[o] = flag_count++;
  }
  for (IndexedCandidate& move : moves) {
    const size_t o = static_cast<size_t>(problem.candidates[static_cast<size_t>(move.source)].owner);
    const auto counter = counters.find(problem.owners[o].backend);
    if (problem.owners[o].max_partitions && counter != counters.end()) move.counter = counter->second;
    move.flag = flags[o];
    for (int other : conflicts[o]) move.conflicts.push_back(flags[static_cast<size_t>(other)]);
  }
}

void IndexedProblem::add_region_owners(const Problem& problem) {
  std::vector<int> region_owner_of(problem.owners.size(), -1);
  for (IndexedCandidate& move : moves) {
    const Candidate& candidate = problem.candidates[static_cast<size_t>(move.source)];
    const Owner& owner = problem.owners[static_cast<size_t>(candidate.owner)];
    if (!candidate.may_join || !owner.joins) continue;
    int& index = region_owner_of[static_cast<size_t>(candidate.owner)];
    if (index < 0) {
      index = static_cast<int>(region_owners.size());
      region_owners.push_back({*owner.joins, {}, {}, {}});
      for (const SearchValue& value : values) {
        region_owners.back().uses.push_back({std::vector<FormatMask>(value.readers.size()), 0, false});
      }
    }
    move.region_owner = index;
    COLLAGE_CHECK(move.cost >= *owner.joins, "candidate {} costs less than a join of it saves", move.source);
    for (const ValueUse& use : move.uses) {
      const SearchValue& value = values[static_cast<size_t>(use.value)];
      RegionOwner::Uses& uses = region_owners[static_cast<size_t>(index)].uses[static_cast<size_t>(use.value)];
      if (use.written) {
        if (use.format >= 0) uses.written |= conversions.bit(use.value, use.format);
        // No candidate reads a format without a bit, but a reader of another one must not be joined with its writer.
        if (use.format >= 0 && conversions.bit(use.value, use.format) == 0) uses.varied = true;
        continue;
      }
      for (size_t r = 0; r < value.readers.size(); ++r) {
        if (std::binary_search(move.nodes.begin(), move.nodes.end(), value.readers[r])) uses.read[r] |= use.wanted;
      }
    }
  }
  for (size_t j = 0; j < region_owners.size(); ++j) {
    for (RegionOwner::Uses& uses : region_owners[j].uses) {
      FormatMask all = uses.written;
      for (FormatMask read : uses.read) all |= read;
      uses.varied |= (all & (all - 1)) != 0;
    }
    find_parts(problem, region_owners[j], static_cast<int>(j));
  }
}

/// Nodes of one unit, and of units that may exchange a value, are in one part.
void IndexedProblem::find_parts(const Problem& problem, RegionOwner& region_owner, int index) {
  std::vector<int> root(static_cast<size_t>(node_count), -1);
  const auto find = [&](int node) {
    while (root[static_cast<size_t>(node)] != node) node = root[static_cast<size_t>(node)];
    return node;
  };
  const auto unite = [&](int a, int b) {
    for (int node : {a, b}) {
      if (root[static_cast<size_t>(node)] < 0) root[static_cast<size_t>(node)] = node;
    }
    const int one = find(a), other = find(b), low = std::min(one, other);
    for (int node : {a, b, one, other}) root[static_cast<size_t>(node)] = low;
  };
  std::map<std::pair<int, FormatId>, int> writers;  // a node with the writer
  for (const IndexedCandidate& move : moves) {
    if (move.region_owner != index) continue;
    for (int node : move.nodes) unite(move.nodes.front(), node);
    for (const ValueUse& use : move.uses) {
      if (use.written && use.format >= 0) writers.emplace(std::pair(use.value, use.format), move.nodes.front());
    }
  }
  for (const IndexedCandidate& move : moves) {
    if (move.region_owner != index) continue;
    for (const ValueFormat& read : problem.candidates[static_cast<size_t>(move.source)].reads) {
      const auto writer = writers.find({read.value, read.format});
      if (writer != writers.end()) unite(writer->second, move.nodes.front());
    }
  }
  region_owner.part_of.assign(root.size(), -1);
  std::map<int, int> part_of_root;
  for (int node = 0; node < node_count; ++node) {
    if (root[static_cast<size_t>(node)] < 0) continue;
    const auto [it, is_new] = part_of_root.emplace(find(node), static_cast<int>(region_owner.parts.size()));
    if (is_new) region_owner.parts.emplace_back();
    region_owner.parts[static_cast<size_t>(it->second)].push_back(node);
    region_owner.part_of[static_cast<size_t>(node)] = it->second;
  }
  for (IndexedCandidate& move : moves) {
    if (move.region_owner != index) continue;
    const size_t part = static_cast<size_t>(region_owner.part_of[static_cast<size_t>(move.nodes.front())]);
    const int64_t nodes = static_cast<int64_t>(move.nodes.size());
    const int64_t launch = region_owner.saved.ps() * nodes / static_cast<int64_t>(region_owner.parts[part].size());
    move.least = move.cost - region_owner.saved + Duration::picoseconds(launch);
  }
}

}  // namespace collage::place
