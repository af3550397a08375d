// SPDX-License-Identifier: Apache-2.0
// Long work on a terminal: one line of standard error that shows its state and is cleared at its end. Where standard
// error is not a terminal, nothing is shown.
//
//     measuring   [####......] 12 of 25, 6 s left: onednn Conv, Relu
//     searching   4 s: 12.3 ms, bound 12.1 ms, gap 1.6 % (Ctrl-C keeps this placement)
//     compiling   [##........] 12 of 54, 3 s left: operators
#pragma once

#include <chrono>
#include <string>

#include "compiler/request/work_listener.h"

namespace collage::tools {

class TerminalProgress {
 public:
  TerminalProgress();

  /// The listener of this display, which also stops searches on Ctrl-C (interrupt.h). It refers to the display.
  driver::WorkListener listener();

 private:
  using Clock = std::chrono::steady_clock;

  void begin(driver::Work work);
  void show(const driver::Progress& progress);
  void end();
  std::string line(const driver::Progress& progress) const;

  bool is_terminal_;
  driver::Work work_ = driver::Work::Searching;
  Clock::time_point begin_;
  Clock::time_point shown_;
  double measured_seconds_ = 0;  ///< of earlier rounds of measuring
};

}  // namespace collage::tools
