// SPDX-License-Identifier: Apache-2.0
// check_execution of check_certificate.h. Memory is added up along the execution as problem.h describes it: for each
// instance every value is alive over an interval of moments, one for each node, so one sweep over them finds the peak.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>

#include "compiler/certificate/check_certificate.h"

namespace collage::certificate {
namespace {

using runtime::Status;
using support::Table;

/// A chosen candidate, by its place in the plan.
using PartId = support::Id<struct ExecutedPartTag>;
/// In the order of execution, and a node in that order.
using Step = support::Id<struct ExecutionStepTag>;
using Moment = support::Id<struct ExecutionMomentTag>;

class Execution {
 public:
  Execution(const CertificateFile& file, const std::vector<place::CandidateId>& chosen)
      : file_(file), problem_(file.problem), chosen_(chosen), part_of_(problem_.node_count) {}

  Status run() {
    if (Status status = check_cover(); !status) return status;
    if (Status status = find_steps(); !status) return status;
    if (Status status = check_counts(); !status) return status;
    return check_memory();
  }

 private:
  const place::Candidate& chosen(PartId part) const { return problem_.candidates[chosen_[part]]; }
  const place::Owner& owner(PartId part) const { return problem_.owners[chosen(part).owner]; }

  Status check_cover() {
    for (PartId p : chosen_.ids()) {
      if (chosen(p).cost >= place::Cost::max()) {
        return Status::error(candidate_text(file_, chosen_[p]) + " is in the plan and has no cost");
      }
      for (place::NodeId node : chosen(p).nodes) {
        if (part_of_[node].is_valid()) return Status::error(node_text(file_, node) + " is covered twice");
        part_of_[node] = p;
      }
    }
    for (place::NodeId node : part_of_.ids()) {
      if (!part_of_[node].is_valid()) return Status::error(node_text(file_, node) + " is not covered");
    }
    return Status::ok();
  }

  /// Partitions in execution order: of those that are ready the one with the smallest node.
  Status find_steps() {
    Table<PartId, std::vector<PartId>> after(chosen_.size());
    Table<PartId, size_t> waits(chosen_.size());
    for (const place::ProblemValue& value : problem_.values) {
      if (!value.writer.is_valid()) continue;
      const PartId from = part_of_[value.writer];
      for (place::NodeId reader : value.readers) {
        const PartId to = part_of_[reader];
        if (to == from) continue;
        after[from].push_back(to);
        ++waits[to];
      }
    }
    using Ready = std::pair<place::NodeId, PartId>;
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    for (PartId p : chosen_.ids()) {
      if (waits[p] == 0) ready.emplace(chosen(p).nodes.front(), p);
    }
    step_of_.resize(chosen_.size());
    while (!ready.empty()) {
      const PartId p = ready.top().second;
      ready.pop();
      step_of_[p] = steps_.add(p);
      for (PartId next : after[p]) {
        if (--waits[next] == 0) ready.emplace(chosen(next).nodes.front(), next);
      }
    }
    for (PartId p : chosen_.ids()) {
      if (waits[p] == 0) continue;
      return Status::error(
          fmt::format("the partitions form a cycle: {} can never run", candidate_text(file_, chosen_[p])));
    }
    return Status::ok();
  }

  Status check_counts() const {
    std::map<std::string, int> partitions;
    std::set<place::OwnerId> used;
    for (PartId p : chosen_.ids()) {
      used.insert(chosen(p).owner);
      if (owner(p).max_partitions) ++partitions[owner(p).backend];
    }
    for (place::OwnerId o : used) {
      const place::Owner& held = problem_.owners[o];
      if (held.max_partitions && partitions[held.backend] > *held.max_partitions) {
        return Status::error(fmt::format("{} partitions on `{}`, at most {} are allowed", partitions[held.backend],
                                         held.backend, *held.max_partitions));
      }
      for (place::OwnerId other : held.conflicts) {
        if (!used.contains(other)) continue;
        return Status::error(
            fmt::format("`{}` and `{}` may not be in one plan", held.backend, problem_.owners[other].backend));
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
      const auto [peak, at] = peak_of(instance);
      if (peak <= limit) continue;
      return Status::error(fmt::format("`{}` has {} bytes of memory, and {} needs more", instance, limit,
                                       candidate_text(file_, chosen_[at])));
    }
    return Status::ok();
  }

  /// The most that the instance holds, and while what runs.
  std::pair<Wide, PartId> peak_of(const std::string& instance) const {
    const auto runs_there = [&](PartId part) { return owner(part).instance == instance; };
    Table<place::NodeId, Moment> moment_of(problem_.node_count);
    Table<Moment, PartId> running;
    Table<Step, Moment> begin_of;
    for (PartId part : steps_) {
      begin_of.push_back(running.next_id());
      for (place::NodeId node : chosen(part).nodes) moment_of[node] = running.add(part);
    }
    Table<Moment, Wide> change(running.size() + 1);
    const auto hold = [&](place::ProblemValueId v, Moment first, Moment last) {
      change[first] += problem_.values[v].bytes;
      change[advance(last, 1)] -= problem_.values[v].bytes;
    };
    std::set<place::ProblemValueId> kept;
    for (PartId p : chosen_.ids()) kept.insert(chosen(p).kept.begin(), chosen(p).kept.end());
    for (place::ProblemValueId v : problem_.values.ids()) {
      const place::ProblemValue& value = problem_.values[v];
      Step first_there, first_elsewhere;
      Moment last_there;
      bool leaves = value.is_output;
      for (place::NodeId reader : value.readers) {
        const PartId part = part_of_[reader];
        leaves = leaves || !value.writer.is_valid() || part != part_of_[value.writer];
        Step& first = runs_there(part) ? first_there : first_elsewhere;
        first = first.is_valid() ? std::min(first, step_of_[part]) : step_of_[part];
        if (runs_there(part)) last_there = std::max(last_there, moment_of[reader]);
      }
      if (!value.writer.is_valid() || !runs_there(part_of_[value.writer])) {
        if (first_there.is_valid()) hold(v, begin_of[first_there], last_there);
        continue;
      }
      if (!leaves && !kept.contains(v)) continue;
      Moment last = std::max(moment_of[value.writer], last_there);
      if (first_elsewhere.is_valid()) {
        last = std::max(last, advance(begin_of[first_elsewhere], -1));
      } else if (value.is_output) {
        last = advance(running.next_id(), -1);
      }
      hold(v, moment_of[value.writer], last);
    }
    std::set<place::ConstantId> constants;
    for (PartId p : chosen_.ids()) {
      if (runs_there(p)) constants.insert(chosen(p).constants.begin(), chosen(p).constants.end());
    }
    Wide held = 0, peak = 0;
    PartId at = 0;
    for (place::ConstantId constant : constants) held += problem_.constant_bytes[constant];
    for (Moment moment : running.ids()) {
      held += change[moment];
      if (held <= peak) continue;
      peak = held;
      at = running[moment];
    }
    return {peak, at};
  }

  const CertificateFile& file_;
  const place::Problem& problem_;
  const Table<PartId, place::CandidateId> chosen_;
  Table<place::NodeId, PartId> part_of_;
  Table<Step, PartId> steps_;
  Table<PartId, Step> step_of_;
};

}  // namespace

Status check_execution(const CertificateFile& file, const std::vector<place::CandidateId>& chosen) {
  return Execution(file, chosen).run();
}

}  // namespace collage::certificate
