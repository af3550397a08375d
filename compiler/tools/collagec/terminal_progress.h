// SPDX-License-Identifier: Apache-2.0
// Long work, on standard error. On a terminal it is one line that shows the state, goes on each second and is cleared
// at the end:
//
//     measuring   [####......] 12 of 25, 6 s left: onednn Conv, Relu
//     searching   4 s: 12.3 ms, bound 12.1 ms, gap 1.6 % (Ctrl-C keeps it)
//     compiling   [##........] 12 of 54, 3 s left: operators
//     candidates  3 s
//
// Elsewhere it is a line each ten seconds, for whoever reads a log:
//
//     after 20 s  measuring [####......] 12 of 25, 6 s left: onednn Conv, Relu
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "runtime/runner/work_listener.h"

namespace collage::tools {

class TerminalProgress {
 public:
  /// `seconds`: between two lines where standard error is no terminal; 0: there are none.
  explicit TerminalProgress(double seconds);
  ~TerminalProgress() { finish(); }
  TerminalProgress(const TerminalProgress&) = delete;
  TerminalProgress& operator=(const TerminalProgress&) = delete;

  /// The listener of this display, which also ends searches and measuring on Ctrl-C (interrupt.h). It refers to the
  /// display.
  runner::WorkListener listener();

  /// Clears the line, before something else is printed.
  void clear();
  /// Clears the line for good.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  void begin_stage(const char* stage);
  void begin(runner::Work work);
  void update(const runner::Progress& progress);
  void end();
  /// What the other thread does: shows the state again and again.
  void go_on();

  // With the mutex held:
  void show();
  void clear_line();
  std::string_view label() const;
  /// After the label, `[####......] 12 of 25, 6 s left: onednn Conv, Relu`.
  std::string state() const;

  const bool is_terminal_;
  const std::chrono::duration<double> pause_;  ///< between two states; 0: only those that are reported
  const Clock::time_point start_ = Clock::now();

  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  bool is_shown_ = false;
  const char* stage_ = "";
  std::optional<runner::Progress> progress_;  ///< of the work that is done; nothing: of the stage alone
  Clock::time_point begin_ = start_;          ///< of the work, or the stage
  Clock::time_point shown_;
  double measured_seconds_ = 0;  ///< of earlier rounds of measuring
  std::thread thread_;
};

}  // namespace collage::tools
