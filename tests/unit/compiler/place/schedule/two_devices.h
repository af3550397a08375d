// SPDX-License-Identifier: Apache-2.0
// A sketch with a device beside the host, and what to compare its searches with: all covers.
#pragma once

#include <functional>
#include <optional>
#include <random>

#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/schedule/work_schedule.h"
#include "tests/unit/compiler/place/problem_sketch.h"

namespace collage::place {

inline Duration picoseconds(int64_t count) {
  return Duration::picoseconds(count);
}

/// Copies to the device take 4 and back 5, over one link and through the device's one queue.
struct WithDevice : Sketch {
  WithDevice(size_t node_count, const std::vector<Edge>& edges) : Sketch(node_count, edges) {
    npu = add_owner("npu", "npu[0]");
    device = add_format("npu[0]");
    convert(0, device, 4);
    convert(device, 0, 5);
  }

  static runtime::Machine machine() {
    runtime::Machine machine;
    machine.add_device("npu[0]", false);
    machine.add_link("npu[0]", "host", false);
    return machine;
  }

  OwnerId npu;
  FormatId device;
};

/// Edges by chance, each node on the host and perhaps on the device, and a few pairs of nodes.
inline WithDevice random_sketch(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t bound) { return random() % bound; };
  const size_t count = 2 + below(4);
  std::vector<Sketch::Edge> edges;
  for (size_t to = 1; to < count; ++to) {
    for (size_t from = 0; from < to; ++from) {
      if (below(2) == 0) edges.push_back({NodeId(from), NodeId(to)});
    }
  }
  WithDevice sketch(count, edges);
  for (NodeId node : sketch.problem.nodes()) {
    sketch.add({node}, static_cast<int>(1 + below(20)));
    if (below(4) != 0) sketch.add({node}, static_cast<int>(below(10)), sketch.npu, sketch.device);
  }
  for (size_t first = 0; first + 1 < count; ++first) {
    if (below(2) == 0) sketch.add({NodeId(first), NodeId(first + 1)}, 5, sketch.npu, sketch.device);
  }
  return sketch;
}

/// Each solution of the problem once.
inline void for_each_solution(const Problem& problem, const std::function<void(const Solution&)>& visit) {
  Table<NodeId, bool> is_covered(problem.node_count, false);
  Solution solution;
  const std::function<void()> cover = [&] {
    const NodeId node(std::find(is_covered.begin(), is_covered.end(), false) - is_covered.begin());
    if (node == is_covered.next_id()) {
      if (std::holds_alternative<Cost>(evaluate(problem, solution))) visit(solution);
      return;
    }
    for (CandidateId c : problem.candidates.ids()) {
      const std::vector<NodeId>& nodes = problem.candidates[c].nodes;
      if (nodes.front() != node) continue;
      if (std::any_of(nodes.begin(), nodes.end(), [&](NodeId n) { return is_covered[n]; })) continue;
      for (NodeId n : nodes) is_covered[n] = true;
      solution.chosen.push_back(c);
      cover();
      solution.chosen.pop_back();
      for (NodeId n : nodes) is_covered[n] = false;
    }
  };
  cover();
}

}  // namespace collage::place
