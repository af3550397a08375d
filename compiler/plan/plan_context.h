// SPDX-License-Identifier: Apache-2.0
// What the stages of building a plan read.
#pragma once

#include <string>

#include "compiler/codegen/jit.h"
#include "compiler/ir/placement/placement.h"
#include "compiler/plan/expand_splits.h"
#include "compiler/plan/targets.h"
#include "runtime/support/diagnostic.h"

namespace collage::plan {

struct PlanContext {
  const ir::Graph& graph;
  const ir::Placement& placement;
  const PlanTargets& targets;
  const ExpandedSplits* splits;  ///< what the placement was made of, if it has parts of splits; else null
  codegen::Jit* jit;             ///< null: the plan is not to run, only the memory of its devices and hosts counts
  support::Diagnostics& diags;
  bool may_exceed = false;  ///< a memory that is too small is no error

  ir::Format canonical(const ir::Format& format, ir::ValueId value) const {
    return ir::canonical(format, graph.value(value).type);
  }

  /// An error at the span; where there is none, at the thing that `where` names.
  support::Diagnostic fail(support::Code code, support::Span span, const std::string& where,
                           const std::string& message) const {
    return span.is_valid() ? diags.error(code, span, "{}", message) : diags.error_at(code, where, "{}", message);
  }
};

/// The partition, for messages: `` partition `p0` ``.
inline std::string place_of(const ir::Partition& partition) {
  return "partition `" + partition.name + "`";
}

}  // namespace collage::plan
