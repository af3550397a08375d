// SPDX-License-Identifier: Apache-2.0
// What a processor must have to run code that was generated for another one: the instruction sets among the features
// that the kernel of the operating system reports.
#pragma once

#include <string>
#include <vector>

#include "runtime/core/host_capabilities.h"

namespace collage::runtime {

/// `x86_64`, `aarch64`: what this machine is.
std::string host_architecture();

/// All instruction sets that `code_features` tells of on this architecture; none where it takes what there is.
std::vector<std::string> known_code_features();

/// The instruction sets of a processor that code generated for it may use, without tiles, sorted.
std::vector<std::string> code_features(const HostCapabilities& host);

/// Those that code with tiles uses besides.
std::vector<std::string> tile_features();

/// Those of `needed` that the processor lacks.
std::vector<std::string> missing_features(const std::vector<std::string>& needed, const HostCapabilities& host);

}  // namespace collage::runtime
