// SPDX-License-Identifier: Apache-2.0
// The calls that a run of a plan makes, with the times that runs leave: kernels, libraries with what they call in turn,
// launches, copies and conversions.
//
//     LibraryStep p0   =>   onednn "p0 (%c, …)" with parts "p0 %c convolution + relu …", "p0 %d convolution …"
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/exec/executor.h"

namespace collage::report {

/// A call of a step, the step itself, or a part of a library's call.
struct TimedCall {
  std::string kind;               ///< `compiled`, `reference`, `convert`, a library, a device
  std::string what;               ///< the kernel, value or partition
  int partition = -1;             ///< index into Plan::partitions; -1: it moves a value
  std::string value{};            ///< a result of what it computes; the value that it moves; empty: not known
  bool is_whole = false;          ///< it runs all of its partition
  bool is_at_load = false;        ///< a part that no run makes
  bool is_simulated = false;      ///< its time is that of the clock of a device that only exists as a model
  std::vector<double> seconds{};  ///< of each run
  /// The parts of a library's call; the last one is what it takes beside the others. No seconds where the library tells
  /// no times.
  std::vector<TimedCall> parts{};

  /// The least of its times: other work on the machine only ever adds. 0 where nothing ran.
  double least() const;
};

/// The calls of all steps, timed while this exists. Refers to the plan and to the executor, whose observer it is.
class TimedCalls {
 public:
  /// `executor` has loaded `plan`.
  TimedCalls(const runtime::Plan& plan, runtime::Executor& executor);
  ~TimedCalls();
  TimedCalls(const TimedCalls&) = delete;
  TimedCalls& operator=(const TimedCalls&) = delete;

  /// Keeps the times of the run that has just ended.
  void keep_run();

  /// By step.
  const std::vector<std::vector<TimedCall>>& steps() const { return steps_; }

 private:
  struct Library {
    size_t step = 0, call = 0;
    std::shared_ptr<runtime::LibraryKernel> kernel;
    std::vector<double> seconds{};  ///< of its parts, in the last run
  };

  void add_libraries();

  const runtime::Plan& plan_;
  runtime::Executor& executor_;
  std::shared_ptr<const runtime::Program> program_;  ///< outlives the kernels
  std::vector<std::vector<TimedCall>> steps_;
  std::vector<std::vector<double>> last_;  ///< by step and call, of the last run
  std::vector<std::unique_ptr<Library>> libraries_;
};

/// The calls of a step without times: what names it in a timeline, too. Copies from and to other hosts are none.
std::vector<TimedCall> calls_of(const runtime::Plan& plan, const runtime::Step& step);

}  // namespace collage::report
