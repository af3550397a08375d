// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/host_turns.h"

namespace collage::runtime {

uint64_t HostTurns::begin_run() {
  std::lock_guard lock(mutex_);
  return begun_++;
}

size_t HostTurns::waiting() const {
  std::lock_guard lock(mutex_);
  return waiting_.size();
}

void HostTurns::take(uint64_t run) {
  std::unique_lock lock(mutex_);
  if (is_taken_ || !waiting_.empty()) {
    waiting_.insert(run);
    changed_.wait(lock, [&] { return !is_taken_ && *waiting_.begin() == run; });
    waiting_.erase(run);
  }
  is_taken_ = true;
}

void HostTurns::give_back() {
  {
    std::lock_guard lock(mutex_);
    is_taken_ = false;
  }
  changed_.notify_all();
}

}  // namespace collage::runtime
