// SPDX-License-Identifier: Apache-2.0
// Where measured costs come from. `place` only asks; what compiles, runs and remembers is compiler/measure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/placement/placement.h"

namespace collage::place {

/// What one candidate was found to cost, or why it cannot run.
struct MeasuredCost {
  std::optional<ir::Duration> cost;
  ir::Duration spread;  ///< of the runs: what the cost is uncertain by
  int id = -1;          ///< of the measurement: the same for all that it serves, over all calls; -1: none is known
  std::string failure;  ///< where there is no cost
  bool lasting = true;  ///< the failure says something of the candidate, not of this moment or machine
};

/// What is known of a candidate without measuring it.
struct KnownCost {
  int id = 0;                        ///< of the measurement, as in MeasuredCost
  std::optional<MeasuredCost> cost;  ///< nothing: it would have to be measured
};

class CostSource {
 public:
  virtual ~CostSource() = default;

  /// One answer per partition, in their order. Partitions may overlap and come in any order: each is a candidate on its
  /// own. Their nodes are ascending, their boundary has the formats to measure with, their cost does not count.
  virtual std::vector<MeasuredCost> measure(const ir::Graph& graph, const std::vector<ir::Partition>& candidates) = 0;

  /// Whether someone has stopped it: what it has not measured by then it never will, and the problem is not built.
  virtual bool is_stopped() const { return false; }

  /// As `measure`, but measures nothing.
  virtual std::vector<KnownCost> look_up(const ir::Graph& graph, const std::vector<ir::Partition>& candidates) = 0;
};

}  // namespace collage::place
