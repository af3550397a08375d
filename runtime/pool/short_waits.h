// SPDX-License-Identifier: Apache-2.0
// How long threads of OpenMP that wait for work, or for each other, spin before they sleep: about 50 us instead of 8 to
// 14 ms.
//
// By default libgomp spins that long (GOMP_SPINCOUNT 300000). A waiting thread then takes the processor from the one it
// waits for as soon as another program wants it too, and a network of many small kernels slows down many times. Without
// any spinning (OMP_WAIT_POLICY=passive) each kernel would wake a sleeping thread. libgomp reads the setting only when it
// is loaded, so a process can choose it for those that it starts, and not for itself.
#pragma once

#include <cstdlib>

namespace collage::runtime {

inline constexpr const char* kSpinVariable = "GOMP_SPINCOUNT";
inline constexpr const char* kSpins = "1000";

/// Returns whether the user has said how threads wait.
inline bool is_waiting_chosen() {
  return std::getenv(kSpinVariable) != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr;
}

}  // namespace collage::runtime
