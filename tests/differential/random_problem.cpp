// SPDX-License-Identifier: Apache-2.0
// See random_problem.h.
#include "tests/differential/random_problem.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace collage::place {
namespace {

constexpr OwnerId kHost = 0;

Cost units(int64_t count) {
  return Cost::of(count, Cost::Unit::Seconds);
}

void add_formats(RandomSource& random, Problem& problem) {
  problem.formats.push_back({"host", "plain"});
  if (random.chance(80)) problem.formats.push_back({"npu[0]", "plain"});
  if (random.chance(60)) problem.formats.push_back({"npu[0]", "NHWC"});
  if (random.chance(40)) problem.formats.push_back({"host", "NHWC"});
  if (random.chance(20)) problem.formats.push_back({"npu[1]", "plain"});
}

void add_owners(RandomSource& random, Problem& problem) {
  problem.owners = {
      {"host", "host", {}, {}}, {"npu", "npu[0]", {}, {}}, {"npu", "npu[1]", {}, {}}, {"lib", "host", {}, {}}};
  if (random.chance(30)) {
    const int limit = random.below(3);
    problem.owners[1].max_partitions = limit;
    problem.owners[2].max_partitions = limit;
  }
  if (random.chance(15)) problem.owners[3].max_partitions = 1 + random.below(2);
  if (random.chance(20)) problem.owners[random.pick(IdRange<OwnerId>(1, 3))].conflicts = {3};
}

void add_graph(RandomSource& random, Problem& problem, size_t node_count) {
  problem.node_count = node_count;
  problem.values.resize(1 + random.below(2u));
  const int reach = 2 + random.below(6);
  for (NodeId node : problem.nodes()) {
    const ProblemValueId made = problem.values.next_id();
    for (int i = random.below(3); i >= 0; --i) {
      const ProblemValueId v = std::max(ProblemValueId(0), advance(made, -1 - random.below(reach)));
      std::vector<NodeId>& readers = problem.values[v].readers;
      if (readers.empty() || readers.back() != node) readers.push_back(node);
    }
    for (int i = random.chance(15) ? 2 : 1; i > 0; --i) {
      problem.values.push_back({});
      problem.values.back().writer = node;
    }
  }
  for (ProblemValue& value : problem.values)
    value.is_output = value.writer.is_valid() && random.chance(value.readers.empty() ? 90 : 10);
}

void add_conversions(RandomSource& random, Problem& problem) {
  const int scale = 1 + random.below(12);
  const int missing = random.below(60);
  for (FormatId from : problem.formats.ids()) {
    for (FormatId to : problem.formats.ids()) {
      if (from == to || random.chance(missing)) continue;
      const int base = random.below(scale + 1);
      for (ProblemValue& value : problem.values) {
        const Cost cost = random.chance(2) ? Cost::max() : units(base + random.below(3));
        value.conversions.push_back({from, to, cost});
      }
    }
  }
}

void add_candidate(RandomSource& random, Problem& problem, std::set<NodeId> nodes, OwnerId owner, int cost_per_node) {
  Candidate candidate;
  candidate.nodes.assign(nodes.begin(), nodes.end());
  candidate.owner = owner;
  candidate.cost = random.chance(1) ? Cost::max() : units(random.below(cost_per_node * std::ssize(nodes) + 1));
  candidate.rule = std::string("r") + std::to_string(random.below(4));
  const auto format = [&] { return owner == kHost ? problem.host_plain : random.pick(problem.formats.ids()); };
  const FormatId usual = format();
  for (ProblemValueId v : problem.values.ids()) {
    const ProblemValue& value = problem.values[v];
    const auto inside = [&](NodeId node) { return nodes.contains(node); };
    const bool read = std::any_of(value.readers.begin(), value.readers.end(), inside);
    if (!value.writer.is_valid() || !inside(value.writer)) {
      if (!read) continue;
      candidate.reads.push_back({v, random.chance(70) ? usual : format()});
      // Two parts of a candidate may want one value in two formats.
      const FormatId second = format();
      if (random.chance(3) && second != candidate.reads.back().format) {
        candidate.reads.push_back({v, second});
      }
    } else if (value.is_output || !std::all_of(value.readers.begin(), value.readers.end(), inside)) {
      candidate.writes.push_back({v, random.chance(70) ? usual : format()});
    }
  }
  problem.candidates.push_back(std::move(candidate));
}

std::set<NodeId> random_nodes(RandomSource& random, const Problem& problem, size_t size) {
  std::set<NodeId> nodes = {random.pick(problem.nodes())};
  for (int attempts = 0; attempts < 20 && nodes.size() < size; ++attempts) {
    if (random.chance(15)) {
      nodes.insert(random.pick(problem.nodes()));
      continue;
    }
    const ProblemValue& value = random.pick(problem.values);
    std::vector<NodeId> near = value.readers;
    if (value.writer.is_valid()) near.push_back(value.writer);
    if (std::none_of(near.begin(), near.end(), [&](NodeId node) { return nodes.contains(node); })) continue;
    nodes.insert(random.pick(near));
  }
  return nodes;
}

}  // namespace

