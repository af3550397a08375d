// SPDX-License-Identifier: Apache-2.0
// How long threads of OpenMP that wait for work, or for each other, spin before they sleep, in plans that use
// libraries.
//
// By default libgomp spins 8 to 14 ms (GOMP_SPINCOUNT 300000). Where another program wants the processors too, a
// waiting thread takes one from the thread that it waits for, and a network of many small kernels slows down many
// times; there 50 us are right. Where no other thread needs them, sleeping is the mistake: a virtual processor that
// idles is given to others by its host and comes back late (ResNet-50: 56 ms with long spins, 67 to 190 ms with short
// ones). libgomp reads the setting only when it is loaded and cannot change its mind, so a process chooses for those
// that it starts, by what runs at that moment. Threads of our own decide at each wait: pool/waiting.h.
#pragma once

#include <cstdlib>
#include <fstream>
#include <string>

namespace collage::runtime {

inline constexpr const char* kSpinVariable = "GOMP_SPINCOUNT";
inline constexpr const char* kSpins = "1000";

/// Returns whether other threads of this system than the caller's are running now, or ready to. False where it does not
/// say.
inline bool is_machine_shared() {
  std::ifstream load("/proc/loadavg");  // `0.20 0.18 0.12 1/80 11206`: running threads / all threads
  std::string minute, five, fifteen;
  int running = 0;
  return static_cast<bool>(load >> minute >> five >> fifteen >> running) && running > 1;
}

/// Returns whether threads of OpenMP should wait a short time only: the user has not said how long, and the machine is
/// shared.
inline bool wants_short_waits() {
  return std::getenv(kSpinVariable) == nullptr && std::getenv("OMP_WAIT_POLICY") == nullptr && is_machine_shared();
}

}  // namespace collage::runtime
