// SPDX-License-Identifier: Apache-2.0
// The process of a program that says what candidates cost, for a device that is elsewhere: `cost exec "…"` of a rule
// file. One process answers all requests, a line each (cost_request.h). Whatever it does, a request has an answer: a
// program that dies, hangs or talks nonsense is ended, and the next request gets a new process. It ends with the
// compiler, however that ends, and so does all that it starts in its process group: a process beside it watches the
// compiler.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "compiler/measure/measurement.h"
#include "compiler/measure/stop.h"
#include "runtime/core/status.h"

namespace collage::measure {

struct CostProgramOptions {
  std::string command;          ///< words separated by blanks; no shell reads them
  std::string folder;           ///< in which it runs: that of the rule file
  double timeout_seconds = 10;  ///< for one answer, the start included
  StopFlag stop = nullptr;      ///< ends the wait for one
};

/// The words of a command, program first.
std::vector<std::string> words_of(const std::string& command);

class CostProgram {
 public:
  using Request = std::function<std::string(int64_t id)>;

  explicit CostProgram(CostProgramOptions options) : options_(std::move(options)) {}
  ~CostProgram() { stop(); }
  CostProgram(const CostProgram&) = delete;
  CostProgram& operator=(const CostProgram&) = delete;

  /// Sends what `request` gives for the id of the next request, and returns what the answer says. A failure of the
  /// program, as opposed to a refusal, is transient and counts as a crash; after three of these in a row the program is
  /// not asked any more.
  Measurement ask(const Request& request);

 private:
  runtime::Status spawn();
  /// Sends the line and returns the one that comes back, or what happened instead.
  runtime::Result<std::string> converse(std::string line);
  runtime::Result<Measurement> answer_to(const Request& request);
  bool has_ended() const;
  void drain_errors();
  std::string last_error_line();
  /// Collects the process, and says how it ended.
  std::string death();
  void stop();

  CostProgramOptions options_;
  pid_t process_ = -1;
  pid_t watcher_ = -1;  ///< leads the process group of `process_`
  int alive_ = -1;      ///< while this is open, the watcher waits
  int to_ = -1, from_ = -1, errors_ = -1;
  std::string received_;  ///< after the last whole line
  std::string last_errors_;
  int64_t id_ = 0;
  int failures_ = 0;  ///< of the program, in a row
  std::string last_failure_;
};

}  // namespace collage::measure
