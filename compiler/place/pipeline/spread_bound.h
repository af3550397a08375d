// SPDX-License-Identifier: Apache-2.0
// What every placement takes at least, over all instances of a problem that lists candidates for one of each kind:
// formulas that need no search (spread.h says them).
#pragma once

#include <vector>

#include "compiler/ir/graph/graph.h"
#include "compiler/place/formats/format_graph.h"
#include "compiler/place/problem/memory_limit.h"
#include "compiler/place/problem/problem.h"

namespace collage::place {

class BoundOfAll {
 public:
  /// Expects candidates that hold what they keep in memory. Limits are of instances by name; `values` are those of the
  /// problem in the graph.
  BoundOfAll(const Problem& problem, const std::vector<MemoryLimit>& limits, const FormatGraph& links,
             const ir::Graph& graph, const Table<ProblemValueId, ir::ValueId>& values);

  Cost latency() const;
  Cost throughput() const;
  Cost makespan() const;

 private:
  /// The least number of memories that every placement uses.
  int64_t least_memories() const;
  int64_t least_copy() const;
  int64_t components() const;
  void raise_shares();
  int64_t crowded() const;
  int64_t mostly_on_main(double rate) const;
  double weight(NodeId node) const;
  std::vector<std::string> memories() const;

  const Problem& problem_;
  const std::vector<MemoryLimit>& limits_;
  const FormatGraph& links_;
  const ir::Graph& graph_;
  const Table<ProblemValueId, ir::ValueId>& values_;

  Table<NodeId, int64_t> alone_;  ///< of the cheapest candidate that has the node
  /// Shares of nodes, of which no candidate has more than its cost together. So their sum is no more than any
  /// candidates cost that cover all nodes: a dual solution of the cover. At first a node has the least share of a
  /// candidate that has it, shares being as `alone_`; then they grow as far as they may.
  Table<NodeId, int64_t> least_;
};

}  // namespace collage::place
