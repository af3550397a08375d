// SPDX-License-Identifier: Apache-2.0
// What `bench` says below the time that it measured: that it is no latency, that it was disturbed, and why it is not
// what was predicted.
#pragma once

#include <string>

#include "compiler/driver/command.h"
#include "compiler/report/report.h"
#include "runtime/runner/bench.h"

namespace collage::driver {

/// `disturbance`: what went on beside the measurement (measure/conditions.h), or "".
std::string remarks_on_bench(const Command& command, const ir::Placement& placement, const report::Report& report,
                             const runner::BenchReport& bench, const std::string& disturbance);

}  // namespace collage::driver
