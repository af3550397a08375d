// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/time_plan.h"

#include <algorithm>
#include <chrono>
#include <set>

namespace collage::driver {

std::vector<bool> simulated_steps(const runtime::Plan& plan) {
  std::set<std::string> simulated;
  for (const runtime::DeviceSpec& device : plan.devices) {
    if (device.kind == "sim") simulated.insert(device.space);
  }
  auto is_simulated = [&](runtime::BufferId id) {
    const runtime::Buffer& buffer = plan.buffers[static_cast<size_t>(id)];
    return simulated.contains(plan.spaces[static_cast<size_t>(buffer.space)].name);
  };
  std::vector<bool> result;
  for (const runtime::Step& step : plan.steps) {
    bool answer = false;
    if (const auto* device = std::get_if<runtime::DeviceStep>(&step)) {
      answer = plan.devices[static_cast<size_t>(device->device)].kind == "sim";
    } else if (const auto* convert = std::get_if<runtime::ConvertStep>(&step)) {
      answer = is_simulated(convert->from) || is_simulated(convert->to);
    }
    result.push_back(answer);
  }
  return result;
}

runtime::Result<TimedRun> time_run(runtime::Executor& executor, const std::vector<bool>& simulated,
                                   const std::vector<runtime::Tensor>& inputs) {
  using Clock = std::chrono::steady_clock;
  TimedRun run;
  run.steps.assign(simulated.size(), 0);
  double correction = 0;
  runtime::Duration device_time = executor.device_time();
  executor.observe([&](const runtime::StepReport& step) {
    run.steps[step.step] = step.host_seconds;
    if (!simulated[step.step]) return;
    runtime::Duration now = executor.device_time();
    run.steps[step.step] = (now - device_time).seconds();
    correction += run.steps[step.step] - step.host_seconds;
    device_time = now;
  });
  Clock::time_point start = Clock::now();
  runtime::Result<std::vector<runtime::Tensor>> outputs = executor.run(inputs);
  double wall = std::chrono::duration<double>(Clock::now() - start).count();
  executor.observe({});
  if (!outputs) return outputs.status();
  run.latency = std::max(wall + correction, 0.0);
  run.outputs = std::move(*outputs);
  return run;
}

double median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace collage::driver
