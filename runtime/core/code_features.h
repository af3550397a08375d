// SPDX-License-Identifier: Apache-2.0
// What a processor must have to run code that was generated for another one: the instruction sets among the features
// that the kernel of the operating system reports.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/host_capabilities.h"

namespace collage::runtime {

/// `x86_64`, `aarch64`: what this machine is.
std::string host_architecture();

/// An instruction set: as the kernel of the operating system names it, and as compilers do.
struct CodeFlag {
  std::string_view name;
  std::string_view compiler_name;
};

/// All instruction sets that `code_features` returns on this architecture; none where it returns what there is.
std::span<const CodeFlag> known_code_flags();

/// The instruction sets of a processor that code generated for it may use, without tiles, sorted.
std::vector<std::string> code_features(const HostCapabilities& host);

/// Features that code with tiles uses besides.
std::vector<std::string> tile_features();

/// The features of `needed` that the processor lacks.
std::vector<std::string> missing_features(const std::vector<std::string>& needed, const HostCapabilities& host);

}  // namespace collage::runtime
