// SPDX-License-Identifier: Apache-2.0
// See search_problem.h.
#include "compiler/place/search_problem.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "compiler/place/search_order.h"
#include "compiler/place/steiner.h"
#include "compiler/support/check.h"

namespace collage::place {
namespace {

using Formats = std::vector<std::pair<int, FormatId>>;

Formats formats_of(const std::vector<ValueFormat>& list) {
  Formats result;
  for (const ValueFormat& entry : list) result.emplace_back(entry.value, entry.format);
  std::sort(result.begin(), result.end());
  return result;
}

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

SearchProblem::SearchProblem(const Problem& problem)
    : SearchProblem(problem, node_graph(problem), search_order(node_graph(problem))) {}

SearchProblem::SearchProblem(const Problem& problem, const NodeGraph& given, const std::vector<int>& order)
    : node_count(problem.node_count),
      host_plain(problem.host_plain),
      graph(renumbered(given, order)),
      reach(graph),
      moves_at(static_cast<size_t>(problem.node_count)),
      values_written(static_cast<size_t>(problem.node_count)),
      values_read(static_cast<size_t>(problem.node_count)),
      conversions(problem) {
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
  check_wanted_formats(problem);
  add_limits(problem);
}

void SearchProblem::add_moves(const Problem& problem, const std::vector<int>& position) {
  std::vector<int> ranked;
  std::vector<Formats> reads;
  std::vector<Formats> writes;
  for (size_t c = 0; c < problem.candidates.size(); ++c) {
    reads.push_back(formats_of(problem.candidates[c].reads));
    writes.push_back(formats_of(problem.candidates[c].writes));
    ranked.push_back(static_cast<int>(c));
  }
  const auto rank = [&](int c) {
    const Candidate& candidate = problem.candidates[static_cast<size_t>(c)];
    const Owner& owner = problem.owners[static_cast<size_t>(candidate.owner)];
    return std::tie(candidate.rule, owner.backend, owner.instance, candidate.nodes, reads[static_cast<size_t>(c)],
                    writes[static_cast<size_t>(c)], candidate.cost);
  };
  std::stable_sort(ranked.begin(), ranked.end(), [&](int a, int b) { return rank(a) < rank(b); });
  const auto first_of = [&](int c) {
    int first = problem.node_count;
    for (int node : problem.candidates[static_cast<size_t>(c)].nodes)
      first = std::min(first, position[static_cast<size_t>(node)]);
    return first;
  };

  std::stable_sort(ranked.begin(), ranked.end(), [&](int a, int b) { return first_of(a) < first_of(b); });

  std::map<std::tuple<std::vector<int>, int, Formats, Formats>, int> cheapest;
  for (int c : ranked) {
    const size_t slot = static_cast<size_t>(c);
    const Candidate& candidate = problem.candidates[slot];
    COLLAGE_CHECK(!candidate.nodes.empty(), "candidate {} has no nodes", c);
    if (candidate.cost >= Duration::max()) continue;
    const auto [it, is_new] =
        cheapest.emplace(std::tuple(candidate.nodes, candidate.owner, reads[slot], writes[slot]), c);
    if (!is_new && candidate.cost < problem.candidates[static_cast<size_t>(it->second)].cost) it->second = c;
  }
  std::map<std::vector<int>, int> shapes;
  for (int c : ranked) {
    const size_t slot = static_cast<size_t>(c);
    const Candidate& candidate = problem.candidates[slot];
    const auto it = cheapest.find(std::tuple(candidate.nodes, candidate.owner, reads[slot], writes[slot]));
    if (it == cheapest.end() || it->second != c) continue;
    Move move;
    move.source = c;
    move.cost = candidate.cost;
    for (int node : candidate.nodes) move.nodes.push_back(position[static_cast<size_t>(node)]);
    std::sort(move.nodes.begin(), move.nodes.end());
    if (!is_convex(graph, reach, move.nodes) || !add_touches(candidate, move)) continue;
    move.opaque = !is_transparent(graph, reach, move.nodes);
    move.shape = shapes.emplace(move.nodes, static_cast<int>(moves.size())).first->second;
    for (const Touch& touch : move.touches) {
      SearchValue& value = values[static_cast<size_t>(touch.value)];
      for (size_t r = 0; r < value.readers.size(); ++r) {
        if (std::binary_search(move.nodes.begin(), move.nodes.end(), value.readers[r])) {
          value.reader_wants[r] |= touch.wanted;
        }
      }
    }
    moves_at[static_cast<size_t>(move.nodes.front())].push_back(static_cast<int>(moves.size()));
    moves.push_back(std::move(move));
  }
}

/// More formats of one value than `cheapest_arborescence` takes at once: solutions that want them all are not seen.
void SearchProblem::check_wanted_formats(const Problem& problem) {
  std::vector<std::set<FormatId>> wanted(problem.values.size());
  for (const Candidate& candidate : problem.candidates) {
    for (const ValueFormat& read : candidate.reads) wanted[static_cast<size_t>(read.value)].insert(read.format);
  }
  for (const std::set<FormatId>& formats : wanted) {
    if (formats.size() >= kMaxWantedFormats) complete = false;
  }
}

bool SearchProblem::add_touches(const Candidate& candidate, Move& move) {
  const auto inside = [&](int node) { return std::binary_search(move.nodes.begin(), move.nodes.end(), node); };
  std::set<int> touched;
  for (int node : move.nodes) {
    touched.insert(values_written[static_cast<size_t>(node)].begin(), values_written[static_cast<size_t>(node)].end());
    touched.insert(values_read[static_cast<size_t>(node)].begin(), values_read[static_cast<size_t>(node)].end());
  }
  for (int v : touched) {
    const SearchValue& value = values[static_cast<size_t>(v)];
    Touch touch;
    touch.value = v;
    touch.written = inside(value.writer);
    if (touch.written) {
      for (const ValueFormat& write : candidate.writes) {
        if (write.value == v) touch.format = write.format;
      }
      const bool leaves = conversions.base(v) != 0 || !std::all_of(value.readers.begin(), value.readers.end(), inside);
      COLLAGE_CHECK(touch.format >= 0 || !leaves, "candidate {} does not say how it writes value {}", move.source, v);
    } else {
      for (const ValueFormat& read : candidate.reads) {
        if (read.value != v) continue;
        const FormatMask bit = conversions.bit(v, read.format);
        if (bit == 0) {
          complete = false;
          return false;
        }
        touch.wanted |= bit;
      }
      COLLAGE_CHECK(touch.wanted != 0, "candidate {} does not say how it reads value {}", move.source, v);
    }
    move.touches.push_back(touch);
  }
  return true;
}

void SearchProblem::add_limits(const Problem& problem) {
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
  for (Move& move : moves) {
    const size_t o = static_cast<size_t>(problem.candidates[static_cast<size_t>(move.source)].owner);
    const auto counter = counters.find(problem.owners[o].backend);
    if (problem.owners[o].max_partitions && counter != counters.end()) move.counter = counter->second;
    move.flag = flags[o];
    for (int other : conflicts[o]) move.conflicts.push_back(flags[static_cast<size_t>(other)]);
  }
}

}  // namespace collage::place
