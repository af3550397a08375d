// SPDX-License-Identifier: Apache-2.0
// Runs a plan on the inputs whose results it has with it: whether it computes here what it computed where it was
// compiled.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/exec/executor.h"
#include "runtime/support/diagnostic.h"

namespace collage::runner {

struct KnownRunsReport {
  size_t runs = 0;
  bool is_identical = true;  ///< every bit of every output
  double difference = 0;     ///< the largest of all outputs: max|diff| / max|y|
};

/// Fails where an output differs by more than `tolerance`, and where the plan has no known runs. Returns nullopt after
/// errors.
std::optional<KnownRunsReport> check_known_runs(const runtime::Plan& plan, runtime::Executor& executor,
                                                double tolerance, support::Diagnostics& diags);

std::string print(const KnownRunsReport& report);
nlohmann::ordered_json known_runs_json(const KnownRunsReport& report);

}  // namespace collage::runner
