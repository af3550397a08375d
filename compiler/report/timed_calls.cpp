// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/timed_calls.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/core/host_space.h"

namespace collage::report {
namespace {

std::string partition_name(const runtime::Plan& plan, int partition) {
  if (partition < 0) return "?";
  const runtime::PlanPartition& p = plan.partitions[static_cast<size_t>(partition)];
  return p.nodes.empty() ? p.name : fmt::format("{} (%{}{})", p.name, p.nodes[0], p.nodes.size() > 1 ? ", …" : "");
}

/// From or to another host.
bool is_message(const runtime::Plan& plan, const runtime::ConvertStep& step) {
  const auto is_elsewhere = [&](runtime::BufferId id) {
    const auto space = static_cast<size_t>(plan.buffers[static_cast<size_t>(id)].space);
    return runtime::is_other_host(plan.spaces[space].name);
  };
  return is_elsewhere(step.from) || is_elsewhere(step.to);
}

std::string result_name(const runtime::Plan& plan, const std::vector<runtime::BufferId>& outputs) {
  return outputs.empty() || outputs[0] < 0 ? "" : plan.buffers[static_cast<size_t>(outputs[0])].name;
}

/// The value in the name of a kernel: `%relu2 Conv+Relu` => `relu2`.
std::string value_of_kernel(const std::string& name) {
  const size_t end = name.rfind(' ');
  return name.starts_with('%') && end != std::string::npos ? name.substr(1, end - 1) : "";
}

TimedCall call_of(const runtime::Plan& plan, const runtime::HostCall& any, int partition) {
  if (const auto* kernel = std::get_if<runtime::KernelCall>(&any)) {
    return {"compiled", kernel->name.empty() ? kernel->symbol : kernel->name, partition, value_of_kernel(kernel->name)};
  }
  if (const auto* op = std::get_if<runtime::OpCall>(&any)) {
    const std::string value = result_name(plan, op->outputs);
    return {"reference", (value.empty() ? "" : "%" + value + " ") + op->op, partition, value};
  }
  const auto& library = std::get<runtime::LibraryCall>(any);
  return {library.library, partition_name(plan, partition), partition, result_name(plan, library.outputs)};
}

/// The node of an operator of a library's program, by its first result; empty: not known.
std::string node_of(const runtime::Plan& plan, const runtime::Step& step, int op) {
  const auto* library = std::get_if<runtime::LibraryStep>(&step);
  if (library == nullptr || library->partition < 0 || op < 0) return "";
  const std::vector<std::string>& nodes = plan.partitions[static_cast<size_t>(library->partition)].nodes;
  // Rewrites of its rule file may have made other operators of them.
  return nodes.size() == library->call.program.ops.size() ? nodes[static_cast<size_t>(op)] : "";
}

std::vector<TimedCall> parts_of(const runtime::Plan& plan, const runtime::Step& step, const TimedCall& call,
                                const runtime::LibraryKernel& kernel) {
  const std::string partition = call.partition < 0 ? "?" : plan.partitions[static_cast<size_t>(call.partition)].name;
  std::vector<TimedCall> parts;
  for (const runtime::LibraryPart& part : kernel.parts()) {
    std::string value = node_of(plan, step, part.op);
    if (value.empty() && part.op >= 0 && !call.is_whole) value = call.value;
    const std::string named = value.empty() ? "" : "%" + value + " ";
    parts.push_back({call.kind, partition + " " + named + part.text, call.partition, std::move(value)});
    parts.back().is_at_load = part.is_at_load;
  }
  if (!parts.empty()) parts.push_back({call.kind, partition + " around its kernels", call.partition});
  return parts;
}

}  // namespace

double TimedCall::least() const {
  return seconds.empty() ? 0 : *std::min_element(seconds.begin(), seconds.end());
}

std::vector<TimedCall> calls_of(const runtime::Plan& plan, const runtime::Step& step) {
  std::vector<TimedCall> calls;
  const auto add_whole = [&](const std::string& kind, int partition) {
    calls.push_back({kind, partition_name(plan, partition), partition});
    calls.back().is_whole = true;
  };
  if (const auto* host = std::get_if<runtime::HostStep>(&step)) {
    for (const runtime::HostCall& any : host->calls) calls.push_back(call_of(plan, any, host->partition));
  } else if (const auto* library = std::get_if<runtime::LibraryStep>(&step)) {
    add_whole(library->call.library, library->partition);
  } else if (const auto* device = std::get_if<runtime::DeviceStep>(&step)) {
    add_whole(plan.devices[static_cast<size_t>(device->device)].space, device->partition);
  } else if (const auto* convert = std::get_if<runtime::ConvertStep>(&step);
             convert != nullptr && !is_message(plan, *convert)) {
    const std::string& name = plan.buffers[static_cast<size_t>(convert->to)].name;
    calls.push_back({"convert", "%" + name, -1, name});
  }
  return calls;
}

TimedCalls::TimedCalls(const runtime::Plan& plan, runtime::Executor& executor)
    : plan_(plan), executor_(executor), program_(executor.execution().shared_program()) {
  for (const runtime::Step& step : plan.steps) steps_.push_back(calls_of(plan, step));
  last_.resize(steps_.size());
  const size_t count = std::min(steps_.size(), program_->plan().steps.size());
  for (size_t s = 0; s < count; ++s) {
    for (TimedCall& call : steps_[s]) call.is_simulated = program_->is_simulated(s);
  }
  add_libraries();
  executor.observe([this](const runtime::StepReport& report) {
    if (report.step >= steps_.size()) return;  // of a plan that took over
    const size_t calls = steps_[report.step].size();
    last_[report.step] = report.call_seconds.size() == calls
                             ? report.call_seconds
                             : std::vector<double>(calls, report.host_seconds / static_cast<double>(calls));
  });
}

TimedCalls::~TimedCalls() {
  executor_.observe({});
  for (const auto& library : libraries_) library->kernel->time_parts(nullptr);
}

void TimedCalls::add_libraries() {
  for (size_t s = 0; s < steps_.size(); ++s) {
    for (size_t c = 0; c < steps_[s].size(); ++c) {
      std::shared_ptr<runtime::LibraryKernel> kernel = executor_.execution().library(s, c);
      if (kernel == nullptr) continue;
      TimedCall& call = steps_[s][c];
      call.parts = parts_of(plan_, plan_.steps[s], call, *kernel);
      libraries_.push_back(std::make_unique<Library>(Library{s, c, std::move(kernel)}));
      libraries_.back()->kernel->time_parts(&libraries_.back()->seconds);
    }
  }
}

void TimedCalls::keep_run() {
  const std::vector<runtime::Slot>& slots = executor_.timeline().slots();
  for (size_t s = 0; s < steps_.size(); ++s) {
    for (size_t c = 0; c < steps_[s].size() && c < last_[s].size(); ++c) {
      TimedCall& call = steps_[s][c];
      const bool has_clock = call.is_simulated && s < slots.size();
      call.seconds.push_back(has_clock ? (slots[s].finish - slots[s].start).seconds() : last_[s][c]);
    }
  }
  for (const auto& library : libraries_) {
    TimedCall& call = steps_[library->step][library->call];
    std::vector<TimedCall>& parts = call.parts;
    if (library->seconds.size() + 1 != parts.size() || call.seconds.empty()) continue;
    double rest = call.seconds.back();
    for (size_t p = 0; p + 1 < parts.size(); ++p) {
      parts[p].seconds.push_back(library->seconds[p]);
      rest -= library->seconds[p];
    }
    parts.back().seconds.push_back(std::max(rest, 0.0));
  }
}

}  // namespace collage::report
