// SPDX-License-Identifier: Apache-2.0
// A queue of commands that the host runs in place of a device: order, events and failures as device.h says. Commands
// run in the thread that gives them, or in a thread of the queue.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "runtime/devices/device.h"

namespace collage::runtime {

/// Faults of one device, counted by all its queues.
class FaultLog {
 public:
  void add(const Status& failure);
  FaultInfo info() const;

 private:
  mutable std::mutex mutex_;
  FaultInfo info_;
};

class CommandQueue {
 public:
  /// When a command has its turn.
  struct Turn {
    WallTime start;  ///< it was given by then, and everything before it in the queue was done
    WallTime end{};  ///< set by commands that know when they are done; zero: when they return
  };
  /// Returns how long it took, on the clock of the device.
  using Command = std::function<Result<Duration>(Turn&)>;
  enum class Runs { InCaller, InThread };

  /// `faults` outlives the queue.
  static std::unique_ptr<CommandQueue> make(Runs runs, FaultLog& faults);
  /// Waits until everything is done.
  virtual ~CommandQueue() = default;

  virtual Status issue(Command command) = 0;
  virtual Status wait(const EventRef& event) = 0;
  virtual EventRef record() = 0;
  virtual void reset() = 0;
};

}  // namespace collage::runtime
