// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/schedule/parallel_bound.h"

#include <algorithm>
#include <map>
#include <set>

namespace collage::place {
namespace {

/// Between the nodes of a path: before each of them, and after the last.
using Joint = Id<struct JointTag>;

Duration sum(Duration a, Duration b) {
  return a < Duration::max() - b ? a + b : Duration::max();
}

/// The shortest chain of conversions of a value.
class Chains {
 public:
  explicit Chains(const Problem& problem) : problem_(problem) {}

  Duration length(ProblemValueId value, FormatId from, FormatId to) {
    auto [it, is_new] = known_.try_emplace({value, from});
    if (is_new) it->second = from_one(problem_.values[value].conversions, from);
    const auto found = it->second.find(to);
    return found == it->second.end() ? Duration::max() : found->second;
  }

 private:
  static std::map<FormatId, Duration> from_one(const std::vector<ConversionEdge>& edges, FormatId from) {
    std::map<FormatId, Duration> settled;
    std::set<std::pair<Duration, FormatId>> queue = {{Duration(), from}};
    while (!queue.empty()) {
      const auto [cost, at] = *queue.begin();
      queue.erase(queue.begin());
      if (!settled.emplace(at, cost).second) continue;
      for (const ConversionEdge& edge : edges) {
        if (edge.from == at && edge.cost < Cost::max()) queue.emplace(sum(cost, edge.cost.time()), edge.to);
      }
    }
    return settled;
  }

  const Problem& problem_;
  std::map<std::pair<ProblemValueId, FormatId>, std::map<FormatId, Duration>> known_;
};

/// A value that `writer` makes (none: a model input) and `reader` reads, if there is one.
ProblemValueId link(const Problem& problem, NodeId writer, NodeId reader) {
  for (ProblemValueId v : problem.values.ids()) {
    const ProblemValue& value = problem.values[v];
    if (value.writer != writer) continue;
    if (std::binary_search(value.readers.begin(), value.readers.end(), reader)) return v;
  }
  return {};
}

}  // namespace

std::vector<NodeId> longest_path(const Problem& problem, const Table<NodeId, Duration>& length) {
  Table<NodeId, Duration> best(problem.node_count);
  Table<NodeId, NodeId> before(problem.node_count);
  Table<NodeId, std::vector<NodeId>> operands(problem.node_count);
  for (const ProblemValue& value : problem.values) {
    if (!value.writer.is_valid()) continue;
    for (NodeId reader : value.readers) operands[reader].push_back(value.writer);
  }
  NodeId last;
  for (NodeId node : problem.nodes()) {
    for (NodeId operand : operands[node]) {
      if (before[node].is_valid() && best[operand] <= best[before[node]]) continue;
      before[node] = operand;
    }
    best[node] = length[node];
    if (before[node].is_valid()) best[node] = sum(best[node], best[before[node]]);
    if (!last.is_valid() || best[node] > best[last]) last = node;
  }
  std::vector<NodeId> path;
  for (NodeId node = last; node.is_valid(); node = before[node]) path.push_back(node);
  std::reverse(path.begin(), path.end());
  return path;
}

Duration path_bound(const Problem& problem, const std::vector<NodeId>& path) {
  if (path.empty()) return {};
  constexpr FormatId kAny;                         // what the path starts from costs nothing
  Table<NodeId, Joint> place(problem.node_count);  // before the node
  // The value at each joint; after the last node, an output of it.
  Table<Joint, ProblemValueId> between;
  NodeId before;
  for (NodeId node : path) {
    place[node] = between.add(link(problem, before, node));
    before = node;
  }
  const Joint end = between.add({});
  for (ProblemValueId v : problem.values.ids()) {
    if (problem.values[v].writer == path.back() && problem.values[v].is_output) between[end] = v;
  }
  struct Run {
    const Candidate* candidate;
    Joint end;
  };
  Table<Joint, std::vector<Run>> starting(between.size());
  for (const Candidate& candidate : problem.candidates) {
    Joint first, last;
    int count = 0;
    for (NodeId node : candidate.nodes) {
      const Joint at = place[node];
      if (!at.is_valid()) continue;
      first = first.is_valid() ? std::min(first, at) : at;
      last = std::max(last, at);
      ++count;
    }
    if (count > 0 && last.index - first.index + 1 == count) {
      starting[first].push_back({&candidate, advance(last, 1)});
    }
  }
  Chains chains(problem);
  Table<Joint, std::map<FormatId, Duration>> reached(between.size());  // by the format of the value between
  reached.front()[between.front().is_valid() ? problem.host_plain : kAny] = Duration();
  const auto entering = [&](const Candidate& candidate, ProblemValueId value, FormatId from) {
    Duration most;
    for (const ValueFormat& read : candidate.reads) {
      if (read.value == value) most = std::max(most, chains.length(value, from, read.format));
    }
    return most;
  };
  for (Joint at : between.ids()) {
    for (const auto& [format, cost] : reached[at]) {
      for (const Run& run : starting[at]) {
        Duration total = sum(cost, run.candidate->cost.time());
        if (format != kAny) total = sum(total, entering(*run.candidate, between[at], format));
        if (total >= Duration::max()) continue;
        FormatId made = kAny;
        for (const ValueFormat& write : run.candidate->writes) {
          if (write.value == between[run.end]) made = write.format;
        }
        auto [it, is_new] = reached[run.end].emplace(made, total);
        if (!is_new) it->second = std::min(it->second, total);
      }
    }
  }
  Duration least = Duration::max();
  for (const auto& [format, cost] : reached.back()) {
    Duration total = cost;
    if (format != kAny) total = sum(total, chains.length(between.back(), format, problem.host_plain));
    least = std::min(least, total);
  }
  return least;
}

}  // namespace collage::place
