// SPDX-License-Identifier: Apache-2.0
// Wall times of the parts of a library's run, for LibraryKernel::time_parts.
#pragma once

#include <chrono>
#include <vector>

namespace collage::runtime {

class PartClock {
 public:
  /// The first part begins. `seconds`: gets the times; null: nothing is measured.
  explicit PartClock(std::vector<double>* seconds) : seconds_(seconds) {
    if (seconds_ == nullptr) return;
    seconds_->clear();
    start_ = Clock::now();
  }

  /// A part ends, and the next one begins.
  void next() {
    if (seconds_ == nullptr) return;
    const Clock::time_point now = Clock::now();
    seconds_->push_back(std::chrono::duration<double>(now - start_).count());
    start_ = now;
  }

 private:
  using Clock = std::chrono::steady_clock;

  std::vector<double>* seconds_;
  Clock::time_point start_{};
};

}  // namespace collage::runtime
