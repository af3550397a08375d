// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/schedule/work_schedule.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "compiler/place/formats/format_graph.h"
#include "compiler/place/problem/steiner.h"
#include "runtime/support/check.h"

namespace collage::place {
namespace {

using runtime::Task;

/// A candidate by its place among the chosen ones.
using ScheduledPart = Id<struct ScheduledPartTag>;

/// Partitions in the order of execution, with what they read and write.
struct Part {
  Duration cost;
  const std::vector<int>* resources = nullptr;
  std::vector<ValueFormat> reads;
  std::vector<ValueFormat> writes;
};

/// Puts conversions between parts, each before the first part that needs it.
class Emitter {
 public:
  using Resources = std::function<std::vector<int>(FormatId from, FormatId to)>;
  using Conversions = Table<ProblemValueId, std::vector<ConversionEdge>>;
  Emitter(const Conversions& conversions, FormatId host_plain, Resources resources)
      : conversions_(conversions), host_plain_(host_plain), resources_(std::move(resources)) {}

  bool emit(const Part& part) {
    std::vector<int> after;
    for (const ValueFormat& read : part.reads) {
      if (!provide(read.value, read.format, &after)) return false;
    }
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    const TaskId task = tasks_.add({part.cost, *part.resources, std::move(after)});
    for (const ValueFormat& write : part.writes) maker_[write] = task;
    return true;
  }
  void has_input(ProblemValueId value) { maker_[{value, host_plain_}] = {}; }
  bool output(ProblemValueId value) {
    std::vector<int> after;
    return provide(value, host_plain_, &after);
  }
  std::vector<Task> take() { return std::move(tasks_.items()); }

 private:
  bool provide(ProblemValueId value, FormatId format, std::vector<int>* after) {
    auto known = maker_.find({value, format});
    if (known == maker_.end()) {
      const auto& edges = conversions_[value];
      const auto edge = std::find_if(edges.begin(), edges.end(), [&](const auto& e) { return e.to == format; });
      if (edge == edges.end()) return false;
      std::vector<int> source;
      if (!provide(value, edge->from, &source)) return false;
      const TaskId task = tasks_.add({edge->cost.time(), resources_(edge->from, format), std::move(source)});
      known = maker_.emplace(ValueFormat{value, format}, task).first;
    }
    if (known->second.is_valid()) after->push_back(known->second.index);
    return true;
  }

