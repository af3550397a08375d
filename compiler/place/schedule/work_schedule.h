// SPDX-License-Identifier: Apache-2.0
// A placement as tasks of the event model (runtime/core/schedule.h), in the order in which compiler/plan puts its
// steps: partitions by smallest node, each conversion right before the first that needs it. So what is predicted here
// is what the runtime's clock will say.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "compiler/ir/placement.h"
#include "compiler/place/problem/problem.h"
#include "runtime/core/machine.h"
#include "runtime/core/schedule.h"

namespace collage::place {

/// Tasks of solutions of one problem.
class SolutionScheduler {
 public:
  SolutionScheduler(const Problem& problem, runtime::Machine machine);

  struct Tasks {
    std::vector<runtime::Task> tasks;
    std::vector<int> candidate_of;  ///< by task: the candidate, or -1 of a conversion
  };
  /// Nothing where a candidate cannot run, the quotient has a cycle or a reader cannot be served. Expects every node to
  /// be covered once.
  std::optional<Tasks> tasks(const std::vector<int>& chosen);

  const std::vector<std::string>& resources() const { return machine_.names(); }
  /// What the candidate, or a conversion between the formats, holds.
  const std::vector<int>& work_of(const Candidate& candidate) const {
    return of_owner_[static_cast<size_t>(candidate.owner)];
  }
  const std::vector<int>& work_of(FormatId from, FormatId to) const {
    return of_conversion_[static_cast<size_t>(from)][static_cast<size_t>(to)];
  }

 private:
  const std::vector<ConversionEdge>& tree(int value, FormatId written, std::vector<FormatId> wanted, bool* reachable);

  const Problem& problem_;
  runtime::Machine machine_;
  std::vector<std::vector<int>> of_owner_;
  std::vector<std::vector<std::vector<int>>> of_conversion_;  ///< by formats
  std::map<std::tuple<int, FormatId, std::vector<FormatId>>, std::pair<bool, std::vector<ConversionEdge>>> trees_;
};

/// Tasks of a written placement. Expects one that `evaluate` finds no fault with.
std::vector<runtime::Task> tasks_of(const ir::Graph& graph, const ir::Placement& placement, runtime::Machine machine);

}  // namespace collage::place
