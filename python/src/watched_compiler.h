// SPDX-License-Identifier: Apache-2.0
// A compiler that is watched while it works: other threads ask what it is at, and its own thread runs handlers of
// signals.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "include/collage/collage.hpp"

namespace collage::python {

/// What a step is at; as collage_progress has it.
struct Progress {
  std::string work;
  size_t done = 0;
  size_t of = 0;
  std::string detail;
};

/// Copies share the compiler and what is seen of it.
class WatchedCompiler : public collage::Compiler {
 public:
  WatchedCompiler();

  /// Returns the progress of the step at work, or of the last one. May be called while another thread is in a step.
  std::optional<Progress> progress() const;

  /// While it lives, steps that this thread calls run the handlers of signals that have come, where this thread is the
  /// one for that. Where a handler raises, the step is stopped, and the exception of Python is set when it returns.
  class SignalScope {
   public:
    explicit SignalScope(const WatchedCompiler& compiler);
    ~SignalScope();
    SignalScope(const SignalScope&) = delete;
    SignalScope& operator=(const SignalScope&) = delete;

   private:
    const WatchedCompiler& compiler_;
  };

 private:
  using Clock = std::chrono::steady_clock;
  struct Seen {
    std::mutex mutex;
    std::optional<Progress> progress;
    std::function<void()> stop{};  ///< used by the thread at work; empty: it does not look for signals
    Clock::time_point looked{};    ///< for signals

    void look_for_signals();
  };

  std::shared_ptr<Seen> seen_ = std::make_shared<Seen>();
};

}  // namespace collage::python
