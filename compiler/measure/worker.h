// SPDX-License-Identifier: Apache-2.0
// The measuring process as the compiler sees it. A candidate that crashes, hangs or eats the machine's memory takes
// that process down and nothing else; the next one gets a new process.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "compiler/measure/measurement.h"

namespace collage::measure {

/// What the measuring process is started with, and how long it may take for one candidate.
struct WorkerOptions {
  std::string program;                 ///< path of `collage-measure`
  std::vector<std::string> arguments;  ///< the rule files, targets and threads of this compilation
  double timeout_seconds = 10;         ///< wall time, with the compilation of the candidate
  double start_seconds = 30;           ///< wall time until it has read its rule files and says that it is ready
};

/// `collage-measure` beside the running program; empty if it is not there.
std::string find_worker_program();

class Worker {
 public:
  explicit Worker(WorkerOptions options) : options_(std::move(options)) {}
  ~Worker() { stop(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Compiles and runs one candidate, in a process that is started if none is there. Every failure is a Measurement
  /// with its reason: the candidate's own, a signal, the time that ran out, or a process that cannot be started. After
  /// one that is not lasting the next candidate gets a new process. After three starts in a row that failed none is
  /// tried any more.
  Measurement measure(const std::string& candidate);

 private:
  /// Starts a process and waits until it is ready. Nothing if it is, else what went wrong, which never lasts.
  std::optional<Measurement> start();
  bool spawn(std::string* why);
  void stop();
  /// What became of a process that went away by itself.
  Measurement death();

  WorkerOptions options_;
  pid_t process_ = -1;
  int socket_ = -1;
  int failed_starts_ = 0;      ///< in a row
  Measurement start_failure_;  ///< the last of them
};

}  // namespace collage::measure
