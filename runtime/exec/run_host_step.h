// SPDX-License-Identifier: Apache-2.0
// One step on the host: compiled kernels, reference kernels, libraries, changes of layout.
#pragma once

#include "runtime/exec/bound_steps.h"

namespace collage::runtime {

/// `call_seconds` gets the wall time of each call; null: nothing is measured.
Status run_host_step(const BoundHostStep& step, int threads, std::vector<double>* call_seconds);

}  // namespace collage::runtime
