// SPDX-License-Identifier: Apache-2.0
// As `SolutionScheduler::tasks`, the same tasks in the same order, without allocating memory for each placement: for
// searches that look at many thousands of them.
#pragma once

#include <optional>
#include <vector>

#include "compiler/place/problem/problem.h"
#include "compiler/place/schedule/flat_tasks.h"
#include "compiler/place/schedule/work_schedule.h"

namespace collage::place {

class FlatScheduler {
 public:
  /// Both arguments must stay.
  FlatScheduler(const Problem& problem, const SolutionScheduler& scheduler);

  /// The tasks of a solution, until the next call. Null where a candidate cannot run, the quotient has a cycle or a
  /// reader cannot be served. Expects every node to be covered once.
  FlatTasks* tasks(const std::vector<CandidateId>& chosen);

 private:
  /// A candidate by its place among the chosen ones.
  using Part = Id<struct FlatPartTag>;
  struct Tree {
    FormatId written;
    std::vector<FormatId> wanted;
    bool is_reachable = false;
    std::vector<ConversionEdge> edges;
  };
  /// A value of the solution at hand in one of its formats.
  struct Made {
    FormatId format;
    int task = -1;  ///< none: a model input
  };
  struct State {
    FormatId written;
    std::vector<FormatId> wanted;
    const Tree* tree = nullptr;
    std::vector<Made> made;
  };

  void gather(const std::vector<CandidateId>& chosen);
  bool find_trees();
  bool emit(const Candidate& candidate);
  /// The task that makes it; -1 for a model input, -2 where nothing does.
  int provide(ProblemValueId value, FormatId format);
  const Tree& tree_of(ProblemValueId value, const State& state);

  const Problem& problem_;
  const SolutionScheduler& scheduler_;
  FlatTasks tasks_;
  Table<ProblemValueId, std::vector<Tree>> trees_;
  Table<ProblemValueId, State> states_;
  Table<NodeId, Part> part_of_;
  Table<Part, int> waits_;
  std::vector<std::pair<Part, Part>> links_;  ///< from a writer to a reader
  Table<Part, int> link_begin_;
  std::vector<Part> next_;
  std::vector<std::pair<NodeId, Part>> ready_;
  std::vector<int> after_;
};

}  // namespace collage::place
