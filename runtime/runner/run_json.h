// SPDX-License-Identifier: Apache-2.0
// What runs gave, for programs.
#pragma once

#include <nlohmann/json.hpp>

#include "runtime/runner/bench.h"
#include "runtime/runner/run_model.h"

namespace collage::runner {

/// `outputs` (name, dtype, shape, class of scores), `runs`, `expected` and `accuracy` where they were asked for.
nlohmann::ordered_json result_json(const RunResult& result, const ModelPorts& model);

/// `given_again`, and `lost`: device, step, partitions, where they run now.
nlohmann::ordered_json recovery_json(const runtime::Executor& executor);

nlohmann::ordered_json times_json(const BenchReport& report);

}  // namespace collage::runner
