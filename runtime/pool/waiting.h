// SPDX-License-Identifier: Apache-2.0
// How a thread waits for another one that will be done soon: by spinning, or by sleeping.
//
// - A sleeping thread leaves its processor idle, and waking it takes long where the processor is a virtual one on a
//   busy host: the host has given it to another machine meanwhile (a network of 60 kernels became three times slower).
// - A spinning thread keeps its processor from other programs of this system, which then take turns with it in slices
//   of milliseconds, also when the thread has work again.
//
// So a thread spins as long as no other thread wants its processor. It offers the processor again and again, and learns
// whether it was taken, and for how long, from its involuntary context switches.
#pragma once

#include <chrono>

namespace collage::runtime {

/// One thread's way of waiting. For use by that thread only.
class Waiting {
 public:
  using Clock = std::chrono::steady_clock;

  /// Spins until `is_ready()`, and returns true; returns false where the thread should sleep instead: others want the
  /// processor, or it took too long.
  template <typename IsReady>
  bool spin(IsReady&& is_ready) {
    for (int i = 0; i < kBriefSpins; ++i) {
      if (is_ready()) return true;
      pause();
    }
    if (!begin_long_spin()) return false;
    do {
      for (int i = 0; i < kSpinsBetweenOffers; ++i) {
        if (is_ready()) return true;
        pause();
      }
    } while (offer_processor());
    return is_ready();
  }

 private:
  static constexpr int kBriefSpins = 1000;  ///< about 50 us; longer than the gap between two kernels
  static constexpr int kSpinsBetweenOffers = 40;

  static void pause();
  /// False if others wanted the processor a short time ago.
  bool begin_long_spin();
  /// False if another thread took the processor, or the spin is over.
  bool offer_processor();

  Clock::time_point end_of_spin_{};
  Clock::time_point crowded_until_{};
  Clock::time_point offered_{};  ///< the last time
  long switches_ = 0;            ///< involuntary ones of this thread, as last counted
};

}  // namespace collage::runtime
