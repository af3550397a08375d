// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/schedule/parallel_bound.h"

#include <algorithm>
#include <map>
#include <set>

namespace collage::place {
namespace {

Duration sum(Duration a, Duration b) {
  return a < Duration::max() - b ? a + b : Duration::max();
}

/// The shortest chain of conversions of a value.
class Chains {
 public:
  explicit Chains(const Problem& problem) : problem_(problem) {}

  Duration length(int value, FormatId from, FormatId to) {
    auto [it, is_new] = known_.try_emplace({value, from});
    if (is_new) it->second = from_one(problem_.values[static_cast<size_t>(value)].conversions, from);
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
        if (edge.from == at && edge.cost < Duration::max()) queue.emplace(sum(cost, edge.cost), edge.to);
      }
    }
    return settled;
  }

  const Problem& problem_;
  std::map<std::pair<int, FormatId>, std::map<FormatId, Duration>> known_;
};

/// A value that `writer` makes (-1: a model input) and `reader` reads; -1: none.
int link(const Problem& problem, int writer, int reader) {
  for (size_t v = 0; v < problem.values.size(); ++v) {
    const ProblemValue& value = problem.values[v];
    if (value.writer != writer) continue;
    if (std::binary_search(value.readers.begin(), value.readers.end(), reader)) return static_cast<int>(v);
  }
  return -1;
}

}  // namespace

Problem weighted(const Problem& problem, const SolutionScheduler& scheduler, const std::vector<int>& weights) {
  const auto times = [&](Duration cost, const std::vector<int>& held) {
    int64_t factor = 0;
    for (int resource : held) factor += weights[static_cast<size_t>(resource)];
    if (factor > 0 && cost.ps() >= Duration::max().ps() / factor) return Duration::max();
    return Duration::picoseconds(cost.ps() * factor);
  };
  Problem result = problem;
  for (Candidate& candidate : result.candidates) candidate.cost = times(candidate.cost, scheduler.work_of(candidate));
  for (ProblemValue& value : result.values) {
    for (ConversionEdge& edge : value.conversions) edge.cost = times(edge.cost, scheduler.work_of(edge.from, edge.to));
  }
  return result;
}

std::vector<int> longest_path(const Problem& problem, const std::vector<Duration>& length) {
  const auto count = static_cast<size_t>(problem.node_count);
  std::vector<Duration> best(count);
  std::vector<int> before(count, -1);
  std::vector<std::vector<int>> operands(count);
  for (const ProblemValue& value : problem.values) {
    if (value.writer < 0) continue;
    for (int reader : value.readers) operands[static_cast<size_t>(reader)].push_back(value.writer);
  }
  size_t last = 0;
  for (size_t node = 0; node < count; ++node) {
    for (int operand : operands[node]) {
      if (before[node] >= 0 && best[static_cast<size_t>(operand)] <= best[static_cast<size_t>(before[node])]) continue;
      before[node] = operand;
    }
    best[node] = length[node];
    if (before[node] >= 0) best[node] = sum(best[node], best[static_cast<size_t>(before[node])]);
    if (best[node] > best[last]) last = node;
  }
  std::vector<int> path;
  for (int node = count == 0 ? -1 : static_cast<int>(last); node >= 0; node = before[static_cast<size_t>(node)]) {
    path.push_back(node);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

Duration path_bound(const Problem& problem, const std::vector<int>& path) {
  if (path.empty()) return {};
  constexpr FormatId kAny = -1;  // what the path starts from costs nothing
  std::vector<int> place(static_cast<size_t>(problem.node_count), -1);
  for (size_t i = 0; i < path.size(); ++i) place[static_cast<size_t>(path[i])] = static_cast<int>(i);
  // The value between position i-1 and i; after the last, an output of the last node.
  std::vector<int> between(path.size() + 1, -1);
  for (size_t i = 0; i < path.size(); ++i) between[i] = link(problem, i == 0 ? -1 : path[i - 1], path[i]);
  for (size_t v = 0; v < problem.values.size(); ++v) {
    if (problem.values[v].writer == path.back() && problem.values[v].is_output) between.back() = static_cast<int>(v);
  }
  struct Run {
    const Candidate* candidate;
    size_t end;
  };
  std::vector<std::vector<Run>> starting(path.size());
  for (const Candidate& candidate : problem.candidates) {
    int first = -1, last = -1, count = 0;
    for (int node : candidate.nodes) {
      const int at = place[static_cast<size_t>(node)];
      if (at < 0) continue;
      first = first < 0 ? at : std::min(first, at);
      last = std::max(last, at);
      ++count;
    }
    if (count > 0 && last - first + 1 == count) {
      starting[static_cast<size_t>(first)].push_back({&candidate, static_cast<size_t>(last) + 1});
    }
  }
  Chains chains(problem);
  std::vector<std::map<FormatId, Duration>> reached(path.size() + 1);  // by the format of the value between
  reached[0][between[0] < 0 ? kAny : problem.host_plain] = Duration();
  const auto entering = [&](const Candidate& candidate, int value, FormatId from) {
    Duration most;
    for (const ValueFormat& read : candidate.reads) {
      if (read.value == value) most = std::max(most, chains.length(value, from, read.format));
    }
    return most;
  };
  for (size_t i = 0; i < path.size(); ++i) {
    for (const auto& [format, cost] : reached[i]) {
      for (const Run& run : starting[i]) {
        Duration total = sum(cost, run.candidate->cost);
        if (format != kAny) total = sum(total, entering(*run.candidate, between[i], format));
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
