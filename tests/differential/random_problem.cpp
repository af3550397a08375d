// SPDX-License-Identifier: Apache-2.0
// See random_problem.h.
#include "tests/differential/random_problem.h"

#include <algorithm>
#include <set>

namespace collage::place {
namespace {

Duration units(int count) {
  return Duration::picoseconds(count);
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
  if (random.chance(20)) problem.owners[1 + static_cast<size_t>(random.below(2))].conflicts = {3};
}

void add_graph(RandomSource& random, Problem& problem, int node_count) {
  problem.node_count = node_count;
  problem.values.resize(1 + static_cast<size_t>(random.below(2)));
  const int reach = 2 + random.below(6);
  for (int node = 0; node < node_count; ++node) {
    const int made = static_cast<int>(problem.values.size());
    for (int i = random.below(3); i >= 0; --i) {
      const int v = std::max(0, made - 1 - random.below(reach));
      std::vector<int>& readers = problem.values[static_cast<size_t>(v)].readers;
      if (readers.empty() || readers.back() != node) readers.push_back(node);
    }
    for (int i = random.chance(15) ? 2 : 1; i > 0; --i) {
      problem.values.emplace_back();
      problem.values.back().writer = node;
    }
  }
  for (ProblemValue& value : problem.values)
    value.is_output = value.writer >= 0 && random.chance(value.readers.empty() ? 90 : 10);
}

void add_conversions(RandomSource& random, Problem& problem) {
  const int scale = 1 + random.below(12);
  const int missing = random.below(60);
  for (size_t from = 0; from < problem.formats.size(); ++from) {
    for (size_t to = 0; to < problem.formats.size(); ++to) {
      if (from == to || random.chance(missing)) continue;
      const int base = random.below(scale + 1);
      for (ProblemValue& value : problem.values) {
        const Duration cost = random.chance(2) ? Duration::max() : units(base + random.below(3));
        value.conversions.push_back({static_cast<FormatId>(from), static_cast<FormatId>(to), cost});
      }
    }
  }
}

void add_candidate(RandomSource& random, Problem& problem, std::set<int> nodes, int owner, int cost_per_node) {
  Candidate candidate;
  candidate.nodes.assign(nodes.begin(), nodes.end());
  candidate.owner = owner;
  candidate.cost =
      random.chance(1) ? Duration::max() : units(random.below(cost_per_node * static_cast<int>(nodes.size()) + 1));
  candidate.rule = std::string("r") + std::to_string(random.below(4));
  const auto format = [&] { return owner == 0 ? 0 : random.below(static_cast<int>(problem.formats.size())); };
  const FormatId usual = format();
  for (size_t v = 0; v < problem.values.size(); ++v) {
    const ProblemValue& value = problem.values[v];
    const auto inside = [&](int node) { return nodes.contains(node); };
    const bool read = std::any_of(value.readers.begin(), value.readers.end(), inside);
    if (value.writer < 0 || !inside(value.writer)) {
      if (!read) continue;
      candidate.reads.push_back({static_cast<int>(v), random.chance(70) ? usual : format()});
      // Two parts of a candidate may want one value in two formats.
      const FormatId second = format();
      if (random.chance(3) && second != candidate.reads.back().format) {
        candidate.reads.push_back({static_cast<int>(v), second});
      }
    } else if (value.is_output || !std::all_of(value.readers.begin(), value.readers.end(), inside)) {
      candidate.writes.push_back({static_cast<int>(v), random.chance(70) ? usual : format()});
    }
  }
  problem.candidates.push_back(std::move(candidate));
}

std::set<int> random_nodes(RandomSource& random, const Problem& problem, int size) {
  std::set<int> nodes = {random.below(problem.node_count)};
  for (int attempts = 0; attempts < 20 && static_cast<int>(nodes.size()) < size; ++attempts) {
    if (random.chance(15)) {
      nodes.insert(random.below(problem.node_count));
      continue;
    }
    const ProblemValue& value =
        problem.values[static_cast<size_t>(random.below(static_cast<int>(problem.values.size())))];
    std::vector<int> near = value.readers;
    if (value.writer >= 0) near.push_back(value.writer);
    if (std::none_of(near.begin(), near.end(), [&](int node) { return nodes.contains(node); })) continue;
    nodes.insert(near[static_cast<size_t>(random.below(static_cast<int>(near.size())))]);
  }
  return nodes;
}

}  // namespace

Problem random_problem(RandomSource& random, int node_count, bool keep_host) {
  Problem problem;
  add_formats(random, problem);
  add_owners(random, problem);
  add_graph(random, problem, node_count);
  add_conversions(random, problem);
  const int host_cost = 4 + random.below(16);
  const int other_cost = 2 + random.below(12);
  for (int node = 0; node < node_count; ++node) {
    if (!keep_host && random.chance(40)) continue;
    add_candidate(random, problem, {node}, 0, host_cost);
    problem.candidates.back().cost = units(random.below(host_cost + 1));
  }
  const int extra = random.below(4 * node_count);
  const int largest = 2 + random.below(4);
  for (int i = 0; i < extra; ++i) {
    const std::set<int> nodes = random_nodes(random, problem, 1 + random.below(largest));
    add_candidate(random, problem, nodes, random.below(4), other_cost);
  }
  for (size_t i = problem.candidates.size(); i > 1; --i) {
    std::swap(problem.candidates[i - 1], problem.candidates[static_cast<size_t>(random.below(static_cast<int>(i)))]);
  }
  return problem;
}

void add_memory(RandomSource& random, Problem& problem) {
  for (ProblemValue& value : problem.values) {
    if (value.bytes == 0) value.bytes = random.below(9);
  }
  const int constants = 1 + random.below(problem.node_count + 1);
  for (int k = 0; k < constants; ++k) problem.constant_bytes.push_back(random.below(20));
  std::vector<std::set<int>> of_node(static_cast<size_t>(problem.node_count));
  for (std::set<int>& own : of_node) {
    for (int i = random.below(3); i > 0; --i) own.insert(random.below(constants));
  }
  for (Candidate& candidate : problem.candidates) {
    std::set<int> held;
    for (int node : candidate.nodes) {
      const std::set<int>& own = of_node[static_cast<size_t>(node)];
      held.insert(own.begin(), own.end());
    }
    candidate.constants.assign(held.begin(), held.end());
  }
  for (Owner& owner : problem.owners) {
    if (owner.instance != "host" && random.chance(70)) owner.memory = random.below(6 * problem.node_count + 6);
  }
}

Problem device_problem(RandomSource& random, int node_count) {
  Problem problem;
  problem.owners = {
      {"host", "host", {}, {}}, {"npu", "npu[0]", {}, {}}, {"npu", "npu[1]", {}, {}}, {"dsp", "dsp", {}, {}}};
  if (random.chance(30)) problem.owners[1].max_partitions = problem.owners[2].max_partitions = 1 + random.below(3);
  if (random.chance(20)) problem.owners[3].conflicts = {1, 2};
  add_graph(random, problem, node_count);
  for (ProblemValue& value : problem.values) value.bytes = 1 + random.below(12);

  std::vector<std::vector<FormatId>> formats_of(problem.owners.size());
  for (size_t o = 0; o < problem.owners.size(); ++o) {
    for (const char* layout : {"plain", "NHWC"}) {
      if (!formats_of[o].empty() && random.chance(50)) continue;
      formats_of[o].push_back(static_cast<FormatId>(problem.formats.size()));
      problem.formats.push_back({problem.owners[o].instance, layout});
    }
  }
  const auto add_link = [&](FormatId from, FormatId to, int start, int per_byte) {
    for (ProblemValue& value : problem.values) {
      value.conversions.push_back({from, to, units(start + per_byte * static_cast<int>(value.bytes) / 4)});
    }
  };
  for (size_t a = 0; a < problem.owners.size(); ++a) {
    for (FormatId from : formats_of[a]) {
      for (FormatId to : formats_of[a]) {
        if (from != to) add_link(from, to, 0, 1 + random.below(2));
      }
    }
    for (size_t b = 0; b < problem.owners.size(); ++b) {
      const bool is_peer = a != 0 && b != 0;
      if (a == b || (is_peer && random.chance(60))) continue;
      add_link(formats_of[a].front(), formats_of[b].front(), is_peer ? 1 : 2 + random.below(3), 1 + random.below(3));
    }
  }
  for (int node = 0; node < node_count; ++node) add_candidate(random, problem, {node}, 0, 20);
  for (Candidate& candidate : problem.candidates) candidate.cost = units(4 + random.below(16));
  for (int i = random.below(5 * node_count); i > 0; --i) {
    const int owner = 1 + random.below(3);
    add_candidate(random, problem, random_nodes(random, problem, 1 + random.below(5)), owner, 9);
    const std::vector<FormatId>& own = formats_of[static_cast<size_t>(owner)];
    for (std::vector<ValueFormat>* list : {&problem.candidates.back().reads, &problem.candidates.back().writes}) {
      for (ValueFormat& item : *list) {
        item.format = own[static_cast<size_t>(random.below(static_cast<int>(own.size())))];
      }
    }
    std::vector<ValueFormat>& reads = problem.candidates.back().reads;
    const auto same = [](const ValueFormat& x, const ValueFormat& y) {
      return x.value == y.value && x.format == y.format;
    };
    reads.erase(std::unique(reads.begin(), reads.end(), same), reads.end());
  }
  return problem;
}

Problem crossing_problem(RandomSource& random, int copies) {
  Problem problem;
  problem.formats = {{"host", "plain"}};
  problem.owners = {{"host", "host", {}, {}}};
  problem.node_count = 5 * copies;
  for (int copy = 0; copy < copies; ++copy) {
    const int at = 5 * copy;
    const int order = random.below(2);
    const int p0 = at + order;
    const int p = at + 1 - order;
    const int r = at + 2;
    const int q = at + 3;
    const int s = at + 4;
    const int before = copy > 0 && random.chance(50) ? at - 1 : -1;
    problem.values.push_back({before, {std::min(p0, p), std::max(p0, p), r}, false, {}});
    problem.values.push_back({p0, {q}, false, {}});
    problem.values.push_back({p, {q, s}, false, {}});
    problem.values.push_back({r, {q, s}, false, {}});
    problem.values.push_back({q, {}, true, {}});
    problem.values.push_back({s, {}, true, {}});
  }
  for (int node = 0; node < problem.node_count; ++node) {
    add_candidate(random, problem, {node}, 0, 1);
    problem.candidates.back().cost = units(5 + random.below(10));
  }
  for (int copy = 0; copy < copies; ++copy) {
    for (int a = 0; a < 5; ++a) {
      for (int b = a + 1; b < 5; ++b) {
        if (random.chance(30)) continue;
        add_candidate(random, problem, {5 * copy + a, 5 * copy + b}, 0, 1);
        problem.candidates.back().cost = units(random.below(16));
      }
    }
  }
  if (copies > 1) {
    for (int i = 0; i < 4; ++i) {
      add_candidate(random, problem, random_nodes(random, problem, 2 + random.below(2)), 0, 4);
    }
  }
  return problem;
}

Problem ring_problem(RandomSource& random, int length) {
  Problem problem;
  problem.formats = {{"host", "plain"}};
  problem.owners = {{"host", "host", {}, {}}};
  problem.node_count = 2 * length;
  // Pair i: source node i and sink node length + at[i]; source i feeds the sink of pair i+1.
  std::vector<int> at(static_cast<size_t>(length));
  for (int i = 0; i < length; ++i) at[static_cast<size_t>(i)] = i;
  for (int i = length; i > 1; --i) std::swap(at[static_cast<size_t>(i - 1)], at[static_cast<size_t>(random.below(i))]);
  problem.values.push_back({-1, {}, false, {}});
  for (int i = 0; i < length; ++i) {
    problem.values[0].readers.push_back(i);
    problem.values.push_back({i, {length + at[static_cast<size_t>((i + 1) % length)]}, false, {}});
    problem.values.push_back({length + i, {}, true, {}});
  }
  for (int node = 0; node < problem.node_count; ++node) {
    add_candidate(random, problem, {node}, 0, 1);
    problem.candidates.back().cost = units(5 + random.below(10));
  }
  for (int i = 0; i < length; ++i) {
    add_candidate(random, problem, {i, length + at[static_cast<size_t>(i)]}, 0, 1);
    problem.candidates.back().cost = units(random.below(16));
  }
  return problem;
}

Problem joining_problem(RandomSource& random, int node_count) {
  Problem problem = random.chance(20)   ? crossing_problem(random, 1 + random.below(2))
                    : random.chance(15) ? ring_problem(random, 3 + random.below(2))
                                        : random_problem(random, node_count, random.chance(90));
  if (problem.owners.size() == 1) {
    problem.owners.push_back({"npu", "npu[0]", {}, {}});
    problem.owners.push_back({"lib", "host", {}, {}});
    for (Candidate& candidate : problem.candidates) candidate.owner = random.below(3);
  }
  for (size_t o = 1; o < problem.owners.size(); ++o) {
    if (random.chance(25)) continue;
    problem.owners[o].joins = units(random.below(7));
    problem.owners[o].max_partitions.reset();
    // Enough units, in few formats, for regions of some size.
    const FormatId usual = random.below(static_cast<int>(problem.formats.size()));
    const int stays = random.chance(40) ? 100 : 85;
    for (int node = 0; node < problem.node_count; ++node) {
      if (random.chance(25)) continue;
      std::set<int> nodes = {node};
      if (random.chance(12)) nodes = random_nodes(random, problem, 2 + random.below(2));
      add_candidate(random, problem, nodes, static_cast<int>(o), 6);
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
    const Owner& owner = problem.owners[static_cast<size_t>(candidate.owner)];
    candidate.may_join = owner.joins && random.chance(95);
    if (candidate.may_join && candidate.cost < Duration::max()) candidate.cost += *owner.joins;
  }
  return problem;
}

}  // namespace collage::place
