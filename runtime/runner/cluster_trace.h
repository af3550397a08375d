// SPDX-License-Identifier: Apache-2.0
// One run of all hosts of a cluster as one trace: the steps of all parts on the clock of the first host.
//
// A track of host 2 that its part calls `host` is `host[2]` here. A copy between two hosts is there twice, as what its
// sender does and as what its receiver does, with an arrow from one to the other; each pair of hosts has a track for
// both.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/cluster/cluster_program.h"
#include "runtime/runner/trace.h"

namespace collage::runner {

/// A part's trace on the clock of its own machine.
struct PartTrace {
  int host = 0;
  int64_t origin_ns = 0;  ///< what that clock shows where the trace has 0
  Trace trace;
};

/// The trace of the last run of channel 0 of this rank; nullopt if there was none.
std::optional<PartTrace> trace_of_part(const runtime::ClusterProgram& program);

/// As one trace. `offsets_ns`: what the clock of each host shows more than that of host 0. Predicted times are those of
/// the event model over all parts, where a copy is done when it is done on both sides.
Trace merge_traces(std::vector<PartTrace> parts, const std::vector<int64_t>& offsets_ns);

/// Between ranks. Fails for another text.
std::string to_text(const PartTrace& part);
runtime::Result<PartTrace> part_from_text(const std::string& text);

/// On all ranks at once, when no requests are answered: measures the clocks, and gathers the traces of all ranks. The
/// whole is on rank 0; nullopt elsewhere, and where nothing ran.
runtime::Result<std::optional<Trace>> gather_trace(const runtime::ClusterProgram& program);

}  // namespace collage::runner