Problem random_problem(RandomSource& random, size_t node_count, bool keep_host) {
  Problem problem;
  add_formats(random, problem);
  add_owners(random, problem);
  add_graph(random, problem, node_count);
  add_conversions(random, problem);
  const int host_cost = 4 + random.below(16);
  const int other_cost = 2 + random.below(12);
  for (NodeId node : problem.nodes()) {
    if (!keep_host && random.chance(40)) continue;
    add_candidate(random, problem, {node}, kHost, host_cost);
    problem.candidates.back().cost = units(random.below(host_cost + 1));
  }
  const size_t extra = random.below(4 * node_count);
  const size_t largest = 2 + random.below(4u);
  for (size_t i = 0; i < extra; ++i) {
    const std::set<NodeId> nodes = random_nodes(random, problem, 1 + random.below(largest));
    add_candidate(random, problem, nodes, random.pick(problem.owners.ids()), other_cost);
  }
  for (size_t i = problem.candidates.size(); i > 1; --i) {
    std::swap(problem.candidates[CandidateId(i - 1)], problem.candidates[CandidateId(random.below(i))]);
  }
  return problem;
}

void add_memory(RandomSource& random, Problem& problem) {
  for (ProblemValue& value : problem.values) {
    if (value.bytes == 0) value.bytes = random.below(9);
  }
  const size_t constants = 1 + random.below(problem.node_count + 1);
  for (size_t k = 0; k < constants; ++k) problem.constant_bytes.push_back(random.below(20));
  Table<NodeId, std::set<ConstantId>> of_node(problem.node_count);
  for (std::set<ConstantId>& own : of_node) {
    for (int i = random.below(3); i > 0; --i) own.insert(ConstantId(random.below(constants)));
  }
  for (Candidate& candidate : problem.candidates) {
    std::set<ConstantId> held;
    for (NodeId node : candidate.nodes) held.insert(of_node[node].begin(), of_node[node].end());
    candidate.constants.assign(held.begin(), held.end());
    // Half of the candidates keep what does not leave them.
    if (random.chance(50)) continue;
    const auto inside = [&](NodeId node) {
      return std::binary_search(candidate.nodes.begin(), candidate.nodes.end(), node);
    };
    for (ProblemValueId v : problem.values.ids()) {
      const ProblemValue& value = problem.values[v];
      const bool leaves = value.is_output || !std::all_of(value.readers.begin(), value.readers.end(), inside);
      if (value.writer.is_valid() && inside(value.writer) && !leaves) candidate.kept.push_back(v);
    }
  }
  for (Owner& owner : problem.owners) {
    if (owner.instance != "host" && random.chance(70)) owner.memory = random.below(6 * problem.node_count + 6);
  }
}

