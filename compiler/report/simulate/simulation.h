// SPDX-License-Identifier: Apache-2.0
// A plan on the clock of the event model alone (runtime/core/schedule.h), for machines that are not here: no code is
// compiled, no weights are made, no device is opened. The executor's clock follows the same model, so a simulated
// device that runs the plan takes the same time.
//
// Expects the outline of a plan (plan/build_plan.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/report/simulate/critical_path.h"
#include "runtime/core/duration.h"
#include "runtime/plan/plan.h"

namespace collage::report {

/// What a plan takes of a memory, and of the time of what works there.
struct MemoryUse {
  std::string space;
  bool is_host = false;
  size_t constants = 0;
  size_t arena = 0;     ///< of one request
  size_t capacity = 0;  ///< 0: no limit
  Duration busy;        ///< of the queue of launches, or of the host's thread, for one input
  int requests = 1;     ///< that are there at once, each with an arena

  size_t bytes() const { return constants + arena * static_cast<size_t>(requests); }
};

/// A link, or a direction of it where it is duplex.
struct LinkUse {
  std::string name;
  std::string kind;  ///< without numbers: `accel - board`
  int copies = 0;
  size_t bytes = 0;  ///< for one input
  Duration busy;
};

/// All links of a kind.
struct LinkKindUse {
  std::string kind;
  int links = 0;  ///< that copies pass
  size_t bytes = 0;
  Duration busy;  ///< together
};

/// Inputs without end, several of them in flight. A request has an arena in a memory from its first step there to its
/// last one; where a memory has no room for as many as that takes, requests use its arenas in turn, as executions do
/// (runtime/exec/arenas.h), and the next one waits until another one leaves it.
struct StreamFigures {
  int in_flight = 0;
  int stages = 0;            ///< so many in flight keep everything at work
  std::string limited_by{};  ///< the memory that lacks room for most requests; empty: none does
  Duration first;            ///< when the first result is there
  Duration period;           ///< from one result to the next
  double bubbles = 0;        ///< share of the time in which the devices of the plan have nothing to do
};

struct Simulation {
  size_t devices = 0;  ///< that the machine has
  size_t partitions = 0;
  int copies = 0;
  size_t copied_bytes = 0;
  Duration time;  ///< of one run
  std::optional<StreamFigures> stream{};
  std::vector<MemoryUse> memories;  ///< hosts, and the devices that the plan uses
  std::vector<LinkUse> links;       ///< busiest first
  std::vector<LinkKindUse> kinds;   ///< most bytes first
  CriticalPath path;

  /// The time that shares of busy time refer to: that of a run, or of one input of a stream.
  Duration base() const { return stream ? stream->period : time; }
};

struct SimulateOptions {
  size_t devices = 0;      ///< that the machine has
  bool is_stream = false;  ///< inputs follow each other without end
  int in_flight = 0;       ///< 0: as many as there are stages
};

Simulation simulate(const runtime::Plan& plan, const SimulateOptions& options);

}  // namespace collage::report
