// SPDX-License-Identifier: Apache-2.0
// check_execution of check_certificate.h. Memory is added up along the execution as problem.h describes it: for each instance
// every value is alive over an interval of steps, so one sweep over the steps finds the peak.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>

#include "compiler/certificate/check_certificate.h"

namespace collage::check_plan {
namespace {

using runtime::Status;

class Execution {
 public:
  explicit Execution(const CertificateFile& file)
      : file_(file), problem_(file.problem), partition_of_(static_cast<size_t>(problem_.node_count), -1) {}

  Status run() {
    if (Status status = check_cover(); !status) return status;
    if (Status status = find_steps(); !status) return status;
    if (Status status = check_counts(); !status) return status;
    return check_memory();
  }

 private:
  const place::Candidate& chosen(size_t partition) const {
    return problem_.candidates[static_cast<size_t>(file_.solution.chosen[partition])];
  }
  const place::Owner& owner(size_t partition) const {
    return problem_.owners[static_cast<size_t>(chosen(partition).owner)];
  }
  size_t count() const { return file_.solution.chosen.size(); }
  size_t partition_of(int node) const { return static_cast<size_t>(partition_of_[static_cast<size_t>(node)]); }

  Status check_cover() {
    for (size_t p = 0; p < count(); ++p) {
      if (chosen(p).cost >= place::Duration::max()) {
        return Status::error(candidate_text(file_, file_.solution.chosen[p]) + " is in the plan and has no cost");
      }
      for (int node : chosen(p).nodes) {
        int& partition = partition_of_[static_cast<size_t>(node)];
        if (partition >= 0) return Status::error(node_text(file_, node) + " is covered twice");
        partition = static_cast<int>(p);
      }
    }
    const auto missed = std::find(partition_of_.begin(), partition_of_.end(), -1);
    if (missed == partition_of_.end()) return Status::ok();
    return Status::error(node_text(file_, static_cast<int>(missed - partition_of_.begin())) + " is not covered");
  }

  /// Partitions in execution order: of those that are ready the one with the smallest node.
  Status find_steps() {
    std::vector<std::vector<size_t>> after(count());
    std::vector<size_t> waits(count(), 0);
    for (const place::ProblemValue& value : problem_.values) {
      if (value.writer < 0) continue;
      const size_t from = partition_of(value.writer);
      for (int reader : value.readers) {
        const size_t to = partition_of(reader);
        if (to == from) continue;
        after[from].push_back(to);
        ++waits[to];
      }
    }
    using Ready = std::pair<int, size_t>;
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    for (size_t p = 0; p < count(); ++p) {
      if (waits[p] == 0) ready.emplace(chosen(p).nodes.front(), p);
    }
    step_of_.assign(count(), 0);
    while (!ready.empty()) {
      const size_t p = ready.top().second;
      ready.pop();
      step_of_[p] = static_cast<int>(steps_.size());
      steps_.push_back(p);
      for (size_t next : after[p]) {
        if (--waits[next] == 0) ready.emplace(chosen(next).nodes.front(), next);
      }
    }
    if (steps_.size() == count()) return Status::ok();
    const size_t stuck =
        static_cast<size_t>(std::find_if(waits.begin(), waits.end(), [](size_t w) { return w > 0; }) - waits.begin());
    return Status::error(fmt::format("the partitions form a cycle: {} can never run",
                                     candidate_text(file_, file_.solution.chosen[stuck])));
  }

  Status check_counts() const {
    std::map<std::string, int> partitions;
    std::set<int> used;
    for (size_t p = 0; p < count(); ++p) {
      used.insert(chosen(p).owner);
      if (owner(p).max_partitions) ++partitions[owner(p).backend];
    }
    for (int o : used) {
      const place::Owner& held = problem_.owners[static_cast<size_t>(o)];
      if (held.max_partitions && partitions[held.backend] > *held.max_partitions) {
        return Status::error(fmt::format("{} partitions on `{}`, at most {} are allowed", partitions[held.backend],
                                         held.backend, *held.max_partitions));
      }
      for (int other : held.conflicts) {
        if (!used.contains(other)) continue;
        return Status::error(fmt::format("`{}` and `{}` may not be in one plan", held.backend,
                                         problem_.owners[static_cast<size_t>(other)].backend));
      }
    }
    return Status::ok();
  }

  Status check_memory() const {
    std::map<std::string, int64_t> limits;
    for (const place::Owner& held : problem_.owners) {
      if (!held.memory) continue;
      const auto [it, is_new] = limits.emplace(held.instance, *held.memory);
      it->second = std::min(it->second, *held.memory);
    }
    for (const auto& [instance, limit] : limits) {
      const auto [peak, step] = peak_of(instance);
      if (peak <= limit) continue;
      return Status::error(fmt::format("`{}` has {} bytes of memory, and {} needs more", instance, limit,
                                       candidate_text(file_, file_.solution.chosen[steps_[step]])));
    }
    return Status::ok();
  }

  /// The most that the instance holds, and in which step.
  std::pair<Wide, size_t> peak_of(const std::string& instance) const {
    const auto runs_there = [&](size_t partition) { return owner(partition).instance == instance; };
    std::vector<Wide> change(count() + 1, 0);
    const auto hold = [&](int64_t bytes, int first, int last) {
      change[static_cast<size_t>(first)] += bytes;
      change[static_cast<size_t>(last) + 1] -= bytes;
    };
    for (const place::ProblemValue& value : problem_.values) {
      int first_there = -1, last_there = -1, last = -1;
      bool leaves = value.is_output;
      for (int reader : value.readers) {
        const size_t partition = partition_of(reader);
        const int step = step_of_[partition];
        last = std::max(last, step);
        leaves = leaves || value.writer < 0 || partition != partition_of(value.writer);
        if (!runs_there(partition)) continue;
        first_there = first_there < 0 ? step : std::min(first_there, step);
        last_there = std::max(last_there, step);
      }
      if (value.writer >= 0 && runs_there(partition_of(value.writer))) {
        const int made = step_of_[partition_of(value.writer)];
        hold(value.bytes, made, value.is_output ? static_cast<int>(count()) - 1 : leaves ? last : made);
      } else if (first_there >= 0) {
        hold(value.bytes, first_there, last_there);
      }
    }
    std::set<int> constants;
    for (size_t p = 0; p < count(); ++p) {
      if (runs_there(p)) constants.insert(chosen(p).constants.begin(), chosen(p).constants.end());
    }
    Wide held = 0, peak = 0;
    size_t peak_step = 0;
    for (int constant : constants) held += problem_.constant_bytes[static_cast<size_t>(constant)];
    for (size_t step = 0; step < count(); ++step) {
      held += change[step];
      if (held <= peak) continue;
      peak = held;
      peak_step = step;
    }
    return {peak, peak_step};
  }

  const CertificateFile& file_;
  const place::Problem& problem_;
  std::vector<int> partition_of_;  // by node
  std::vector<size_t> steps_;      // partitions in execution order
  std::vector<int> step_of_;       // by partition
};

}  // namespace

Status check_execution(const CertificateFile& file) {
  return Execution(file).run();
}

}  // namespace collage::check_plan