  const Conversions& conversions_;
  FormatId host_plain_;
  Resources resources_;
  std::map<ValueFormat, TaskId> maker_;  ///< of a value in a format; none: a model input
  Table<TaskId, Task> tasks_;
};

/// Resources of the instance; for several, those of each, from the first copy to the join.
std::vector<int> work_on(runtime::Machine& machine, const std::string& instance) {
  std::vector<int> resources;
  for (const std::string& one : ir::instances_of(instance)) {
    const std::vector<int> own = machine.of_work(one);
    resources.insert(resources.end(), own.begin(), own.end());
  }
  std::sort(resources.begin(), resources.end());
  return resources;
}

}  // namespace

SolutionScheduler::SolutionScheduler(const Problem& problem, runtime::Machine machine)
    : problem_(problem), machine_(std::move(machine)) {
  for (const Owner& owner : problem.owners) of_owner_.push_back(work_on(machine_, owner.instance));
  for (const ir::Format& from : problem.formats) {
    Table<FormatId, std::vector<int>> row;
    for (const ir::Format& to : problem.formats) row.push_back(machine_.of_conversion(from.space, to.space));
    of_conversion_.push_back(std::move(row));
  }
}

const std::vector<ConversionEdge>& SolutionScheduler::tree(ProblemValueId value, FormatId written,
                                                           std::vector<FormatId> wanted, bool* reachable) {
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  auto [it, is_new] = trees_.try_emplace({value, written, wanted});
  if (is_new) {
    Arborescence found = cheapest_arborescence(problem_.values[value].conversions, written, wanted);
    it->second = {found.reachable(), std::move(found.edges)};
  }
  *reachable = it->second.first;
  return it->second.second;
}

std::optional<std::vector<Task>> SolutionScheduler::tasks(const std::vector<CandidateId>& chosen) {
  const IdRange<ScheduledPart> parts = support::first_ids<ScheduledPart>(chosen.size());
  const auto candidate = [&](ScheduledPart p) -> const Candidate& { return problem_.candidates[chosen[p.slot()]]; };
  Table<NodeId, ScheduledPart> part_of(problem_.node_count);
  for (ScheduledPart p : parts) {
    if (candidate(p).cost >= Cost::max()) return std::nullopt;
    for (NodeId node : candidate(p).nodes) part_of[node] = p;
  }
  Table<ProblemValueId, FormatId> written(problem_.values.size(), problem_.host_plain);
  Table<ProblemValueId, std::vector<FormatId>> wanted(problem_.values.size());
  Table<ScheduledPart, std::vector<ScheduledPart>> next(chosen.size());
  Table<ScheduledPart, size_t> waits(chosen.size());
  for (ScheduledPart p : parts) {
    for (const ValueFormat& write : candidate(p).writes) written[write.value] = write.format;
    for (const ValueFormat& read : candidate(p).reads) {
      wanted[read.value].push_back(read.format);
      const NodeId writer = problem_.values[read.value].writer;
      if (!writer.is_valid()) continue;
      next[part_of[writer]].push_back(p);
      ++waits[p];
    }
  }
  Emitter::Conversions conversions(problem_.values.size());
  for (ProblemValueId v : problem_.values.ids()) {
    if (problem_.values[v].is_output) wanted[v].push_back(problem_.host_plain);
    std::erase(wanted[v], written[v]);
    if (wanted[v].empty()) continue;
    bool reachable = false;
    conversions[v] = tree(v, written[v], wanted[v], &reachable);
    if (!reachable) return std::nullopt;
  }
  Emitter emitter(conversions, problem_.host_plain, [&](FormatId from, FormatId to) { return work_of(from, to); });
  for (ProblemValueId v : problem_.values.ids()) {
    if (!problem_.values[v].writer.is_valid()) emitter.has_input(v);
  }
  using Ready = std::pair<NodeId, ScheduledPart>;  // by the first node
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (ScheduledPart p : parts) {
    if (waits[p] == 0) ready.emplace(candidate(p).nodes.front(), p);
  }
  size_t done = 0;
  for (; !ready.empty(); ++done) {
    const ScheduledPart p = ready.top().second;
    ready.pop();
    const Candidate& c = candidate(p);
    if (!emitter.emit({c.cost.time(), &work_of(c), c.reads, c.writes})) return std::nullopt;
    for (ScheduledPart reader : next[p]) {
      if (--waits[reader] == 0) ready.emplace(candidate(reader).nodes.front(), reader);
    }
  }
  if (done != chosen.size()) return std::nullopt;
  for (ProblemValueId v : problem_.values.ids()) {
    if (problem_.values[v].is_output && !emitter.output(v)) return std::nullopt;
  }
  return emitter.take();
}

std::vector<Task> tasks_of(const ir::Graph& graph, const ir::Placement& placement, runtime::Machine machine) {
  Table<FormatId, ir::Format> formats;
  const FormatId host_plain = intern_format(ir::kHostPlain, &formats);
  // Here every value of the graph is one of the problem.
  const auto named = [](ir::ValueId value) { return ProblemValueId(value.slot()); };
  const auto boundary = [&](const std::vector<ir::BoundaryValue>& list) {
    std::vector<ValueFormat> result;
    for (const ir::BoundaryValue& entry : list) {
      result.push_back({named(entry.value), intern_format(entry.format, &formats)});
    }
    return result;
  };
  Emitter::Conversions conversions(graph.value_count());
  for (const ir::Conversion& conversion : placement.conversions) {
    conversions[named(conversion.value)].push_back({intern_format(conversion.from, &formats),
                                                    intern_format(conversion.to, &formats),
                                                    Cost::time(conversion.cost)});
  }
  Emitter emitter(conversions, host_plain, [&](FormatId from, FormatId to) {
    return machine.of_conversion(formats[from].space, formats[to].space);
  });
  for (ir::ValueId input : graph.inputs()) emitter.has_input(named(input));
  for (size_t p : ir::execution_order(graph, placement)) {
    const ir::Partition& partition = placement.partitions[p];
    const std::vector<int> resources = work_on(machine, partition.instance);
    const bool good =
        emitter.emit({partition.cost, &resources, boundary(partition.inputs), boundary(partition.outputs)});
    COLLAGE_CHECK(good, "partition {} reads what nothing makes", partition.name);
  }
  for (ir::ValueId output : graph.outputs()) {
    if (!graph.value(output).is_constant()) emitter.output(named(output));
  }
  return emitter.take();
}

}  // namespace collage::place
