// SPDX-License-Identifier: Apache-2.0
// What went on beside a measurement. Other programs, other machines on the same processors, and a clock that is slower
// than otherwise make a measurement too long, evenly or not, so that its spread does not show it.
#pragma once

#include <chrono>
#include <string>

namespace collage::measure {

struct Conditions {
  double waited = 0;    ///< share of the threads' time in which they were ready to run and had no processor
  double others = 0;    ///< processors that other programs used
  double stolen = 0;    ///< processors that the hypervisor gave to other machines
  double slowdown = 1;  ///< of the reference kernel (reference_kernel.h), to what it takes otherwise
};

/// Says what disturbs measurements with so many threads on so many processors; empty: nothing. Programs that run on
/// processors which are left over do not.
std::string disturbance_of(const Conditions& conditions, int threads, int processors);

/// From its construction on.
class ConditionsWatch {
 public:
  ConditionsWatch() : start_(now()) {}
  /// The slowdown is 1: who has run the reference kernel knows it.
  Conditions so_far(int threads) const;
  /// What of that disturbs on this machine (disturbance_of).
  std::string disturbance(int threads) const;

 private:
  struct Counters {
    std::chrono::steady_clock::time_point time;
    double waited = 0;  ///< seconds, of all threads of this process
    double own = 0;     ///< processor seconds of this process
    double busy = 0;    ///< processor seconds of all processes
    double stolen = 0;  ///< processor seconds
  };
  static Counters now();

  Counters start_;
};

}  // namespace collage::measure
