// SPDX-License-Identifier: Apache-2.0
// Why one backend has nothing for a node, for any number of nodes: what its rules met is sorted once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/match/refusals.h"
#include "compiler/report/explain/alternative.h"

namespace collage::report {

/// Keeps references to what it is about.
class BackendReasons {
 public:
  BackendReasons(const ExplainedPlacement& explained, const std::string& backend);

  /// The rules had a candidate with the node; pins, options or written partitions may have taken it away.
  bool had_candidate(ir::NodeId node) const;
  /// What took it away.
  std::string taken_by(ir::NodeId node) const;
  /// What stopped each rule, the nearest miss first.
  std::vector<match::NearMiss> misses_of(ir::NodeId node);
  /// In one line: `cannot: conv: grouped convolution (rules/npu.rules:17)`, `not allowed: it is pinned to …`.
  std::string short_reason(ir::NodeId node);

 private:
  const ExplainedPlacement& explained_;
  std::string name_;
  place::BackendId backend_;  ///< none: not active
  std::optional<match::Refusals> misses_;
  std::vector<bool> has_candidate_;  ///< by node: of the rules
  std::vector<bool> is_fixed_;       ///< by node: in a written partition
};

}  // namespace collage::report
