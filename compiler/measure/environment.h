// SPDX-License-Identifier: Apache-2.0
// What a measurement depends on beside the candidate: other machine, other build, other number of threads, other cost.
#pragma once

#include <string>
#include <vector>

#include "compiler/place/candidates/candidates.h"

namespace collage::measure {

/// This machine's processor: its name and what it can do, as the kernel tells.
std::string describe_machine();

/// The code that measures: version of Collage, versions of the libraries that are loaded, and a fingerprint of the
/// program, so that no cost outlives the compiler that it was measured with.
std::string describe_build(const std::string& worker_program);

/// One backend as it is active: `host version 1 runtime host_jit {bandwidth = 1e+10, gflops = 180}`.
std::string describe_backend(const place::ActiveBackend& active);

}  // namespace collage::measure
