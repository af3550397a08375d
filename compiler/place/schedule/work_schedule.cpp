// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/schedule/work_schedule.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>

#include "compiler/place/formats/format_graph.h"
#include "compiler/place/problem/steiner.h"
#include "compiler/support/check.h"

namespace collage::place {
namespace {

using runtime::Task;

/// Partitions in the order of execution, with what they read and write.
struct Part {
  int id = 0;  ///< candidate, or index of the partition
  Duration cost;
  const std::vector<int>* resources = nullptr;
  std::vector<ValueFormat> reads;
  std::vector<ValueFormat> writes;
};

/// Puts conversions between parts, each before the first part that needs it.
class Emitter {
 public:
  using Resources = std::function<std::vector<int>(FormatId from, FormatId to)>;
  Emitter(const std::vector<std::vector<ConversionEdge>>& conversions, FormatId host_plain, Resources resources)
      : conversions_(conversions), host_plain_(host_plain), resources_(std::move(resources)) {}

  bool emit(const Part& part) {
    std::vector<int> after;
    for (const ValueFormat& read : part.reads) {
      if (!provide(read.value, read.format, &after)) return false;
    }
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    add({part.cost, *part.resources, std::move(after)}, part.id);
    for (const ValueFormat& write : part.writes) maker_[{write.value, write.format}] = last();
    return true;
  }
  void has_input(int value) { maker_[{value, host_plain_}] = -1; }
  bool output(int value) {
    std::vector<int> after;
    return provide(value, host_plain_, &after);
  }
  SolutionScheduler::Tasks take() { return std::move(made_); }

 private:
  int last() const { return static_cast<int>(made_.tasks.size()) - 1; }
  void add(Task task, int id) {
    made_.tasks.push_back(std::move(task));
    made_.candidate_of.push_back(id);
  }

  bool provide(int value, FormatId format, std::vector<int>* after) {
    auto known = maker_.find({value, format});
    if (known == maker_.end()) {
      const auto& edges = conversions_[static_cast<size_t>(value)];
      const auto edge = std::find_if(edges.begin(), edges.end(), [&](const auto& e) { return e.to == format; });
      if (edge == edges.end()) return false;
      std::vector<int> source;
      if (!provide(value, edge->from, &source)) return false;
      add({edge->cost, resources_(edge->from, format), std::move(source)}, -1);
      known = maker_.emplace(std::pair(value, format), last()).first;
    }
    if (known->second >= 0) after->push_back(known->second);
    return true;
  }

  const std::vector<std::vector<ConversionEdge>>& conversions_;
  FormatId host_plain_;
  Resources resources_;
  std::map<std::pair<int, FormatId>, int> maker_;  ///< task that makes a value in a format; -1: a model input
  SolutionScheduler::Tasks made_;
};

/// Of several instances: each of them, from the first copy to the join.
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
    auto& row = of_conversion_.emplace_back();
    for (const ir::Format& to : problem.formats) row.push_back(machine_.of_conversion(from.space, to.space));
  }
}

const std::vector<ConversionEdge>& SolutionScheduler::tree(int value, FormatId written, std::vector<FormatId> wanted,
                                                           bool* reachable) {
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  auto [it, is_new] = trees_.try_emplace({value, written, wanted});
  if (is_new) {
    Arborescence found =
        cheapest_arborescence(problem_.values[static_cast<size_t>(value)].conversions, written, wanted);
    it->second = {found.reachable(), std::move(found.edges)};
  }
  *reachable = it->second.first;
  return it->second.second;
}

