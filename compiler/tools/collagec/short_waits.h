// SPDX-License-Identifier: Apache-2.0
// Threads of OpenMP that wait for work, or for each other, sleep after about 50 us instead of 8 to 14 ms.
//
// By default libgomp spins that long (GOMP_SPINCOUNT 300000). A waiting thread then takes the processor from the one it
// waits for as soon as another program wants it too, and a network of many small kernels slows down many times.
// Without any spinning (OMP_WAIT_POLICY=passive) each kernel would wake a sleeping thread.
#pragma once

namespace collage::tools {

/// Starts this program again with the setting, which libgomp reads only when it is loaded; returns where the user has
/// chosen one, or that is not possible.
void restart_with_short_waits(char** argv);

}  // namespace collage::tools
