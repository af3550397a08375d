// SPDX-License-Identifier: Apache-2.0
// What a run over several hosts took, beside what was predicted: of each rank, and in all with several requests in
// flight.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cluster/cluster_program.h"
#include "runtime/runner/request_stream.h"
#include "runtime/support/diagnostic.h"

namespace collage::runner {

/// What a rank reports of the last run of channel 0.
struct RankReport {
  std::string space;              ///< `host[1]`
  std::string machine;            ///< that it ran on
  double seconds = 0;             ///< that its own steps took
  double predicted = 0;           ///< the same, as the plan says
  double busiest = 0;             ///< predicted: of the resource of the part that is busy longest
  size_t sent = 0, received = 0;  ///< bytes
};

/// On all ranks at once, when no requests are answered; on rank 0 those of all ranks, in their order, on others none.
runtime::Result<std::vector<RankReport>> gather_reports(const runtime::ClusterProgram& program);

/// On rank 0: times `runs` requests as time_requests does, with as many in flight as the program has channels. Returns
/// nullopt after an error: one is that an answer differs from that of a run alone.
std::optional<RequestTimes> bench_cluster(runtime::ClusterProgram& program, int runs,
                                          const std::vector<runtime::Tensor>& inputs, support::Diagnostics& diags);

/// A line for each rank, and what was predicted for the whole: `predicted` of one run.
std::string print(const std::vector<RankReport>& ranks, runtime::Duration predicted);

nlohmann::ordered_json cluster_json(const std::vector<RankReport>& ranks, runtime::Duration predicted);
nlohmann::ordered_json cluster_json(const RequestTimes& requests);

}  // namespace collage::runner