std::optional<SolutionScheduler::Tasks> SolutionScheduler::tasks(const std::vector<int>& chosen) {
  const auto candidate = [&](int p) -> const Candidate& {
    return problem_.candidates[static_cast<size_t>(chosen[static_cast<size_t>(p)])];
  };
  const int count = static_cast<int>(chosen.size());
  std::vector<int> part_of(static_cast<size_t>(problem_.node_count), -1);
  for (int p = 0; p < count; ++p) {
    if (candidate(p).cost >= Duration::max()) return std::nullopt;
    for (int node : candidate(p).nodes) part_of[static_cast<size_t>(node)] = p;
  }
  std::vector<FormatId> written(problem_.values.size(), problem_.host_plain);
  std::vector<std::vector<FormatId>> wanted(problem_.values.size());
  std::vector<std::vector<int>> next(chosen.size());
  std::vector<int> waits(chosen.size());
  for (int p = 0; p < count; ++p) {
    for (const ValueFormat& write : candidate(p).writes) written[static_cast<size_t>(write.value)] = write.format;
    for (const ValueFormat& read : candidate(p).reads) {
      wanted[static_cast<size_t>(read.value)].push_back(read.format);
      const int writer = problem_.values[static_cast<size_t>(read.value)].writer;
      if (writer < 0) continue;
      next[static_cast<size_t>(part_of[static_cast<size_t>(writer)])].push_back(p);
      ++waits[static_cast<size_t>(p)];
    }
  }
  std::vector<std::vector<ConversionEdge>> conversions(problem_.values.size());
  for (size_t v = 0; v < problem_.values.size(); ++v) {
    if (problem_.values[v].is_output) wanted[v].push_back(problem_.host_plain);
    std::erase(wanted[v], written[v]);
    if (wanted[v].empty()) continue;
    bool reachable = false;
    conversions[v] = tree(static_cast<int>(v), written[v], wanted[v], &reachable);
    if (!reachable) return std::nullopt;
  }
  Emitter emitter(conversions, problem_.host_plain, [&](FormatId from, FormatId to) { return work_of(from, to); });
  for (size_t v = 0; v < problem_.values.size(); ++v) {
    if (problem_.values[v].writer < 0) emitter.has_input(static_cast<int>(v));
  }
  using Ready = std::pair<int, int>;  // first node, part
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (int p = 0; p < count; ++p) {
    if (waits[static_cast<size_t>(p)] == 0) ready.emplace(candidate(p).nodes.front(), p);
  }
  int done = 0;
  for (; !ready.empty(); ++done) {
    const int p = ready.top().second;
    ready.pop();
    const Candidate& c = candidate(p);
    if (!emitter.emit({chosen[static_cast<size_t>(p)], c.cost, &work_of(c), c.reads, c.writes})) return std::nullopt;
    for (int reader : next[static_cast<size_t>(p)]) {
      if (--waits[static_cast<size_t>(reader)] == 0) ready.emplace(candidate(reader).nodes.front(), reader);
    }
  }
  if (done != count) return std::nullopt;
  for (size_t v = 0; v < problem_.values.size(); ++v) {
    if (problem_.values[v].is_output && !emitter.output(static_cast<int>(v))) return std::nullopt;
  }
  return emitter.take();
}

std::vector<Task> tasks_of(const ir::Graph& graph, const ir::Placement& placement, runtime::Machine machine) {
  std::vector<ir::Format> formats;
  const FormatId host_plain = intern_format(ir::kHostPlain, &formats);
  const auto boundary = [&](const std::vector<ir::BoundaryValue>& list) {
    std::vector<ValueFormat> result;
    for (const ir::BoundaryValue& entry : list) {
      result.push_back({entry.value.index, intern_format(entry.format, &formats)});
    }
    return result;
  };
  std::vector<std::vector<ConversionEdge>> conversions(graph.value_count());
  for (const ir::Conversion& conversion : placement.conversions) {
    conversions[conversion.value.slot()].push_back(
        {intern_format(conversion.from, &formats), intern_format(conversion.to, &formats), conversion.cost});
  }
  Emitter emitter(conversions, host_plain, [&](FormatId from, FormatId to) {
    return machine.of_conversion(formats[static_cast<size_t>(from)].space, formats[static_cast<size_t>(to)].space);
  });
  for (ir::ValueId input : graph.inputs()) emitter.has_input(input.index);
  for (size_t p : ir::execution_order(graph, placement)) {
    const ir::Partition& partition = placement.partitions[p];
    const std::vector<int> resources = work_on(machine, partition.instance);
    const bool good = emitter.emit(
        {static_cast<int>(p), partition.cost, &resources, boundary(partition.inputs), boundary(partition.outputs)});
    COLLAGE_CHECK(good, "partition {} reads what nothing makes", partition.name);
  }
  for (ir::ValueId output : graph.outputs()) {
    if (!graph.value(output).is_constant()) emitter.output(output.index);
  }
  return emitter.take().tasks;
}

}  // namespace collage::place
