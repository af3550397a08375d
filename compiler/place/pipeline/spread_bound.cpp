// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/pipeline/spread_bound.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

namespace collage::place {
namespace {

/// Makes up for what doubles round up.
constexpr double kRoundedDown = 1 - 1e-9;

/// Without the launch that a join of regions may save.
int64_t least_cost(const Problem& problem, const Candidate& candidate) {
  const std::optional<Cost>& joins = problem.owners[candidate.owner].joins;
  const int64_t saved = candidate.may_join && joins ? joins->count() : 0;
  return std::max<int64_t>(0, candidate.cost.count() - saved);
}

}  // namespace

BoundOfAll::BoundOfAll(const Problem& problem, const std::vector<MemoryLimit>& limits, const FormatGraph& links,
                       const ir::Graph& graph, const Table<ProblemValueId, ir::ValueId>& values)
    : problem_(problem),
      limits_(limits),
      links_(links),
      graph_(graph),
      values_(values),
      alone_(problem.node_count, std::numeric_limits<int64_t>::max()),
      least_(problem.node_count, std::numeric_limits<int64_t>::max()) {
  for (const Candidate& candidate : problem.candidates) {
    const int64_t cost = least_cost(problem, candidate);
    for (NodeId node : candidate.nodes) alone_[node] = std::min(alone_[node], cost);
  }
  for (const Candidate& candidate : problem.candidates) {
    double all = 0;
    for (NodeId node : candidate.nodes) all += weight(node);
    const int64_t cost = least_cost(problem, candidate);
    const double rate = static_cast<double>(cost) / all * kRoundedDown;
    for (NodeId node : candidate.nodes) {
      const int64_t share = candidate.nodes.size() == 1 ? cost : static_cast<int64_t>(rate * weight(node));
      least_[node] = std::min(least_[node], share);
    }
  }
  raise_shares();
}

/// Shares may grow as long as no candidate has more than its cost: first a little of what each leaves, so that its
/// nodes have something of it alike, at last all.
void BoundOfAll::raise_shares() {
  constexpr int kRounds = 16;
  std::vector<int64_t> left;
  Table<NodeId, std::vector<size_t>> holding(problem_.node_count);
  std::vector<int64_t> size;
  for (const Candidate& candidate : problem_.candidates) {
    int64_t rest = least_cost(problem_, candidate);
    for (NodeId node : candidate.nodes) {
      rest -= least_[node];
      holding[node].push_back(left.size());
    }
    left.push_back(rest);
    size.push_back(static_cast<int64_t>(candidate.nodes.size()));
  }
  for (int round = 0; round <= kRounds; ++round) {
    for (NodeId node : problem_.nodes()) {
      int64_t more = std::numeric_limits<int64_t>::max();
      for (size_t c : holding[node]) more = std::min(more, round < kRounds ? left[c] / size[c] : left[c]);
      if (more <= 0 || more == std::numeric_limits<int64_t>::max()) continue;
      least_[node] += more;
      for (size_t c : holding[node]) left[c] -= more;
    }
  }
}

double BoundOfAll::weight(NodeId node) const {
  return static_cast<double>(std::max<int64_t>(1, alone_[node]));
}

Cost BoundOfAll::latency() const {
  const int64_t work = std::accumulate(least_.begin(), least_.end(), int64_t{0});
  const int64_t copies = std::max<int64_t>(0, least_memories() - components());
  return problem_.cost_of(work + (copies > 0 ? copies * least_copy() : 0));
}

Cost BoundOfAll::throughput() const {
  const int64_t work = std::accumulate(least_.begin(), least_.end(), int64_t{0});
  const auto count = static_cast<int64_t>(memories().size());
  int64_t most = alone_.empty() ? 0 : *std::max_element(alone_.begin(), alone_.end());
  most = std::max({most, (work + count - 1) / count, crowded()});
  for (double rate : {1.0 / 4, 1.0 / 16, 1.0 / 64, 1.0 / 256, 1.0 / 1024}) most = std::max(most, mostly_on_main(rate));
  return problem_.cost_of(most);
}

/// By the pigeonhole principle: among k n + 1 nodes on n memories, some memory has k + 1.
int64_t BoundOfAll::crowded() const {
  std::vector<int64_t> shares(least_.begin(), least_.end());
  std::sort(shares.rbegin(), shares.rend());
  std::vector<int64_t> sums = {0};  // of the first ones
  for (int64_t share : shares) sums.push_back(sums.back() + share);
  const size_t count = memories().size();
  int64_t most = 0;
  for (size_t k = 1; count > 0 && k * count < shares.size(); ++k) {
    const size_t end = k * count + 1;
    most = std::max(most, sums[end] - sums[end - k - 1]);
  }
  return most;
}

/// All work over the memories of most instances, where the others do no more than `rate` of it in the same time: what
/// they could do faster does not count.
int64_t BoundOfAll::mostly_on_main(double rate) const {
  std::map<std::string, std::set<std::string>> backends;  // by memory
  for (const Owner& owner : problem_.owners) {
    if (owner.members.empty()) backends[owner.instance].insert(owner.backend);
  }
  std::map<std::set<std::string>, size_t> counts;
  for (const auto& [memory, names] : backends) ++counts[names];
  const auto main =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (main == counts.end()) return 0;
  Table<NodeId, int64_t> shares = least_;
  for (const Candidate& candidate : problem_.candidates) {
    const auto memory = backends.find(problem_.owners[candidate.owner].instance);
    if (memory == backends.end() || memory->second == main->first) continue;
    double sum = 0;
    for (NodeId node : candidate.nodes) sum += static_cast<double>(shares[node]);
    if (sum <= rate * static_cast<double>(least_cost(problem_, candidate))) continue;
    for (NodeId node : candidate.nodes) shares[node] = 0;
  }
  const auto on_main = static_cast<double>(main->second);
  const double elsewhere = static_cast<double>(backends.size()) - on_main;
  const auto work = static_cast<double>(std::accumulate(shares.begin(), shares.end(), int64_t{0}));
  return static_cast<int64_t>(work / (on_main + rate * elsewhere) * kRoundedDown);
}

Cost BoundOfAll::makespan() const {
  Table<NodeId, int64_t> before(problem_.node_count);  // the longest path to a node
  Table<NodeId, std::vector<NodeId>> readers(problem_.node_count);
  for (const ProblemValue& value : problem_.values) {
    if (!value.writer.is_valid()) continue;
    readers[value.writer].insert(readers[value.writer].end(), value.readers.begin(), value.readers.end());
  }
  int64_t longest = 0;
  for (NodeId node : problem_.nodes()) {
    const int64_t end = before[node] + least_[node];
    longest = std::max(longest, end);
    for (NodeId reader : readers[node]) before[reader] = std::max(before[reader], end);
  }
  return problem_.cost_of(longest);
}

std::vector<std::string> BoundOfAll::memories() const {
  std::set<std::string> names;
  for (const Owner& owner : problem_.owners) {
    if (owner.members.empty()) names.insert(owner.instance);
  }
  return {names.begin(), names.end()};
}

int64_t BoundOfAll::least_memories() const {
  std::map<std::string, int64_t> limit_of;
  for (const MemoryLimit& limit : limits_) limit_of[limit.instance] = static_cast<int64_t>(limit.bytes);
  std::vector<int64_t> rooms;
  for (const std::string& memory : memories()) {
    const auto at = limit_of.find(memory);
    if (at == limit_of.end()) return 1;
    rooms.push_back(at->second);
  }
  std::sort(rooms.rbegin(), rooms.rend());
  int64_t missing = std::accumulate(problem_.constant_bytes.begin(), problem_.constant_bytes.end(), int64_t{0});
  int64_t count = 0;
  for (int64_t room : rooms) {
    if (missing <= 0) break;
    missing -= room;
    ++count;
  }
  return std::max<int64_t>(1, count);
}

/// The time of copying the smallest value over the fastest links.
int64_t BoundOfAll::least_copy() const {
  size_t bytes = std::numeric_limits<size_t>::max();
  for (ProblemValueId v : problem_.values.ids()) {
    const ProblemValue& value = problem_.values[v];
    if (value.readers.empty()) continue;
    bytes = std::min({bytes, graph_.value(values_[v]).type.bytes(), static_cast<size_t>(value.bytes)});
  }
  // In another storage a value may be smaller: an eighth of the largest element.
  bytes /= sizeof(double);
  const std::optional<Duration> least = links_.least_copy(bytes);
  return least ? least->ps() : 0;
}

/// The number of connected components of the graph whose nodes are joined by values, model inputs among them.
int64_t BoundOfAll::components() const {
  Table<NodeId, NodeId> root;
  for (NodeId node : problem_.nodes()) root.push_back(node);
  const auto find = [&](NodeId node) {
    while (root[node] != node) node = root[node] = root[root[node]];
    return node;
  };
  for (const ProblemValue& value : problem_.values) {
    NodeId first = value.writer;
    for (NodeId reader : value.readers) {
      if (first.is_valid()) root[find(reader)] = find(first);
      first = reader;
    }
  }
  int64_t count = 0;
  for (NodeId node : problem_.nodes()) count += root[node] == node ? 1 : 0;
  return count;
}

}  // namespace collage::place
