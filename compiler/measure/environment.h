// SPDX-License-Identifier: Apache-2.0
// What a measurement depends on besides the candidate: machine, build, number of threads.
#pragma once

#include <string>
#include <vector>

#include "compiler/place/candidates/candidates.h"

namespace collage::measure {

/// This machine's processor: its name and features, as the kernel reports them.
std::string describe_machine();

/// The code that measures: version of Collage, versions of the loaded libraries, and a fingerprint of the program, so
/// that a new compiler does not reuse the costs of an old one.
std::string describe_build(const std::string& worker_program);

/// One active backend: `host version 1 runtime host_jit {bandwidth = 1e+10, gflops = 180}`.
std::string describe_backend(const place::ActiveBackend& active);

}  // namespace collage::measure
