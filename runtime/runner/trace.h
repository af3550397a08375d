// SPDX-License-Identifier: Apache-2.0
// One run of a plan, step by step: what ran where and when, predicted and actual, what waited for what, and the memory
// that was in use. `--trace` writes it for a viewer (trace_json.cpp), `--timeline` as text (trace_text.cpp).
//
// Predicted and actual times are both on the clock of the event model (runtime/core/schedule.h), which starts each step
// as soon as what it waits for is done and its tracks are free. Predicted lengths are the plan's; actual ones are
// measured for steps of the host, and taken from the device's clock for steps of devices.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/exec/executor.h"
#include "runtime/runner/run_request.h"
#include "runtime/support/diagnostic.h"

namespace collage::runner {

enum class TraceKind { Kernels, Library, Launch, Copy, Conversion };
/// `kernels`, `library`, …
const char* name_of(TraceKind kind);

struct TraceStep {
  TraceKind kind = TraceKind::Kernels;
  std::string name;          ///< of the partition; of the value that is moved
  int partition = -1;        ///< index into Plan::partitions; -1: it moves a value
  std::string from{}, to{};  ///< spaces, of a value that is moved
  size_t bytes = 0;          ///< that are moved
  std::vector<int> tracks;   ///< indices into Trace::tracks: all that it holds
  std::vector<int> after;    ///< steps whose results or memory it needs
  runtime::Slot predicted, actual;

  bool moves() const { return partition < 0; }
};

/// Bytes of an arena in use.
struct SpaceUse {
  std::string space;
  size_t arena = 0;      ///< bytes that the plan takes for activations
  size_t constants = 0;  ///< bytes that are resident
  size_t most = 0;       ///< in use at once: no arena that runs these steps at these times is smaller
  /// (time, bytes in use from then on), ascending; of the actual times.
  std::vector<std::pair<runtime::Duration, size_t>> live{};
};

struct Trace {
  std::string model;
  bool is_concurrent = false;
  std::vector<std::string> tracks;  ///< host, queues and links, as runtime/core/machine.h names them
  std::vector<TraceStep> steps;     ///< in plan order
  std::vector<SpaceUse> spaces;
  std::vector<runtime::PlanPartition> partitions;
  runtime::Duration predicted, actual;  ///< from the first start to the last finish
  bool has_run = true;                  ///< false: actual times are the predicted ones, and are not shown

  /// Sum of the actual lengths: the time that the steps would take one after another.
  runtime::Duration in_turn() const;
};

/// A trace before any run: the actual times are the predicted ones.
Trace predicted_trace(const runtime::Plan& plan);

/// `actual`: the timeline of a run of this plan.
Trace make_trace(const runtime::Plan& plan, const runtime::Timeline& actual);
/// The same, by step.
Trace make_trace(const runtime::Plan& plan, const std::vector<runtime::Slot>& actual);

/// Runs the model twice, the second time traced. Returns nullopt after an error.
std::optional<Trace> trace_model(const std::vector<runtime::Tensor>& inputs, runtime::Executor& executor,
                                 support::Diagnostics& diags);

/// In the Trace Event Format, as Perfetto and chrome://tracing open it: a process each for predicted and actual times,
/// a thread for each track, arrows from steps to those that wait for them, counters for the memory in use.
std::string to_trace_json(const Trace& trace);

/// At most 100 columns wide.
std::string print(const Trace& trace);

/// Writes the file that is asked for. False after an error.
bool write_trace(const TraceRequest& request, const Trace& trace, support::Diagnostics& diags);

}  // namespace collage::runner
