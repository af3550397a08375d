// SPDX-License-Identifier: Apache-2.0
// One step on the host: compiled kernels, reference kernels, libraries, changes of layout.
#pragma once

#include "runtime/exec/bound_steps.h"
#include "runtime/pool/workers.h"

namespace collage::runtime {

/// What runs the loops of kernels: `count` threads, the workers', or OpenMP's if there are none. Workers may be
/// OpenMP's threads, lent: steps that open parallel regions of OpenMP run outside of Workers::lend.
struct HostThreads {
  int count = 1;
  Workers* workers = nullptr;
};

/// Whether something in the step opens parallel regions of OpenMP by itself: libraries and reference kernels.
bool uses_openmp(const BoundHostStep& step);

/// `call_seconds` gets the wall time of each call; null: nothing is measured.
Status run_host_step(const BoundHostStep& step, const HostThreads& threads, std::vector<double>* call_seconds);

}  // namespace collage::runtime
