// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/schedule/flat_scheduler.h"

#include <algorithm>
#include <functional>

#include "compiler/place/problem/steiner.h"

namespace collage::place {
namespace {

constexpr int kFromOutside = -1;
constexpr int kNowhere = -2;

}  // namespace

FlatScheduler::FlatScheduler(const Problem& problem, const SolutionScheduler& scheduler)
    : problem_(problem),
      scheduler_(scheduler),
      tasks_(scheduler.resources().size()),
      trees_(problem.values.size()),
      states_(problem.values.size()),
      part_of_(problem.node_count) {}

const FlatScheduler::Tree& FlatScheduler::tree_of(ProblemValueId value, const State& state) {
  std::vector<Tree>& known = trees_[value];
  for (const Tree& tree : known) {
    if (tree.written == state.written && tree.wanted == state.wanted) return tree;
  }
  Arborescence found = cheapest_arborescence(problem_.values[value].conversions, state.written, state.wanted);
  known.push_back({state.written, state.wanted, found.reachable(), std::move(found.edges)});
  return known.back();
}

void FlatScheduler::gather(const std::vector<CandidateId>& chosen) {
  for (State& state : states_) {
    state.written = problem_.host_plain;
    state.wanted.clear();
    state.tree = nullptr;
    state.made.clear();
  }
  waits_.assign(chosen.size(), 0);
  links_.clear();
  Part part = 0;
  for (CandidateId c : chosen) {
    const Candidate& candidate = problem_.candidates[c];
    for (NodeId node : candidate.nodes) part_of_[node] = part;
    for (const ValueFormat& write : candidate.writes) states_[write.value].written = write.format;
    part = advance(part, 1);
  }
  part = 0;
  for (CandidateId c : chosen) {
    for (const ValueFormat& read : problem_.candidates[c].reads) {
      states_[read.value].wanted.push_back(read.format);
      const NodeId writer = problem_.values[read.value].writer;
      if (!writer.is_valid()) continue;
      links_.emplace_back(part_of_[writer], part);
      ++waits_[part];
    }
    part = advance(part, 1);
  }
  link_begin_.assign(chosen.size() + 2, 0);
  for (const auto& [from, to] : links_) ++link_begin_[advance(from, 2)];
  for (size_t p = 2; p < link_begin_.size(); ++p) link_begin_[Part(p)] += link_begin_[Part(p - 1)];
  next_.resize(links_.size());
  for (const auto& [from, to] : links_) next_[static_cast<size_t>(link_begin_[advance(from, 1)]++)] = to;
}

bool FlatScheduler::find_trees() {
  for (ProblemValueId v : problem_.values.ids()) {
    State& state = states_[v];
    const ProblemValue& value = problem_.values[v];
    if (!value.writer.is_valid()) state.made.push_back({problem_.host_plain, kFromOutside});
    if (value.is_output) state.wanted.push_back(problem_.host_plain);
    if (state.wanted.empty()) continue;
    std::erase(state.wanted, state.written);
    if (state.wanted.empty()) continue;
    std::sort(state.wanted.begin(), state.wanted.end());
    state.wanted.erase(std::unique(state.wanted.begin(), state.wanted.end()), state.wanted.end());
    state.tree = &tree_of(v, state);
    if (!state.tree->is_reachable) return false;
  }
  return true;
}

int FlatScheduler::provide(ProblemValueId value, FormatId format) {
  State& state = states_[value];
  for (const Made& made : state.made) {
    if (made.format == format) return made.task;
  }
  if (state.tree == nullptr) return kNowhere;
  for (const ConversionEdge& edge : state.tree->edges) {
    if (edge.to != format) continue;
    const int source = provide(value, edge.from);
    if (source == kNowhere) return kNowhere;
    tasks_.begin_task(edge.cost.time(), scheduler_.work_of(edge.from, format));
    if (source != kFromOutside) tasks_.wait_for(source);
    state.made.push_back({format, static_cast<int>(tasks_.size()) - 1});
    return state.made.back().task;
  }
  return kNowhere;
}

bool FlatScheduler::emit(const Candidate& candidate) {
  after_.clear();
  for (const ValueFormat& read : candidate.reads) {
    const int task = provide(read.value, read.format);
    if (task == kNowhere) return false;
    if (task != kFromOutside) after_.push_back(task);
  }
  tasks_.begin_task(candidate.cost.time(), scheduler_.work_of(candidate));
  for (int task : after_) tasks_.wait_for(task);
  const int own = static_cast<int>(tasks_.size()) - 1;
  for (const ValueFormat& write : candidate.writes) states_[write.value].made.push_back({write.format, own});
  return true;
}

FlatTasks* FlatScheduler::tasks(const std::vector<CandidateId>& chosen) {
  for (CandidateId c : chosen) {
    if (problem_.candidates[c].cost >= Cost::max()) return nullptr;
  }
  gather(chosen);
  if (!find_trees()) return nullptr;
  tasks_.clear();
  ready_.clear();
  const auto add_ready = [&](Part part) {
    ready_.emplace_back(problem_.candidates[chosen[part.slot()]].nodes.front(), part);
    std::push_heap(ready_.begin(), ready_.end(), std::greater<>());
  };
  for (Part part : waits_.ids()) {
    if (waits_[part] == 0) add_ready(part);
  }
  size_t done = 0;
  for (; !ready_.empty(); ++done) {
    std::pop_heap(ready_.begin(), ready_.end(), std::greater<>());
    const Part part = ready_.back().second;
    ready_.pop_back();
    if (!emit(problem_.candidates[chosen[part.slot()]])) return nullptr;
    for (int i = link_begin_[part]; i < link_begin_[advance(part, 1)]; ++i) {
      const Part reader = next_[static_cast<size_t>(i)];
      if (--waits_[reader] == 0) add_ready(reader);
    }
  }
  if (done != chosen.size()) return nullptr;
  for (ProblemValueId v : problem_.values.ids()) {
    if (problem_.values[v].is_output && provide(v, problem_.host_plain) == kNowhere) return nullptr;
  }
  return &tasks_;
}

}  // namespace collage::place
