// SPDX-License-Identifier: Apache-2.0
#include "runtime/runner/time_plan.h"

#include <algorithm>
#include <chrono>

#include "runtime/pool/pool.h"

namespace collage::runner {

runtime::Status settle(runtime::Executor& executor, const std::vector<runtime::Tensor>& inputs) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kLongestSpin = std::chrono::milliseconds(15);
  runtime::end_idle_openmp_threads();
  const Clock::time_point start = Clock::now();
  do {
    if (auto outputs = executor.run(inputs); !outputs) return outputs.status();
  } while (Clock::now() - start < kLongestSpin);
  return runtime::Status::ok();
}

runtime::Result<TimedRun> time_run(runtime::Executor& executor, const std::vector<runtime::Tensor>& inputs) {
  using Clock = std::chrono::steady_clock;
  TimedRun run;
  double in_steps = 0;
  executor.observe([&](const runtime::StepReport& step) { in_steps += step.host_seconds; });
  Clock::time_point start = Clock::now();
  runtime::Result<std::vector<runtime::Tensor>> outputs = executor.run(inputs);
  double wall = std::chrono::duration<double>(Clock::now() - start).count();
  executor.observe({});
  if (!outputs) return outputs.status();
  for (const runtime::Slot& slot : executor.timeline().slots()) {
    run.steps.push_back((slot.finish - slot.start).seconds());
  }
  run.latency = std::max(wall - in_steps, 0.0) + executor.timeline().makespan().seconds();
  run.outputs = std::move(*outputs);
  return run;
}

double quantile(std::vector<double> values, double fraction) {
  const double place = fraction * static_cast<double>(values.size() - 1) + 0.5;
  auto at = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

double median(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
}

}  // namespace collage::runner