Problem device_problem(RandomSource& random, size_t node_count) {
  Problem problem;
  problem.owners = {
      {"host", "host", {}, {}}, {"npu", "npu[0]", {}, {}}, {"npu", "npu[1]", {}, {}}, {"dsp", "dsp", {}, {}}};
  if (random.chance(30)) problem.owners[1].max_partitions = problem.owners[2].max_partitions = 1 + random.below(3);
  if (random.chance(20)) problem.owners[3].conflicts = {1, 2};
  add_graph(random, problem, node_count);
  for (ProblemValue& value : problem.values) value.bytes = 1 + random.below(12);

  Table<OwnerId, std::vector<FormatId>> formats_of(problem.owners.size());
  for (OwnerId o : problem.owners.ids()) {
    for (const char* layout : {"plain", "NHWC"}) {
      if (!formats_of[o].empty() && random.chance(50)) continue;
      formats_of[o].push_back(problem.formats.add({problem.owners[o].instance, layout}));
    }
  }
  const auto add_link = [&](FormatId from, FormatId to, int start, int per_byte) {
    for (ProblemValue& value : problem.values) {
      value.conversions.push_back({from, to, units(start + per_byte * value.bytes / 4)});
    }
  };
  for (OwnerId a : problem.owners.ids()) {
    for (FormatId from : formats_of[a]) {
      for (FormatId to : formats_of[a]) {
        if (from != to) add_link(from, to, 0, 1 + random.below(2));
      }
    }
    for (OwnerId b : problem.owners.ids()) {
      const bool is_peer = a != kHost && b != kHost;
      if (a == b || (is_peer && random.chance(60))) continue;
      add_link(formats_of[a].front(), formats_of[b].front(), is_peer ? 1 : 2 + random.below(3), 1 + random.below(3));
    }
  }
  for (NodeId node : problem.nodes()) add_candidate(random, problem, {node}, kHost, 20);
  for (Candidate& candidate : problem.candidates) candidate.cost = units(4 + random.below(16));
  for (size_t i = random.below(5 * node_count); i > 0; --i) {
    const OwnerId owner = random.pick(IdRange<OwnerId>(1, 4));
    add_candidate(random, problem, random_nodes(random, problem, 1 + random.below(5u)), owner, 9);
    const std::vector<FormatId>& own = formats_of[owner];
    for (std::vector<ValueFormat>* list : {&problem.candidates.back().reads, &problem.candidates.back().writes}) {
      for (ValueFormat& item : *list) item.format = random.pick(own);
    }
    std::vector<ValueFormat>& reads = problem.candidates.back().reads;
    reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
  }
  return problem;
}

Problem problem_with_memory(RandomSource& random, uint64_t seed, size_t node_count) {
  Problem problem = seed % 2 == 0 ? device_problem(random, node_count) : random_problem(random, node_count);
  add_memory(random, problem);
  return problem;
}

Solution random_cover(const Problem& problem, RandomSource& random) {
  Solution solution;
  Table<NodeId, bool> covered(problem.node_count, false);
  for (NodeId node : problem.nodes()) {
    if (covered[node]) continue;
    std::vector<CandidateId> fitting;
    for (CandidateId c : problem.candidates.ids()) {
      const std::vector<NodeId>& nodes = problem.candidates[c].nodes;
      const bool fits = nodes.front() == node &&
                        std::none_of(nodes.begin(), nodes.end(), [&](NodeId other) { return covered[other]; });
      if (fits) fitting.push_back(c);
    }
    if (fitting.empty()) return {};
    solution.chosen.push_back(random.pick(fitting));
    for (NodeId other : problem.candidates[solution.chosen.back()].nodes) covered[other] = true;
  }
  return solution;
}

Problem crossing_problem(RandomSource& random, size_t copies) {
  Problem problem;
  problem.formats = {{"host", "plain"}};
  problem.owners = {{"host", "host", {}, {}}};
  problem.node_count = 5 * copies;
  for (size_t copy = 0; copy < copies; ++copy) {
    const NodeId at(5 * copy);
    const int order = random.below(2);
    const NodeId p0 = advance(at, order);
    const NodeId p = advance(at, 1 - order);
    const NodeId r = advance(at, 2);
    const NodeId q = advance(at, 3);
    const NodeId s = advance(at, 4);
    const NodeId before = copy > 0 && random.chance(50) ? advance(at, -1) : NodeId();
    problem.values.push_back({before, {std::min(p0, p), std::max(p0, p), r}, false, {}});
    problem.values.push_back({p0, {q}, false, {}});
    problem.values.push_back({p, {q, s}, false, {}});
    problem.values.push_back({r, {q, s}, false, {}});
    problem.values.push_back({q, {}, true, {}});
    problem.values.push_back({s, {}, true, {}});
  }
  for (NodeId node : problem.nodes()) {
    add_candidate(random, problem, {node}, kHost, 1);
    problem.candidates.back().cost = units(5 + random.below(10));
  }
  for (size_t copy = 0; copy < copies; ++copy) {
    const NodeId at(5 * copy);
    for (int a = 0; a < 5; ++a) {
      for (int b = a + 1; b < 5; ++b) {
        if (random.chance(30)) continue;
        add_candidate(random, problem, {advance(at, a), advance(at, b)}, kHost, 1);
        problem.candidates.back().cost = units(random.below(16));
      }
    }
  }
  if (copies > 1) {
    for (int i = 0; i < 4; ++i) {
      add_candidate(random, problem, random_nodes(random, problem, 2 + random.below(2u)), kHost, 4);
    }
  }
  return problem;
}

