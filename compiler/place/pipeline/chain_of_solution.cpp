// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/pipeline/chain_of_solution.h"

#include <algorithm>
#include <queue>
#include <set>

namespace collage::place {

Table<StepId, ChosenId> steps_of(const Problem& problem, const std::vector<CandidateId>& chosen) {
  Table<NodeId, ChosenId> part_of(problem.node_count);
  for (size_t p = 0; p < chosen.size(); ++p) {
    for (NodeId node : problem.candidates[chosen[p]].nodes) part_of[node] = ChosenId(p);
  }
  Table<ChosenId, std::set<ChosenId>> next(chosen.size());
  Table<ChosenId, size_t> waits(chosen.size());
  for (const ProblemValue& value : problem.values) {
    if (!value.writer.is_valid()) continue;
    const ChosenId from = part_of[value.writer];
    for (NodeId reader : value.readers) {
      if (part_of[reader] != from && next[from].insert(part_of[reader]).second) ++waits[part_of[reader]];
    }
  }
  using Ready = std::pair<NodeId, ChosenId>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  const auto first_node = [&](ChosenId p) { return problem.candidates[chosen[p.slot()]].nodes.front(); };
  for (ChosenId p : waits.ids()) {
    if (waits[p] == 0) ready.emplace(first_node(p), p);
  }
  Table<StepId, ChosenId> order;
  while (!ready.empty()) {
    const ChosenId p = ready.top().second;
    ready.pop();
    order.push_back(p);
    for (ChosenId reader : next[p]) {
      if (--waits[reader] == 0) ready.emplace(first_node(reader), reader);
    }
  }
  return order;
}

Chain chain_of_solution(const Problem& problem, const std::vector<CandidateId>& chosen,
                        const Table<StepId, ChosenId>& order, const std::function<bool(CandidateId)>& counts,
                        const ChainTimes& times) {
  Chain chain;
  chain.constant_bytes = problem.constant_bytes.items();
  Table<NodeId, StepId> step_of(problem.node_count);
  for (StepId step : order.ids()) {
    const CandidateId c = chosen[order[step].slot()];
    const Candidate& candidate = problem.candidates[c];
    for (NodeId node : candidate.nodes) step_of[node] = step;
    ChainStep made;
    if (counts(c)) {
      made.work = candidate.cost.count();
      for (ConstantId constant : candidate.constants) made.constants.push_back(constant.index);
    }
    chain.steps.push_back(std::move(made));
  }
  for (ProblemValueId v : problem.values.ids()) {
    const ProblemValue& value = problem.values[v];
    ChainValue made;
    if (value.writer.is_valid()) made.writer = step_of[value.writer];
    for (NodeId reader : value.readers) {
      if (step_of[reader] != made.writer) made.readers.push_back(step_of[reader]);
    }
    std::sort(made.readers.begin(), made.readers.end());
    made.readers.erase(std::unique(made.readers.begin(), made.readers.end()), made.readers.end());
    if (!made.writer.is_valid() && made.readers.empty()) continue;
    made.bytes = value.bytes;
    made.copy = times.copy(v);
    made.is_kept = value.is_output && made.writer.is_valid();
    made.copy_home = made.is_kept ? times.copy_home(v) : 0;
    chain.values.push_back(std::move(made));
  }
  return chain;
}

}  // namespace collage::place
