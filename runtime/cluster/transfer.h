// SPDX-License-Identifier: Apache-2.0
// One message on its way between two hosts: done when its bytes are where they belong (receive), or may be overwritten
// (send).
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/core/status.h"

namespace collage::runtime {

/// How long something may take; zero: as long as it likes.
using TimeLimit = std::chrono::duration<double>;

/// `8 s`, `0.5 s`.
std::string seconds_text(TimeLimit time);

/// Functions may be called by several threads at once.
class Transfer {
 public:
  bool is_done() const;
  /// Waits until it is done. Returns why it failed.
  Status wait() const;
  /// False if it is not done within the time.
  bool wait_for(TimeLimit time) const;

  /// Once, by the transport: from here on it does not touch the bytes.
  void complete(Status status);

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool is_done_ = false;
  Status status_ = Status::ok();
};
using TransferRef = std::shared_ptr<Transfer>;

}  // namespace collage::runtime