Problem ring_problem(RandomSource& random, size_t length) {
  Problem problem;
  problem.formats = {{"host", "plain"}};
  problem.owners = {{"host", "host", {}, {}}};
  problem.node_count = 2 * length;
  // Pair i: source i and sink sinks[i]; source i feeds the sink of pair i+1.
  const IdRange<NodeId> sources = support::first_ids<NodeId>(length);
  std::vector<NodeId> sinks;
  for (NodeId source : sources) sinks.push_back(NodeId(source.slot() + length));
  for (size_t i = length; i > 1; --i) std::swap(sinks[i - 1], sinks[random.below(i)]);
  problem.values.push_back({{}, {}, false, {}});
  for (NodeId source : sources) {
    problem.values.front().readers.push_back(source);
    problem.values.push_back({source, {sinks[(source.slot() + 1) % length]}, false, {}});
    problem.values.push_back({NodeId(source.slot() + length), {}, true, {}});
  }
  for (NodeId node : problem.nodes()) {
    add_candidate(random, problem, {node}, kHost, 1);
    problem.candidates.back().cost = units(5 + random.below(10));
  }
  for (NodeId source : sources) {
    add_candidate(random, problem, {source, sinks[source.slot()]}, kHost, 1);
    problem.candidates.back().cost = units(random.below(16));
  }
  return problem;
}

Problem joining_problem(RandomSource& random, size_t node_count) {
  Problem problem = random.chance(20)   ? crossing_problem(random, 1 + random.below(2u))
                    : random.chance(15) ? ring_problem(random, 3 + random.below(2u))
                                        : random_problem(random, node_count, random.chance(90));
  if (problem.owners.size() == 1) {
    problem.owners.push_back({"npu", "npu[0]", {}, {}});
    problem.owners.push_back({"lib", "host", {}, {}});
    for (Candidate& candidate : problem.candidates) candidate.owner = random.pick(problem.owners.ids());
  }
  for (OwnerId o : IdRange<OwnerId>(1, problem.owners.next_id())) {
    if (random.chance(25)) continue;
    problem.owners[o].joins = units(random.below(7));
    problem.owners[o].max_partitions.reset();
    // Enough units, in few formats, for regions of some size.
    const FormatId usual = random.pick(problem.formats.ids());
    const int stays = random.chance(40) ? 100 : 85;
    for (NodeId node : problem.nodes()) {
      if (random.chance(25)) continue;
      std::set<NodeId> nodes = {node};
      if (random.chance(12)) nodes = random_nodes(random, problem, 2 + random.below(2u));
      add_candidate(random, problem, nodes, o, 6);
      Candidate& added = problem.candidates.back();
      for (auto* list : {&added.reads, &added.writes}) {
        for (ValueFormat& item : *list) {
          if (random.chance(stays)) item.format = usual;
        }
      }
      const auto same_value = [](const ValueFormat& a, const ValueFormat& b) { return a.value == b.value; };
      added.reads.erase(std::unique(added.reads.begin(), added.reads.end(), same_value), added.reads.end());
    }
  }
  for (Candidate& candidate : problem.candidates) {
    const Owner& owner = problem.owners[candidate.owner];
    candidate.may_join = owner.joins && random.chance(95);
    if (candidate.may_join && candidate.cost < Cost::max()) candidate.cost += *owner.joins;
  }
  return problem;
}

}  // namespace collage::place
