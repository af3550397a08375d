// SPDX-License-Identifier: Apache-2.0
#include "runtime/pool/waiting.h"

#include <sched.h>
#include <sys/resource.h>

namespace collage::runtime {
namespace {

using namespace std::chrono_literals;

constexpr auto kLongestSpin = 10ms;
/// Somebody who takes the processor for less is a thread of the kernel with a moment's work; a program takes
/// milliseconds.
constexpr auto kMoment = 300us;
/// As long as this no long spin is tried after the processor was taken.
constexpr auto kCrowded = 100ms;

long involuntary_switches() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

}  // namespace

void Waiting::pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

bool Waiting::begin_long_spin() {
  const Clock::time_point now = Clock::now();
  if (now < crowded_until_) return false;
  end_of_spin_ = now + kLongestSpin;
  offered_ = now;
  switches_ = involuntary_switches();
  return true;
}

bool Waiting::offer_processor() {
  sched_yield();  // counts as involuntary if another thread runs
  const Clock::time_point now = Clock::now();
  const auto absence = now - offered_;
  offered_ = now;
  // A host that takes a virtual processor away for long leaves the number as it is.
  if (const long switches = involuntary_switches(); switches != switches_) {
    switches_ = switches;
    if (absence > kMoment) {
      crowded_until_ = now + kCrowded;
      return false;
    }
  }
  return now < end_of_spin_;
}

}  // namespace collage::runtime
