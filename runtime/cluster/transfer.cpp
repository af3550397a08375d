// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/transfer.h"

#include <array>
#include <cstdio>
#include <utility>

namespace collage::runtime {

std::string seconds_text(TimeLimit time) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.6g s", time.count());
  return text.data();
}

bool Transfer::is_done() const {
  std::lock_guard lock(mutex_);
  return is_done_;
}

Status Transfer::wait() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return is_done_; });
  return status_;
}

bool Transfer::wait_for(TimeLimit time) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, time, [this] { return is_done_; });
}

void Transfer::complete(Status status) {
  std::lock_guard lock(mutex_);  // who waits may free this as soon as it is unlocked
  status_ = std::move(status);
  is_done_ = true;
  changed_.notify_all();
}

}  // namespace collage::runtime
