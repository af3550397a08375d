// SPDX-License-Identifier: Apache-2.0
// The measuring process as the compiler sees it. A candidate that crashes, hangs or exhausts memory ends only that
// process; the next candidate gets a new one.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "compiler/measure/measurement.h"
#include "compiler/measure/stop.h"
#include "runtime/core/status.h"

namespace collage::measure {

/// How the measuring process is started, and how long it may take for one candidate.
struct WorkerOptions {
  std::string program;                 ///< path of `collage-measure`
  std::vector<std::string> arguments;  ///< the rule files, targets and threads of this compilation
  double timeout_seconds = 10;         ///< wall time, including the compilation of the candidate
  double start_seconds = 30;           ///< wall time until it has read its rule files and is ready
  StopFlag stop = nullptr;             ///< ends the process, and what it measures
};

/// Path of `collage-measure` beside the running program or of this installation; empty if it does not exist.
std::string find_worker_program();

/// Path of the library that holds the code of this `collage-measure`; it may not exist. Empty where the program holds
/// its code itself.
std::string worker_library(const std::string& program);

class Worker {
 public:
  explicit Worker(WorkerOptions options) : options_(std::move(options)) {}
  ~Worker() { stop(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Compiles and runs one candidate, in a process that is started if necessary. Every failure is a Measurement with
  /// its reason: the candidate's own, a signal, a timeout, or a process that cannot be started. After a transient
  /// failure the next candidate gets a new process. After three failed starts in a row no further start is tried.
  Measurement measure(const std::string& candidate);

  /// Times whole plans beside each other (time_plans.h). One failure, if the process fails.
  std::vector<Measurement> time_plans(const std::vector<std::string>& plans);

  /// For processes that are started from now on.
  void set_options(WorkerOptions options) { options_ = std::move(options); }
  /// What the reference kernel takes, as the process said when it was ready; 0: it has said nothing.
  Duration reference() const { return reference_; }

 private:
  /// Starts a process and waits until it is ready. Returns nullopt if it is, otherwise a transient failure.
  std::optional<Measurement> start();
  runtime::Status spawn();
  /// Sends a message and waits for the answer. Returns a failure if there is none.
  std::optional<Measurement> exchange(const std::string& message, double timeout, std::string* reply);
  void stop();
  /// Says how a process ended that ended by itself.
  Measurement death();

  WorkerOptions options_;
  pid_t process_ = -1;
  int socket_ = -1;
  Duration reference_;
  int failed_starts_ = 0;      ///< in a row
  Measurement start_failure_;  ///< the last of them
};

}  // namespace collage::measure
