// SPDX-License-Identifier: Apache-2.0
// `--bench N --requests K`: how many requests a second a loaded model answers with K of them in flight, beside one at a
// time.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/exec/device_sets.h"
#include "runtime/runner/request_stream.h"
#include "runtime/runner/run_request.h"
#include "runtime/support/diagnostic.h"

namespace collage::runner {

struct RequestsReport {
  RequestTimes times{};          ///< `alone_per_second`: with all threads for one request
  size_t workers = 0;            ///< that serve them
  int threads_of_each = 0;       ///< of the host
  std::vector<size_t> served{};  ///< by each set of devices
};

/// Times `runs` requests as time_requests does. The host's threads are divided among the requests, at least one for
/// each. Returns nullopt after an error: one is that an answer differs from that of a run alone.
std::optional<RequestsReport> bench_requests(const runtime::Plan& plan, std::shared_ptr<const runtime::Code> code,
                                             int threads, const RequestsRequest& request, int runs,
                                             const std::vector<runtime::Tensor>& inputs,
                                             const runtime::LoadOptions& options, support::Diagnostics& diags);

std::string print(const RequestsReport& report);
nlohmann::ordered_json requests_json(const RequestsReport& report);

}  // namespace collage::runner
