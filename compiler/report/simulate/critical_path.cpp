// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/simulate/critical_path.h"

#include <algorithm>
#include <optional>

namespace collage::report {
namespace {

using runtime::Plan;
using runtime::Slot;
using runtime::Task;

const std::string& space_of(const Plan& plan, runtime::BufferId id) {
  return plan.spaces[static_cast<size_t>(plan.buffers[static_cast<size_t>(id)].space)].name;
}

PathStep describe(const Plan& plan, const runtime::Step& step) {
  PathStep result;
  if (const auto* convert = std::get_if<runtime::ConvertStep>(&step)) {
    const std::string &from = space_of(plan, convert->from), &to = space_of(plan, convert->to);
    result.kind = from == to ? PathKind::Reorder : PathKind::Copy;
    result.what = "%" + plan.buffers[static_cast<size_t>(convert->from)].name;
    result.on = from == to ? from : from + " to " + to;
    return result;
  }
  if (const int partition = partition_of(step); partition >= 0) {
    result.what = "@" + plan.partitions[static_cast<size_t>(partition)].name;
    result.on = plan.partitions[static_cast<size_t>(partition)].instance;
  }
  return result;
}

class PathFinder {
 public:
  PathFinder(const Plan& plan, const std::vector<Task>& tasks, const std::vector<Slot>& slots)
      : plan_(plan), tasks_(tasks), slots_(slots) {}

  CriticalPath run() {
    CriticalPath path;
    if (slots_.empty()) return path;
    const auto last = std::max_element(slots_.begin(), slots_.end(),
                                       [](const Slot& a, const Slot& b) { return a.finish < b.finish; });
    std::optional<size_t> step = static_cast<size_t>(last - slots_.begin());
    bool is_queued = false;
    while (step) {
      PathStep one = describe(plan_, plan_.steps[*step]);
      one.length = slots_[*step].finish - slots_[*step].start;
      if (is_queued) one.kind = PathKind::Queued;
      if (one.length > Duration()) path.steps.push_back(std::move(one));
      step = before(*step, &is_queued);
    }
    std::reverse(path.steps.begin(), path.steps.end());
    return path;
  }

 private:
  /// The step whose end lets this one start; one whose result it needs where there are several.
  std::optional<size_t> before(size_t step, bool* is_queued) const {
    *is_queued = false;
    const Duration start = slots_[step].start;
    if (start == Duration()) return std::nullopt;
    for (int other : tasks_[step].after) {
      if (slots_[static_cast<size_t>(other)].finish == start) return static_cast<size_t>(other);
    }
    for (size_t other = step; other-- > 0;) {
      if (slots_[other].finish != start || (plan_.is_concurrent && !share(step, other))) continue;
      *is_queued = plan_.is_concurrent;
      return other;
    }
    return std::nullopt;
  }

  bool share(size_t a, size_t b) const {
    const std::vector<int>& held = tasks_[b].resources;
    return std::any_of(tasks_[a].resources.begin(), tasks_[a].resources.end(),
                       [&](int resource) { return std::find(held.begin(), held.end(), resource) != held.end(); });
  }

  const Plan& plan_;
  const std::vector<Task>& tasks_;
  const std::vector<Slot>& slots_;
};

}  // namespace

const char* name_of(PathKind kind) {
  switch (kind) {
    case PathKind::Compute: return "compute";
    case PathKind::Copy: return "copy";
    case PathKind::Reorder: return "reorder";
    case PathKind::Queued: return "queue";
  }
  return "";
}

Duration CriticalPath::of(PathKind kind) const {
  Duration sum;
  for (const PathStep& step : steps) {
    if (step.kind == kind) sum += step.length;
  }
  return sum;
}

CriticalPath critical_path(const Plan& plan, const std::vector<Task>& tasks, const runtime::Timeline& timeline) {
  return PathFinder(plan, tasks, timeline.slots()).run();
}

}  // namespace collage::report
