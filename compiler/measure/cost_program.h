// SPDX-License-Identifier: Apache-2.0
// The process of a program that says what candidates cost, for a device that is elsewhere: `cost exec "…"` of a rule file.
// One process answers all requests, a line each (cost_request.h). Whatever it does, a request has an answer: a program that
// dies, hangs or talks nonsense is ended, and the next request gets a new process.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "compiler/measure/measurement.h"

namespace collage::measure {

struct CostProgramOptions {
  std::string command;          ///< words separated by blanks; no shell reads them
  std::string folder;           ///< in which it runs: that of the rule file
  double timeout_seconds = 10;  ///< for one answer, the start included
};

class CostProgram {
 public:
  explicit CostProgram(CostProgramOptions options) : options_(std::move(options)) {}
  ~CostProgram() { stop(); }
  CostProgram(const CostProgram&) = delete;
  CostProgram& operator=(const CostProgram&) = delete;

  /// Asks what `request` gives for the id of the next request. A failure that is the program's, not the candidate's, does
  /// not last and counts as a crash. After three of these in a row the program is not asked any more.
  Measurement ask(const std::function<std::string(int64_t id)>& request);

 private:
  bool spawn(std::string* why);
  /// Sends the line and waits for one in return. False: `*why` says what happened instead.
  bool converse(std::string line, std::string* answer, std::string* why);
  void drain_errors();
  /// How the process ended, with the last line that it wrote to its standard error.
  std::string death();
  void stop();

  CostProgramOptions options_;
  pid_t process_ = -1;
  int to_ = -1, from_ = -1, errors_ = -1;
  std::string received_;  ///< after the last whole line
  std::string last_errors_;
  int64_t id_ = 0;
  int failures_ = 0;  ///< of the program, in a row
  std::string last_failure_;
};

/// The command and what its words name: a file that changes makes another program, of which no cost is known. Words are looked
/// up from `folder`, the first one also in PATH.
std::string describe_program(const std::string& command, const std::string& folder);

}  // namespace collage::measure
