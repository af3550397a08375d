// SPDX-License-Identifier: Apache-2.0
// A placement as tasks of the event model (runtime/core/schedule.h), in the order in which compiler/plan puts its
// steps: partitions by smallest node, each conversion right before the first that needs it. So what is predicted here
// is what the runtime's clock will say.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "compiler/ir/placement/placement.h"
#include "compiler/place/problem/problem.h"
#include "runtime/core/machine.h"
#include "runtime/core/schedule.h"

namespace collage::place {

using runtime::Duration;

/// As runtime::Machine numbers them.
using ResourceId = Id<struct ResourceTag>;
using TaskId = Id<runtime::Task>;

/// Tasks of solutions of one problem.
class SolutionScheduler {
 public:
  SolutionScheduler(const Problem& problem, runtime::Machine machine);

  /// Nothing where a candidate cannot run, the quotient has a cycle or a reader cannot be served. Expects every node to
  /// be covered once.
  std::optional<std::vector<runtime::Task>> tasks(const std::vector<CandidateId>& chosen);

  const std::vector<std::string>& resources() const { return machine_.names(); }
  /// What the candidate, or a conversion between the formats, holds.
  const std::vector<int>& work_of(const Candidate& candidate) const { return of_owner_[candidate.owner]; }
  const std::vector<int>& work_of(FormatId from, FormatId to) const { return of_conversion_[from][to]; }

 private:
  const std::vector<ConversionEdge>& tree(ProblemValueId value, FormatId written, std::vector<FormatId> wanted,
                                          bool* reachable);

  const Problem& problem_;
  runtime::Machine machine_;
  Table<OwnerId, std::vector<int>> of_owner_;
  Table<FormatId, Table<FormatId, std::vector<int>>> of_conversion_;
  std::map<std::tuple<ProblemValueId, FormatId, std::vector<FormatId>>, std::pair<bool, std::vector<ConversionEdge>>>
      trees_;
};

/// Tasks of a written placement. Expects one that `evaluate` finds no fault with.
std::vector<runtime::Task> tasks_of(const ir::Graph& graph, const ir::Placement& placement, runtime::Machine machine);

}  // namespace collage::place
